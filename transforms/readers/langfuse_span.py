"""Traces and observations of Langfuse -> spans."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from transforms.readers.blocks import Call, Result
from transforms.readers.message_parts import output_text, written
from transforms.readers.message_shapes import turns_of
from transforms.readers.otel_messages import instructions
from transforms.readers.text import JsonFault, id_or_none, load_json, text_or_none
from transforms.readers.times import iso_time
from transforms.readers.trace import Span, SpanKind

_NAIVE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?")
_EVENT_NAME = re.compile(r"(?P<tool>.+)\.(?P<phase>start|finish|success|error|retry)-\d+")
"""BeeAI tells each event of a call as a span; the one with the result stands for the call."""

_KIND_ATTRIBUTES = ("openinference.span.kind", "gen_ai.operation.name", "langsmith.span.kind")
_KIND_WORDS: dict[str, SpanKind] = {"tool": "tool", "execute_tool": "tool", "llm": "llm"}
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
_ARGUMENTS = ("gcp.vertex.agent.tool_call_args", "tool.parameters", "input.value")
_OUTPUTS = ("gcp.vertex.agent.tool_response", "output.value")
_MAPPED = frozenset({
    "id", "traceId", "projectId", "parentObservationId", "type", "name", "startTime", "endTime", "input",
    "output", "metadata", "userId", "sessionId", "timestamp", "tags", "observations", "scores",
    "corrections", "createdAt", "updatedAt", "statusMessage", "model", "providedModelName", "traceName",
    "public", "bookmarked", "htmlPath", "toolCalls", "toolCallNames", "toolDefinitions", "internalModel",
    "internalModelId", "modelId", "usage", "inputUsage", "outputUsage", "totalUsage", "inputCost",
    "outputCost", "costDetails", "providedCostDetails", "providedUsageDetails", "unit", "promptTokens",
    "completionTokens", "totalTokens", "usagePricingTierId", "usagePricingTierName",
    "calculatedInputCost", "calculatedOutputCost", "calculatedTotalCost", "inputPrice", "outputPrice",
    "totalPrice", "completionStartTime", "isDeleted", "eventTs",
})  # fmt: skip
"""Fields that have a place of their own, or that only tell a price in another way."""

_TOLD = (
    "llm.", "gen_ai.input", "gen_ai.output", "gen_ai.prompt", "gen_ai.completion",
    "gen_ai.system_instructions", "input.", "output.",
)  # fmt: skip
"""Attributes that repeat the messages."""
_MAX_CHARS = 300

Fields = Mapping[str, object]


def value_at(record: Fields, name: str) -> object:
    """A field by its camelCase name, or by the snake_case one of exports to a bucket."""
    return record[name] if name in record else record.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda m: f"_{m[1].lower()}", name)


_TAKEN = _MAPPED | {_snake(name) for name in _MAPPED}


def trace_span(trace: Fields, spans: Sequence[Span], number: int) -> Span:
    """A trace as the span around its observations.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``: a field is not what it must be.
    """
    trace_id = id_or_none(value_at(trace, "id"), "id") or _trace_of(spans)
    if trace_id is None:
        raise JsonFault("no_id", "the trace has no id")
    started_at = _time(trace, "timestamp")
    ended_at = max((s.ended_at for s in spans if s.ended_at is not None), default=started_at)
    return Span(
        span_id=trace_id,
        trace_id=trace_id,
        kind="other",
        name=text_or_none(value_at(trace, "name"), "name"),
        session_id=id_or_none(value_at(trace, "sessionId"), "sessionId") or None,
        user_id=id_or_none(value_at(trace, "userId"), "userId") or None,
        started_at=started_at,
        ended_at=ended_at,
        inputs=turns_of(_parsed(value_at(trace, "input")), "user"),
        outputs=turns_of(_parsed(value_at(trace, "output")), "assistant"),
        metadata=_metadata({}, trace),
        number=number,
    )


def _trace_of(spans: Sequence[Span]) -> str | None:
    return spans[0].trace_id if spans else None


def observation_span(observation: Fields, trace: Fields, number: int) -> Span:
    """One observation; ``trace`` is what is known of its trace.

    Raises:
        JsonFault: ``no_id``, ``bad_field_type`` or ``bad_time``: a field is not what it must be.
    """
    trace_id = id_or_none(value_at(observation, "traceId"), "traceId") or id_or_none(
        value_at(trace, "id"), "id"
    )
    span_id = id_or_none(value_at(observation, "id"), "id")
    if not span_id or not trace_id:
        raise JsonFault("no_id", "the observation lacks its own id or that of its trace")
    attributes = _attributes(observation)
    name = text_or_none(value_at(observation, "name"), "name")
    kind = _kind(observation, attributes, name)
    parent_id = id_or_none(value_at(observation, "parentObservationId"), "parentObservationId")
    span = Span(
        span_id=span_id,
        trace_id=trace_id,
        kind=kind,
        name=name,
        parent_id=parent_id or (trace_id if span_id != trace_id else None),
        session_id=_either(observation, trace, "sessionId"),
        user_id=_either(observation, trace, "userId"),
        agent_id=_word(attributes.get("gen_ai.agent.name")),
        started_at=_time(observation, "startTime"),
        ended_at=_time(observation, "endTime"),
        error=_error(observation),
        metadata=_metadata(observation, trace),
        number=number,
    )
    given, came = value_at(observation, "input"), value_at(observation, "output")
    if kind == "tool":
        _set_tool(span, attributes, given, came)
    else:
        is_root = parent_id is None
        span.inputs = turns_of(given, "user", or_text=kind == "llm" or is_root)
        if not any(turn.role == "system" for turn in span.inputs):
            span.inputs = [*turns_of(instructions(attributes), "system"), *span.inputs]
        span.outputs = turns_of(came, "assistant", or_text=kind == "llm" or is_root)
    return span


def _either(observation: Fields, trace: Fields, name: str) -> str | None:
    own = id_or_none(value_at(observation, name), name)
    return own or id_or_none(value_at(trace, name), name) or None


def _attributes(observation: Fields) -> dict[str, object]:
    """The OpenTelemetry attributes, where the observation came that way."""
    metadata = _object(value_at(observation, "metadata"))
    return _object(metadata.get("attributes"))


def _object(value: object) -> dict[str, object]:
    parsed = _parsed(value)
    return parsed if isinstance(parsed, dict) else {}


def _parsed(value: object) -> object:
    """JSON in a string as what it means; other text as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"', "n"):
        return value
    try:
        return load_json(value.encode("utf-8", "replace"))
    except JsonFault:
        return value


