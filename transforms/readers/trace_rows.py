"""Spans of traces -> drafts: every message once, every call with its result.

Readers add the spans of one or many traces in any order. They are held until the source ends, or until more
than ``policy.batch_bytes`` of them are: then the oldest traces go out. What stays of a conversation are
digests, so that a later span still finds what has landed; the oldest of them go as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.lines import START
from transforms.readers.trace import Span, Turn
from transforms.readers.trace_landed import Conversation, Seen
from transforms.readers.trace_order import TraceOrder
from transforms.readers.trace_places import Places
from transforms.readers.trace_state import conversation_of, told

_SPAN_CHARS = 2_000
"""What a span and its metadata cost beside its messages, about."""

_TURN_CHARS = 300
"""What a message costs beside its texts, about."""

_ENTRY_CHARS = 1_000
"""What the digests of one message cost, or the memory of one trace."""

_WHOSE = ("session_id", "user_id", "agent_id", "tenant_id")
_FILLED = (*_WHOSE, "name", "parent_id", "started_at", "ended_at", "error", "call", "result")


@dataclass
class _Held:
    """The spans of one trace that are held."""

    spans: dict[str, Span] = field(default_factory=dict)
    chars: int = 0
    turns: dict[Turn, Turn] = field(default_factory=dict)
    places: list[int] = field(default_factory=list)
    session_id: str | None = None

    def take(self, span: Span) -> int:
        """Hold a span, each message once however many spans repeat it, and tell what that costs."""
        before = self.chars
        self.chars += _SPAN_CHARS + (len(span.result.text) if span.result else 0)
        span.inputs = [self._shared(turn) for turn in span.inputs]
        span.outputs = [self._shared(turn) for turn in span.outputs]
        return self.chars - before

    def _shared(self, turn: Turn) -> Turn:
        if turn.fault is not None:  # may hold what has no hash
            return turn
        known = self.turns.setdefault(turn, turn)
        if known is turn:
            self.chars += _TURN_CHARS + len(turn.text) + sum(len(c.arguments or "") for c in turn.calls)
            self.chars += sum(len(result.text) for result in turn.results)
        return known


class TraceRows:
    """Makes drafts of spans.

    Args:
        collector: Where drafts, refusals and counts go.
        policy: How much may be held.
        places: Numbers of what is read; who adds spans takes them.
    """

    def __init__(self, collector: Collector, policy: IngestPolicy, places: Places | None = None) -> None:
        """Start with no trace."""
        self.places = places or Places(START)
        self._collector = collector
        self._policy = policy
        self._traces: dict[str, _Held] = {}
        self._chars = 0
        self._entries = 0
        self._conversations: dict[str, Conversation] = {}
        self._sessions: dict[str, str] = {}

    def add(self, span: Span, places: Sequence[int] = ()) -> None:
        """Take a span; one that comes twice fills in what the first has not told.

        Args:
            span: The span.
            places: The numbers of what it was read from.
        """
        held = self._traces.setdefault(span.trace_id, _Held())
        held.places += places
        self._chars += held.take(span)
        known = held.spans.setdefault(span.span_id, span)
        if known is not span:
            _fill(known, span)
            self._collector.leave_out("repeated_span")
        if held.session_id is None:
            held.session_id = span.session_id

    def settle(self) -> None:
        """Land the oldest traces if more is held than the policy allows."""
        while self._chars > self._policy.batch_bytes and self._traces:
            oldest = next(iter(self._traces))
            self._land(oldest, self._traces.pop(oldest))

    def finish(self) -> None:
        """Land all that is held, and the calls that still wait for a result."""
        named = {trace_id: self._session_of(trace_id, held) for trace_id, held in self._traces.items()}
        began = {trace_id: self._began(trace_id) for trace_id in named}
        first: dict[str, str] = {}
        for trace_id, session_id in named.items():
            first[session_id] = min(began[trace_id], first.get(session_id, began[trace_id]))
        for *_, trace_id in sorted((first[s], s, began[t], t) for t, s in named.items()):
            self._land(trace_id, self._traces.pop(trace_id))
        self.pause()

    def pause(self) -> None:
        """Hand over the calls that wait for a result, so that nothing that landed waits for anything."""
        for conversation in self._conversations.values():
            conversation.draft(self._collector, is_end=True)

    def held(self) -> Iterator[int]:
        """The numbers of what is held."""
        return (place for held in self._traces.values() for place in held.places)

    def state(self) -> list[Any]:
        """What has landed, as JSON; after a ``pause``."""
        return [told(conversation) for conversation in self._conversations.values()]

    def restore(self, state: list[Any]) -> None:
        """Take back what ``state`` gave, before the first span."""
        for record in state:
            conversation = conversation_of(record, self._policy)
            self._conversations[conversation.session_id] = conversation
            self._sessions |= dict.fromkeys(conversation.traces, conversation.session_id)
            self._entries += len(conversation.entries) + len(conversation.traces)

    def _began(self, trace_id: str) -> str:
        spans = self._traces[trace_id].spans.values()
        return min((span.started_at for span in spans if span.started_at), default="")

    def _session_of(self, trace_id: str, held: _Held) -> str:
        """What the spans that landed told, else those that are held."""
        return self._sessions.get(trace_id) or held.session_id or trace_id

    def _land(self, trace_id: str, held: _Held) -> None:
        self._chars -= held.chars
        session_id = self._sessions.setdefault(trace_id, self._session_of(trace_id, held))
        conversation = self._conversations.pop(session_id, None) or Conversation(session_id, self._policy)
        self._conversations[session_id] = conversation  # the one that was used last stands last
        before = len(conversation.entries)
        self._entries += trace_id not in conversation.traces
        seen = conversation.traces.setdefault(trace_id, Seen(before))
        TraceOrder(conversation, self._collector, list(held.spans.values()), seen).read()
        conversation.draft(self._collector, is_end=False)
        self._entries += len(conversation.entries) - before
        self._forget()

    def _forget(self) -> None:
        """Let go of the conversations that were told longest ago: their ids would be made alike again."""
        while self._entries * _ENTRY_CHARS > self._policy.batch_bytes and len(self._conversations) > 1:
            conversation = self._conversations.pop(next(iter(self._conversations)))
            conversation.draft(self._collector, is_end=True)
            self._entries -= len(conversation.entries) + len(conversation.traces)
            for trace_id in conversation.traces:
                del self._sessions[trace_id]


def _fill(span: Span, again: Span) -> None:
    """Take from a second telling of a span what the first lacks: exporters send a beginning and an end."""
    for name in _FILLED:
        if getattr(span, name) is None:
            setattr(span, name, getattr(again, name))
    span.inputs = span.inputs or again.inputs
    span.outputs = span.outputs or again.outputs
    span.metadata = {**again.metadata, **span.metadata}
