"""The spans of one trace, read in the order in which they began and ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from transforms.readers.batch import Collector
from transforms.readers.blocks import Result
from transforms.readers.trace import Span, Turn
from transforms.readers.trace_calls import call_key, key_of, unique_id
from transforms.readers.trace_landed import Conversation, Landed, Seen
from transforms.readers.trace_lineage import Lineage
from transforms.readers.trace_walk import Step, Walk

_OF_TRACE = ("user_id", "tenant_id")
"""What a single span tells for its whole trace; an agent is that of the spans inside it only."""


class TraceOrder:
    """Lands one trace.

    Args:
        conversation: What has landed of the conversation that the trace is of.
        collector: Where refusals and counts go.
        spans: All spans of the trace that are held.
        seen: What has landed of the trace before.
    """

    def __init__(
        self, conversation: Conversation, collector: Collector, spans: Sequence[Span], seen: Seen
    ) -> None:
        """Find out which span is part of which."""
        self._conversation = conversation
        self._collector = collector
        self._spans = spans
        self._seen = seen
        self._start = seen.start
        self._lineage = Lineage(spans)
        self._walks: dict[str, Walk] = {}
        self._actions: dict[str, Landed] = {}
        self._taken: set[int] = set()
        self._inherited = {name: self._outermost(name) for name in _OF_TRACE}

    def _outermost(self, name: str) -> object:
        named = [span for span in self._spans if getattr(span, name) is not None]
        return getattr(min(named, key=self._depth), name) if named else None

    def _depth(self, span: Span) -> int:
        return self._lineage.depth(span.span_id)

    def read(self) -> None:
        """Land model calls and tools, and the outermost span where no model call tells what was said."""
        models = [span for span in self._spans if span.kind == "llm"]
        self._seen.is_asked |= any(span.inputs for span in models)
        self._seen.is_answered |= any(span.outputs for span in models)
        asked = [] if self._seen.is_asked else self._outermost_with("inputs")
        answered = [] if self._seen.is_answered else self._outermost_with("outputs")
        has_messages = any(not turn.is_guess for span in (*models, *asked) for turn in span.inputs)
        for _, _, is_end, _, index in sorted(self._events(self._spans)):
            span = self._spans[index]
            if span.kind == "tool":
                self._end_tool(span) if is_end else self._begin_tool(span)
            elif not is_end and (span.kind == "llm" or span in asked):
                self._walk(span).inputs(_asked(self._given(span), has_messages=has_messages))
            elif is_end and (span.kind == "llm" or span in answered):
                self._walk(span).outputs(span.outputs)
            elif is_end:
                self._walk(span).answers(span.outputs)
        told = {id(span) for span in (*models, *asked, *answered) if span.inputs or span.outputs}
        told |= {id(span) for span in self._spans if span.kind == "tool" and span.call is not None}
        self._collector.leave_out("span", len(self._spans) - len(told))

    def _given(self, span: Span) -> list[Turn]:
        """Inputs; what a model was told to be may stand at the agent around it alone."""
        given = list(span.inputs)
        if span.kind != "llm" or not given or any(turn.role == "system" for turn in given):
            return given
        around = self._lineage.around(span.span_id)
        told = ([turn for turn in outer.inputs if turn.role == "system"] for outer in around)
        return [*next((turns for turns in told if turns), []), *given]

    def _outermost_with(self, name: str) -> list[Span]:
        others = [span for span in self._spans if span.kind == "other" and getattr(span, name)]
        return [min(others, key=lambda span: (self._depth(span), span.started_at or ""))] if others else []

    def _events(self, spans: Sequence[Span]) -> Iterator[tuple[str, str, int, int, int]]:
        """Begin and end of each span; at one instant a parent begins before its child and ends after it."""
        for index, span in enumerate(spans):
            begin = span.started_at or span.ended_at or ""
            end = max(begin, span.ended_at or begin)
            yield begin, begin, 0, self._depth(span), index
            yield end, begin, 1, -self._depth(span), index

    def _walk(self, span: Span) -> Walk:
        walk = self._walks.get(span.span_id)
        if walk is None:
            around = (self._actions.get(outer.span_id) for outer in self._lineage.around(span.span_id))
            parent_id = next((entry.natural_id for entry in around if entry is not None), None)
            step = Step(span, self._start, self._scope(span), parent_id)
            walk = Walk(self._conversation, self._collector, step, self._lineage, last_id=parent_id)
            self._walks[span.span_id] = walk
        return walk

    def _scope(self, span: Span) -> dict[str, object]:
        """Columns of its rows: its own, else those of the nearest span around it, else of the trace."""
        around = [span, *self._lineage.around(span.span_id)]
        scope: dict[str, object] = {"session_id": self._conversation.session_id}
        for name in (*_OF_TRACE, "agent_id"):
            told = (value for s in around if (value := getattr(s, name)) is not None)
            scope[name] = next(told, self._inherited.get(name))
        return scope

    def _begin_tool(self, span: Span) -> None:
        if span.call is None:
            return
        entry = self._called(span)
        if entry is None:
            entry = self._walk(span).run(span.call)
        elif entry.action is not None:
            entry.action.metadata |= {**span.metadata, **entry.action.metadata, "tool_span_id": span.span_id}
        self._actions[span.span_id] = entry
        self._taken.add(id(entry))

    def _called(self, span: Span) -> Landed | None:
        """The call of a model that this span carried out: by id, else arguments, else the tool's name."""
        if span.call is None:
            return None
        call_id = unique_id(span.call)
        if call_id is not None and (found := self._conversation.called(span.call)) is not None:
            return found
        same = (e for e in self._conversation.since(call_key(span.call), self._start) if e.action)
        found = next((e for e in same if id(e) not in self._taken), None)
        if found is not None or (call_id is not None and span.call.arguments):
            return found
        return next((e for e in self._conversation.waiting if self._may_be(e, span.call.name)), None)

    def _may_be(self, entry: Landed, name: str) -> bool:
        action = entry.action
        is_open = action is not None and action.call.name == name and action.result is None
        return is_open and id(entry) not in self._taken

    def _end_tool(self, span: Span) -> None:
        entry = self._actions.get(span.span_id)
        action = entry.action if entry is not None else None
        if entry is None or action is None:
            return
        if action.fields is None:
            self._end_late(span, entry)
            return
        action.has_run = span.ended_at is not None or span.result is not None
        action.error = span.error if span.error is not None else action.error
        if span.result is None:
            return
        if action.result is None:
            action.result = Result(action.call.call_id, None, span.result.text, span.result.is_error)
            self._conversation.answers.add(key_of("answer", span.result.text.strip()))
        elif action.result.is_error is None:
            action.result = replace(action.result, is_error=span.result.is_error)

    def _end_late(self, span: Span, entry: Landed) -> None:
        """The call went out before its end was told."""
        told = span.result or (Result(None, None, span.error, is_error=True) if span.error else None)
        if told is not None and entry.action is not None and entry.action.is_unanswered:
            self._walk(span).ended(entry, told)


def _asked(turns: Sequence[Turn], *, has_messages: bool) -> list[Turn]:
    """Inputs; an object that is nobody's message is not what a person said where messages tell that."""
    return [replace(t, is_injected=True) if t.is_guess and has_messages else t for t in turns]
