"""A walk through the messages of one span: what is new lands, what is known is found again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result, result_fields
from transforms.readers.row_shape import merge_metadata
from transforms.readers.trace import Span, Turn
from transforms.readers.trace_calls import Action, call_key, key_of, unique_id
from transforms.readers.trace_landed import Conversation, Landed
from transforms.readers.trace_lineage import Lineage

_SHARED = ("title", "model", "tags", "environment")


@dataclass
class Step:
    """Where a span stands.

    Args:
        span: The span.
        start: Place in the conversation at which its trace began.
        scope: Columns that all its rows share.
        parent_id: Natural id of the row of the span that it is part of.
    """

    span: Span
    start: int
    scope: dict[str, object]
    parent_id: str | None = None


@dataclass
class Walk:
    """Reads the inputs of a span, and later its outputs, which go on where the inputs ended."""

    conversation: Conversation
    collector: Collector
    step: Step
    lineage: Lineage
    last_id: str | None = None
    _seen: Counter[str] = field(default_factory=Counter)
    _open: list[Landed] = field(default_factory=list)
    _matched: set[int] = field(default_factory=set)
    _texts: dict[int, str] = field(default_factory=dict)
    _start: int = 0
    _time: str | None = None
    _is_output: bool = False

    def inputs(self, turns: Sequence[Turn]) -> None:
        """Read what was given: a message that landed before is the same one."""
        self._texts = {id(turn): _text_key(turn) for turn in turns if turn.text}
        self._start = self.conversation.window([k for t in turns for k in self._keys(t)], self.step.start)
        self._time, self._is_output = self.step.span.started_at or self.step.span.ended_at, False
        for turn in turns:
            self._turn(turn)
        self._texts = {}
        self._go_on()

    def _keys(self, turn: Turn) -> list[str]:
        said = [self._texts[id(turn)]] if turn.text.strip() and not turn.is_injected else []
        return [*said, *(call_key(call) for call in turn.calls)]

    def outputs(self, turns: Sequence[Turn]) -> None:
        """Read what came back."""
        self._go_on()
        self._time, self._is_output = self.step.span.ended_at or self.step.span.started_at, True
        for turn in turns:
            self._turn(turn)

    def _go_on(self) -> None:
        """A span that tells no history answers what came before in its trace."""
        if self.last_id == self.step.parent_id and len(self.conversation.entries) > self.step.start:
            self.last_id = self.conversation.last_id

    def run(self, call: Call) -> Landed:
        """Land the call that the span of a tool tells, and no model so far: at the time at which it began."""
        self._go_on()
        self._time, self._is_output = self.step.span.started_at or self.step.span.ended_at, True
        return self.land_call(call, call_key(call), is_bare=True)

    def answers(self, turns: Sequence[Turn]) -> None:
        """Take only results of known calls from a span that is no model call: they tell how a call ended."""
        for turn in turns:
            for result in turn.results:
                for entry in self.conversation.by_call_id(result.call_id)[-1:]:
                    if entry.action is not None:
                        self._join(entry.action, result)

    def _turn(self, turn: Turn) -> None:
        if turn.fault is not None:
            self._blank(turn)
            return
        is_new = self._results(turn)
        before = self.last_id
        if turn.text.strip():
            is_new |= self._text(turn)
        parent_id = self.last_id if turn.text.strip() else before
        for call in turn.calls:
            self.last_id = parent_id
            is_new |= self._call(call, turn)
        if not (turn.text.strip() or turn.calls or turn.results):
            self._blank(turn)
        elif is_new:
            self.collector.leave_out("thinking", turn.thinking)

    def _blank(self, turn: Turn) -> None:
        """Nothing that could land: counted or refused, once however often it is repeated."""
        kinds = ",".join(turn.other_types)
        key = key_of("blank", turn.role, kinds, str(turn.thinking), str(turn.fault and turn.fault[0]))
        self._seen[key] += 1
        if self._seen[key] <= self.conversation.blanks[key]:
            self.collector.leave_out("repeated")
            return
        self.conversation.blanks[key] += 1
        if turn.fault is not None:
            raw, fault = turn.fault
            self.collector.refuse(fault, raw, self.step.span.number)
        elif turn.thinking:
            self.collector.leave_out("thinking", turn.thinking)
        else:
            self.collector.leave_out("no_text_part" if turn.other_types else "empty_message")

    def _known(self, key: str, own_id: str | None, *, is_injected: bool = False) -> Landed | None:
        self._seen[key] += 1
        found = self.conversation.owned(own_id)
        if found is not None:
            return found if found.key == key else None
        landed = self.conversation.since(key, 0 if is_injected else self._start)
        if self._is_output:
            entry = next((e for e in landed if self._is_same_output(e, own_id)), None)
            self._matched.add(id(entry))
            return entry
        if len(landed) < self._seen[key]:
            return None
        entry = landed[self._seen[key] - 1]
        return entry if own_id is None or entry.own_id is None else None

    def _is_same_output(self, entry: Landed, own_id: str | None) -> bool:
        """An output that answers the same message, or that a span around this one tells again."""
        if id(entry) in self._matched or (own_id is not None and entry.own_id is not None):
            return False
        if entry.parent_id == self.last_id:
            return True
        inner, outer = self.step.span.span_id, entry.span_id
        return self.lineage.is_within(inner, outer) or self.lineage.is_within(outer, inner)

    def _text(self, turn: Turn) -> bool:
        key = self._texts.get(id(turn)) or _text_key(turn)
        entry = self._known(key, turn.own_id, is_injected=turn.is_injected)
        if entry is not None:
            self.collector.leave_out("repeated")
            self.conversation.own(entry, turn.own_id)
            if not turn.is_injected:
                self.last_id = entry.natural_id
            return False
        natural_id = self.conversation.next_id(key)
        if turn.own_id is not None:
            natural_id = f"{self.conversation.session_id}/{turn.own_id}"
        is_user = turn.role == "user" and not turn.is_injected
        entry = Landed(key, natural_id, self.last_id, self.step.span.span_id, is_user, turn.own_id)
        fields = self._fields(turn) | {
            "role": turn.role,
            "speaker": turn.speaker,
            "content": turn.text,
            "is_injected": True if turn.is_injected else None,
            "metadata": merge_metadata(None, self._metadata(other_parts=list(turn.other_types))),
        }
        self._land(entry, fields)
        if not turn.is_injected:
            self.last_id = natural_id
        return True

    def _land(self, entry: Landed, fields: dict[str, object]) -> None:
        self._matched.add(id(entry))
        self.conversation.land(entry, fields)

    def _fields(self, turn: Turn | None = None) -> dict[str, object]:
        time = turn.event_at if turn is not None and turn.event_at is not None else self._time
        return {**self.step.scope, "event_at": time, "source_line": self.step.span.number}

    def _metadata(self, **more: object) -> dict[str, object]:
        """Of a row: what a span gave back keeps its unknown fields, what it was given those of the trace."""
        span = self.step.span
        given = span.metadata
        if not self._is_output:
            given = {name: given[name] for name in _SHARED if name in given}
        ids = {"trace_id": span.trace_id, "span_id": span.span_id, "parent_span_id": span.parent_id}
        named = {**given, **ids, "span_name": span.name, "error": span.error, **more}
        return {k: v for k, v in named.items() if v not in (None, "", [], {})}

    def _call(self, call: Call, turn: Turn) -> bool:
        key = call_key(call)
        entry = self.conversation.called(call) or self.conversation.bare(key, self.step.start)
        if entry is not None:
            self._seen[entry.key] += 1
        else:
            entry = self._known(key, None)
            if entry is not None and entry.action is not None and not entry.action.may_be(call):
                entry = None
        is_new = entry is None or self.conversation.adopt(entry, call, self.last_id)
        if entry is None:
            entry = self.land_call(call, key, turn)
        elif not is_new:
            self.collector.leave_out("repeated")
        self.conversation.note_call_id(entry, unique_id(call))
        self._open.append(entry)
        self.last_id = entry.natural_id
        return is_new

    def land_call(self, call: Call, key: str, turn: Turn | None = None, *, is_bare: bool = False) -> Landed:
        """A call that is not known yet."""
        action = Action(call, None, self._metadata(), is_bare=is_bare)
        natural_id = self.conversation.next_id(key)
        entry = Landed(key, natural_id, self.last_id, self.step.span.span_id, action=action)
        self._land(entry, self._fields(turn))
        return entry

    def _results(self, turn: Turn) -> bool:
        is_new = False
        for result in turn.results:
            entry = self._answered(result)
            if entry is not None and entry.action is not None:
                self.last_id = entry.natural_id
                is_new |= self._late(entry.action, result, turn) or self._join(entry.action, result)
                if entry in self._open:
                    self._open.remove(entry)
            elif key_of("answer", result.text.strip()) in self.conversation.answers:
                self.collector.leave_out("repeated")
            else:
                is_new |= self._observation(result, turn)
        return is_new

    def _late(self, action: Action, result: Result, turn: Turn | None = None) -> bool:
        """Whether a result lands by itself: its call went out without one."""
        is_late, action.is_unanswered = action.is_unanswered, False
        return is_late and self._observation(result, turn)

    def ended(self, entry: Landed, result: Result) -> None:
        """Land what the span of a tool gave back to a call that went out without it."""
        self._time, self._is_output = self.step.span.ended_at or self.step.span.started_at, True
        self.last_id = entry.natural_id
        if entry.action is not None:
            self._late(entry.action, replace(result, call_id=entry.action.call.call_id))

    def _answered(self, result: Result) -> Landed | None:
        """The call that a result belongs to: by id, else by name, else the oldest that waits here."""
        same_id = self.conversation.by_call_id(result.call_id)
        if same_id:
            return next((entry for entry in self._open if entry in same_id), same_id[-1])
        named = [e for e in self._open if e.action and e.action.is_of(result.name)]
        if named:
            return named[0]
        if result.name is None and key_of("answer", result.text.strip()) in self.conversation.answers:
            return None
        is_named = result.call_id is not None and result.call_id != result.name
        waiting = (e for e in self.conversation.waiting if e.action and e.action.result is None)
        for entry in waiting:
            if entry.action and entry.action.is_of(result.name):
                return None if is_named and unique_id(entry.action.call) else entry
        return None

    def _join(self, action: Action, result: Result) -> bool:
        """What the model was told wins over what the tool's own span says; how it ended stays known."""
        self.conversation.answers.add(key_of("answer", result.text.strip()))
        if action.fields is None:
            return False
        before = action.result
        if before is not None:
            text = result.text if result.text.strip() else before.text
            is_error = before.is_error if result.is_error is None else result.is_error
            result = replace(result, text=text, is_error=is_error)
        action.result = result
        return before is None

    def _observation(self, result: Result, turn: Turn | None) -> bool:
        """A result whose call is not in the source, or went out before."""
        if not result.text.strip():
            self.collector.leave_out("empty_result")
            return False
        key = key_of("answer", result.text.strip())
        self.conversation.answers.add(key)
        natural_id = self.conversation.next_id(key)
        entry = Landed(key, natural_id, self.last_id, self.step.span.span_id)
        fields = self._fields(turn) | result_fields(result, self.conversation.policy)
        metadata = merge_metadata(None, self._metadata(call_id=result.call_id))
        self._land(entry, fields | {"metadata": metadata})
        self.last_id = natural_id
        return True


def _text_key(turn: Turn) -> str:
    return key_of("text", turn.role, turn.text.strip())
