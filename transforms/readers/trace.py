"""A trace in one shape, whatever its source called its parts: spans of model calls, tools and the rest.

Readers of traces make ``Span`` of what they read; ``trace_rows.TraceRows`` makes drafts of spans, once for
each message, however many calls repeat it as their history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from transforms.readers.blocks import Call, Result
from transforms.readers.text import JsonFault

SpanKind = Literal["llm", "tool", "other"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message that a model was given, or gave.

    Args:
        role: As in the source.
        text: What is said; empty where it only calls tools or answers one.
        calls: Tools that it calls.
        results: Tools that it answers for.
        speaker: Name of who spoke, where several speak.
        own_id: The message's own id, where it has one.
        event_at: ISO 8601; None: that of its span.
        other_types: Types of parts without text (images, files).
        thinking: How many parts are the model's own reasoning, which is left out.
        is_injected: Put in by a program (system text, recalled context) and not said by anybody.
        is_guess: Words of an object that is nobody's message: not what a person said where real messages tell
            that.
        fault: The message as it was, and why it cannot be read; then nothing else is set.
    """

    role: str | None
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    speaker: str | None = None
    own_id: str | None = None
    event_at: str | None = None
    other_types: tuple[str, ...] = ()
    thinking: int = 0
    is_injected: bool = False
    is_guess: bool = False
    fault: tuple[object, JsonFault] | None = None


@dataclass
class Span:
    """One step of a trace.

    Args:
        span_id: The source's id of it.
        trace_id: Of which trace.
        kind: ``llm``: a model call, with ``inputs`` (its whole history) and ``outputs``; ``tool``: a tool
            that ran, with ``call`` and ``result``; ``other``: an agent, a chain, a retriever.
        name: What the source calls it.
        parent_id: The span that it is part of.
        session_id: The conversation that its trace is of; None: the trace is one by itself.
        user_id: Person, where named.
        agent_id: Agent, where named.
        tenant_id: Customer, where named.
        started_at: ISO 8601, as given.
        ended_at: ISO 8601, as given.
        inputs: Messages given to a model; of another kind its input, where that reads as messages.
        outputs: Messages that came back.
        call: Of a tool: its name, its call id where known, and its arguments.
        result: Of a tool: what came back, and whether it failed.
        error: Why it failed, where the source says so.
        metadata: What else there is: model, title, tags, and every field that nothing else takes.
        number: Line or item of the source, from 1.
    """

    span_id: str
    trace_id: str
    kind: SpanKind
    name: str | None = None
    parent_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    tenant_id: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    inputs: Sequence[Turn] = ()
    outputs: Sequence[Turn] = ()
    call: Call | None = None
    result: Result | None = None
    error: str | None = None
    metadata: dict[str, object] = field(default_factory=dict)
    number: int = 1
