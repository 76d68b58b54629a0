"""A span of OpenTelemetry as a ``Span`` of a trace."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from transforms.readers import otel_meaning as meaning
from transforms.readers.message_shapes import turns_of
from transforms.readers.otel_messages import inputs_of, outputs_of
from transforms.readers.otel_source import RawSpan
from transforms.readers.otel_tools import error_of, tool_call, tool_result
from transforms.readers.trace import Span, Turn

_TWINS_HELD = 1_000
"""Calls whose other half may still come: an outer span ends right after its last model call."""
_ANSWERS = ("ai.response.text", "ai.response.object", "ai.response.toolCalls")


def span_of(raw: RawSpan, number: int) -> Span:
    """A span in the one shape of traces."""
    kind = "llm" if raw.is_log else meaning.kind_of(raw)
    is_tool = kind == "tool"
    session = meaning.belongs(raw, meaning.SESSION, "session")
    span_id = raw.span_id or f"log/{number}"
    return Span(
        span_id,
        raw.trace_id or session or span_id,
        kind,
        name=raw.name,
        parent_id=raw.parent_id,
        session_id=session,
        user_id=meaning.belongs(raw, meaning.USER, "user"),
        agent_id=meaning.belongs(raw, meaning.AGENT, "agent"),
        tenant_id=meaning.belongs(raw, meaning.TENANT, "tenant"),
        started_at=raw.started_at,
        ended_at=raw.ended_at,
        inputs=() if is_tool else _turns(inputs_of(raw.attributes, raw.events), "user"),
        outputs=() if is_tool else _turns(outputs_of(raw.attributes, raw.events), "assistant"),
        call=tool_call(raw) if is_tool else None,
        result=tool_result(raw) if is_tool else None,
        error=error_of(raw),
        metadata=meaning.metadata_of(raw),
        number=number,
    )


def _turns(values: Sequence[object], role: str) -> list[Turn]:
    """Turns of values each of which is one message, or holds several."""
    if len(values) == 1:
        return turns_of(values[0], role)
    if all(isinstance(value, dict) for value in values):
        return turns_of(values, role)
    return [turn for value in values for turn in turns_of(value, role)]


class Twins:
    """Outer spans of the Vercel AI SDK that say the same as a model call within them.

    In one trace the core sees that by itself. Where no context was propagated the two share no trace: then
    they are known by the answer, and by the time of one within that of the other. The outer one loses its
    words.
    """

    def __init__(self) -> None:
        """Start with none seen."""
        self._inner: OrderedDict[bytes, Span] = OrderedDict()
        self._outer: OrderedDict[bytes, Span] = OrderedDict()

    def meet(self, raw: RawSpan, span: Span) -> None:
        """Take a span, in whatever order the two come."""
        said = [str(raw.attributes.get(name) or "") for name in _ANSWERS]
        if raw.parent_id is not None or "ai.operationId" not in raw.attributes or not any(said):
            return
        key = blake2b("\n".join(said).encode("utf-8", "replace"), digest_size=16).digest()
        is_inner = span.kind == "llm"
        inner, outer = (span, self._outer.get(key)) if is_inner else (self._inner.get(key), span)
        if inner is not None and outer is not None and _is_within(inner, outer):
            outer.inputs, outer.outputs = (), ()
        held = self._inner if is_inner else self._outer
        held[key] = span
        if len(held) > _TWINS_HELD:
            held.popitem(last=False)

    def state(self) -> list[list[list[str | None]]]:
        """Digest of the answer, begin and end of those that were seen, inner and outer ones, as JSON."""
        return [
            [[key.hex(), span.started_at, span.ended_at] for key, span in held.items()]
            for held in (self._inner, self._outer)
        ]

    def restore(self, state: Sequence[Sequence[Sequence[str]]]) -> None:
        """Take back what ``state`` gave; one that is read again takes its own place."""
        for held, told in zip((self._inner, self._outer), state, strict=True):
            for key, started_at, ended_at in told:
                held[bytes.fromhex(key)] = Span("", "", "other", started_at=started_at, ended_at=ended_at)


def _is_within(inner: Span, outer: Span) -> bool:
    times = (outer.started_at, inner.started_at, inner.ended_at, outer.ended_at)
    return None not in times and list(times) == sorted(str(time) for time in times)
