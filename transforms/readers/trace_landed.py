"""What has landed of one conversation: digests of its messages and calls, and the calls without a result."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result, action_fields
from transforms.readers.row_shape import merge_metadata
from transforms.readers.trace_calls import UNKNOWN_TOOL, Action, Fields, tool_key, unique_id

_MIN_UNIQUE_CHARS = 16
"""A call id this long is one call; shorter ones (``call_1``, the tool's name) begin anew in every turn."""

_MAX_WAITING = 1_000
"""Calls of a conversation that may wait for a result beyond their trace; the oldest go out without one."""


@dataclass(eq=False, slots=True)
class Landed:
    """One message or call that landed.

    Args:
        key: Digest of what it says, see ``key_of``.
        natural_id: Of its row.
        parent_id: Natural id of the row before it.
        span_id: Where it was found first.
        is_user: Whether a person said it.
        own_id: The source's id of it.
        action: Of a call.
    """

    key: str
    natural_id: str
    parent_id: str | None
    span_id: str
    is_user: bool = False
    own_id: str | None = None
    action: Action | None = None


@dataclass(slots=True)
class Seen:
    """A trace of which spans have landed.

    Args:
        start: Place in the conversation at which it began.
        is_asked: Whether a model call has told what was asked.
        is_answered: Whether a model call has told what was answered.
    """

    start: int
    is_asked: bool = False
    is_answered: bool = False


@dataclass
class Conversation:
    """Everything that landed under one session id.

    Args:
        session_id: Of the conversation.
        policy: For the longest failure reason.
    """

    session_id: str
    policy: IngestPolicy
    entries: list[Landed] = field(default_factory=list)
    last_id: str | None = None
    """Natural id of the last row that somebody said or did."""
    blanks: Counter[str] = field(default_factory=Counter)
    answers: set[str] = field(default_factory=set)
    """Digests of results that landed: a tool message that names no call may repeat one."""
    _places: dict[str, list[int]] = field(default_factory=dict)
    owned_by: dict[str, Landed] = field(default_factory=dict)
    called_by: dict[str, list[Landed]] = field(default_factory=dict)
    _rows: list[Fields] = field(default_factory=list)
    waiting: list[Landed] = field(default_factory=list)
    """Calls that are no drafts yet."""
    traces: dict[str, Seen] = field(default_factory=dict)

    def since(self, key: str, start: int) -> Sequence[Landed]:
        """Entries of this digest from a place on."""
        places = self._places.get(key, [])
        return [self.entries[p] for p in places[bisect_left(places, start) :]]

    def owned(self, own_id: str | None) -> Landed | None:
        """The message that has this id."""
        return None if own_id is None else self.owned_by.get(own_id)

    def own(self, entry: Landed, own_id: str | None) -> None:
        """Note the source's id of a message, which it may tell later than the message."""
        if own_id is not None and entry.own_id is None:
            entry.own_id = own_id
            self.owned_by.setdefault(own_id, entry)

    def called(self, call: Call) -> Landed | None:
        """The call with this id, where the id is long enough to be of one call only."""
        call_id = unique_id(call)
        if call_id is None or len(call_id) < _MIN_UNIQUE_CHARS:
            return None
        found = self.called_by.get(call_id, ())
        tools = (tool_key(call.name), UNKNOWN_TOOL)
        same = [e for e in found if e.action is not None and e.action.tool in tools]
        return same[-1] if same else None

    def bare(self, key: str, start: int) -> Landed | None:
        """The call that the span of its tool told before the model's did."""
        return next((e for e in self.since(key, start) if e.action and e.action.is_bare), None)

    def by_call_id(self, call_id: str | None) -> Sequence[Landed]:
        """The calls with an id, the latest last."""
        return self.called_by.get(call_id, ()) if call_id else ()

    def window(self, keys: Sequence[str], start: int) -> int:
        """Where a history begins among what landed before its trace.

        A history may leave out the beginning, or be no history but a single message that was said before. It
        is laid along the end of what has landed, backwards; if it does not know that end, it begins at its
        first message after which it goes on.

        Args:
            keys: Digests of the history, without system text.
            start: Place at which its trace began.
        """
        position, place = self._end_in(keys, start)
        if place is not None:
            for key in reversed(keys[:position]):
                places = self._places.get(key, ())
                before = bisect_left(places, place)
                place = places[before - 1] if before else place
            return place
        begin, latest = start, -1
        for key in reversed(keys):
            places = self._places.get(key, [])
            before = bisect_left(places, start)
            if before and places[0] < latest:
                begin = places[0]
            latest = max(latest, places[before - 1]) if before else latest
        return begin

    def _end_in(self, keys: Sequence[str], start: int) -> tuple[int, int | None]:
        """The last message before a place that a history knows, unless a person has said something since."""
        positions = {key: position for position, key in enumerate(keys)}
        for place in range(start - 1, -1, -1):
            entry = self.entries[place]
            if entry.key in positions:
                return positions[entry.key], place
            if entry.is_user:
                break
        return 0, None

    def remember(self, entry: Landed) -> None:
        """Add what landed."""
        self._places.setdefault(entry.key, []).append(len(self.entries))
        self.entries.append(entry)

    def land(self, entry: Landed, fields: Fields) -> None:
        """Add a row; the row of a call waits for its result."""
        place = len(self.entries)
        fields |= {"natural_id": entry.natural_id, "parent_id": entry.parent_id, "turn_index": place}
        self.remember(entry)
        if fields.get("is_injected") is not True:
            self.last_id = entry.natural_id
        if entry.own_id is not None:
            self.owned_by[entry.own_id] = entry
        if entry.action is None:
            self._rows.append(fields)
            return
        entry.action.fields = fields
        self.waiting.append(entry)
        self.note_call_id(entry, unique_id(entry.action.call))

    def adopt(self, entry: Landed, call: Call, parent_id: str | None) -> bool:
        """Whether a model now says that it made a call which was known from the span of its tool alone."""
        action = entry.action
        if action is None or not action.is_bare:
            return False
        action.is_bare = False
        if action.fields is not None:
            action.call = replace(call, arguments=call.arguments or action.call.arguments)
            entry.parent_id = parent_id
            action.fields["parent_id"] = parent_id
        return True

    def note_call_id(self, entry: Landed, call_id: str | None) -> None:
        """Results may name a call by this id from now on."""
        if call_id is not None:
            known = self.called_by.setdefault(call_id, [])
            if entry not in known:
                known.append(entry)

    def next_id(self, key: str) -> str:
        """The natural id of the next row of this digest."""
        return f"{self.session_id}/{key}/{len(self._places.get(key, ()))}"

    def draft(self, collector: Collector, *, is_end: bool) -> None:
        """Hand over the rows; a call without a result stays, until the end."""
        for fields in self._rows:
            collector.draft(**fields)
        self._rows = []
        left: list[Landed] = []
        excess = len(self.waiting) - _MAX_WAITING
        for entry in self.waiting:
            action = entry.action
            if action is None or action.fields is None:
                continue
            if action.is_open and not is_end and excess <= 0:
                left.append(entry)
            else:
                excess -= 1
                collector.draft(**self._action_row(action, action.fields))
                action.let_go()
        self.waiting = left

    def _action_row(self, action: Action, fields: Fields) -> Fields:
        result = action.result
        if result is None and action.has_run:
            result = Result(action.call.call_id, None, "", None)
        if action.error is not None:
            text = result.text if result else ""
            result = Result(action.call.call_id, None, text or action.error, is_error=True)
        row = fields | action_fields(action.call, result, self.policy)
        if action.error is not None:
            row["failure_reason"] = action.error[: self.policy.max_reason_chars]
        elif action.has_run and row.get("outcome") is None:
            row["outcome"] = "success"
        metadata = action.metadata | {"call_id": action.call.call_id}
        return row | {"metadata": merge_metadata(None, metadata)}