def _kind(observation: Fields, attributes: Fields, name: str | None) -> SpanKind:
    stated = str(value_at(observation, "type") or "").upper()
    if stated == "GENERATION":
        return "llm"
    words = [str(attributes.get(key) or "").lower() for key in _KIND_ATTRIBUTES]
    kind: SpanKind = next((_KIND_WORDS[word] for word in words if word in _KIND_WORDS), "other")
    if stated == "TOOL" or "gen_ai.tool.name" in attributes:
        kind = "tool"
    event = _EVENT_NAME.fullmatch(name or "") if kind == "tool" else None
    is_phase = event is not None and event["phase"] not in ("success", "error")
    return "other" if is_phase else kind


def _set_tool(span: Span, attributes: Fields, given: object, came: object) -> None:
    name = next((str(attributes[key]) for key in _TOOL_NAMES if attributes.get(key)), None)
    if name is None:
        event = _EVENT_NAME.fullmatch(span.name or "")
        name = event["tool"] if event is not None else (span.name or "unknown")
        name = name.removeprefix("execute_tool ")
    arguments, output = _parsed(given), _parsed(came)
    if arguments in (None, "", {}):
        arguments = next((attributes[key] for key in _ARGUMENTS if attributes.get(key)), arguments)
    if output in (None, "", {}):
        output = next((attributes[key] for key in _OUTPUTS if attributes.get(key)), None)
    call_id = _word(attributes.get("gen_ai.tool.call.id"))
    span.call = Call(call_id, name, written(arguments))
    answers = [r for turn in turns_of(output, "tool", or_text=False) for r in turn.results]
    if answers:  # a message of a tool, rather than its bare output
        span.result = Result(call_id or answers[0].call_id, name, answers[0].text, answers[0].is_error)
    elif output is not None:
        span.result = Result(call_id, name, output_text(output), True if span.error is not None else None)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _error(observation: Fields) -> str | None:
    if str(value_at(observation, "level") or "").upper() != "ERROR":
        return None
    return text_or_none(value_at(observation, "statusMessage"), "statusMessage") or "error"


def _time(record: Fields, name: str) -> str | None:
    """A time; exports to a bucket write UTC without saying so."""
    time = iso_time(value_at(record, name), name)
    return f"{time}+00:00" if time is not None and _NAIVE.fullmatch(time) else time


def _metadata(observation: Fields, trace: Fields) -> dict[str, object]:
    tags = value_at(trace, "tags") or value_at(observation, "tags")
    kept: dict[str, object] = {
        "title": value_at(trace, "name") or value_at(observation, "traceName"),
        "model": value_at(observation, "model") or value_at(observation, "providedModelName"),
        "tags": tags if isinstance(tags, list) else None,
        "scores": _scores(trace),
    }
    for record in (trace, observation):
        kept |= {k: v for k, v in record.items() if k not in _TAKEN}
        for key, value in _object(value_at(record, "metadata")).items():
            if key == "attributes":
                kept |= {k: v for k, v in _object(value).items() if not k.startswith(_TOLD)}
            elif key not in ("resourceAttributes", "scope"):
                kept.setdefault(key, value)
    if kept.get("level") == "DEFAULT":
        del kept["level"]
    return {k: v for k, v in kept.items() if _is_short(v)}


def _is_short(value: object) -> bool:
    """Long values are the messages once more, or the state of a graph."""
    if value in (None, "", [], {}, 0):
        return False
    return len(value if isinstance(value, str) else written(value) or "") <= _MAX_CHARS


def _scores(trace: Fields) -> dict[str, object]:
    """Name -> value of what evaluators and people said of the trace."""
    given = value_at(trace, "scores")
    scores = [s for s in given if isinstance(s, dict)] if isinstance(given, list) else []
    return {str(s["name"]): s.get("value", s.get("stringValue")) for s in scores if s.get("name")}
