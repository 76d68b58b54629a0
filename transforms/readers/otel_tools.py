"""What a span says of the tool that it ran: its name, arguments and result, and why it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transforms.readers.blocks import Call, Result
from transforms.readers.message_parts import output_text
from transforms.readers.otel_attributes import read_json
from transforms.readers.otel_messages import CHOICE
from transforms.readers.otel_source import RawSpan
from transforms.readers.text import dump_json

_TOOL_NAME = (
    "gen_ai.tool.name",
    "tool.name",
    "ai.toolCall.name",
    "tool_call.function.name",
    "traceloop.entity.name",
    "mcp.tool.name",
)
_TOOL_ID = (
    "gen_ai.tool.call.id",
    "tool_call.id",
    "ai.toolCall.id",
    "tool.id",
    "tool.call_id",
    "tool_call_id",
)
_TOOL_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "gcp.vertex.agent.tool_call_args",
    "tool_call.function.arguments",
    "langfuse.observation.input",
    "traceloop.entity.input",
    "input.value",
)
_TOOL_RESULT = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "gcp.vertex.agent.tool_response",
    "langfuse.observation.output",
    "traceloop.entity.output",
    "output.value",
)
_TOOL_VERBS = ("execute_tool ", "running tool: ", "tool: ", "tools/call ")

TAKEN = frozenset((*_TOOL_NAME, *_TOOL_ID, *_TOOL_ARGUMENTS, *_TOOL_RESULT))
"""Attributes that a call and its result are made of."""


def first(attributes: Mapping[str, object], names: Sequence[str]) -> object:
    """The first attribute of those named that holds something."""
    return next((attributes[name] for name in names if attributes.get(name) not in (None, "")), None)


def tool_call(raw: RawSpan) -> Call:
    """The tool that a span ran."""
    name = first(raw.attributes, _TOOL_NAME)
    text = name if isinstance(name, str) else raw.name or "unknown"
    verb = next((v for v in _TOOL_VERBS if text.startswith(v)), "")
    arguments = first(raw.attributes, _TOOL_ARGUMENTS)
    told = [e.attributes.get("content") for e in raw.events if e.name == "gen_ai.tool.message"]
    if arguments is None and told:
        arguments = told[0]
    return Call(_call_id(raw), text[len(verb) :], _arguments(arguments))


def _call_id(raw: RawSpan) -> str | None:
    given = first(raw.attributes, _TOOL_ID)
    if given is None:
        output = read_json(first(raw.attributes, _TOOL_RESULT))
        given = _message(output).get("tool_call_id")
    return given if isinstance(given, str) else None


def _arguments(value: object) -> str | None:
    loaded = read_json(value)
    if isinstance(loaded, dict):
        for key in ("inputs", "input_str"):  # a decorator's record of a call
            is_record = len(loaded) > 1 and set(loaded) <= {key, "tags", "metadata", "kwargs", "args"}
            if is_record and loaded.get(key):
                loaded = value = loaded[key]
    if value is None or isinstance(value, str):
        return value
    return dump_json(value)


def _message(value: object) -> Mapping[str, object]:
    """A result that is a tool's message; empty if it is none."""
    if not isinstance(value, dict):
        return {}
    kwargs = value.get("kwargs")
    inner = kwargs if isinstance(kwargs, dict) else value
    is_message = "content" in inner and (
        inner.get("type") in ("tool", "ToolMessage") or inner.get("role") == "tool"
    )
    return inner if is_message or (inner is kwargs and "content" in inner) else {}


def tool_result(raw: RawSpan) -> Result | None:
    """What came back; null where the span tells neither that nor how it ended."""
    given = first(raw.attributes, _TOOL_RESULT)
    if given is None:
        told = [event.attributes for event in raw.events if event.name == CHOICE]
        given = told[0].get("message", told[0].get("content")) if told else None
    loaded = read_json(given)
    message = _message(loaded)
    if message:
        loaded = message["content"]
    elif isinstance(loaded, dict) and isinstance(loaded.get("output"), dict | str) and _is_record(loaded):
        loaded = _message(loaded["output"]).get("content", loaded["output"])
    has_failed = raw.is_error or error_of(raw) is not None or message.get("status") == "error"
    if given is None and not has_failed and raw.ended_at is None:
        return None
    is_text = isinstance(given, str) and not isinstance(loaded, str | list) and not message
    text = given if is_text and not _is_record(loaded) else output_text(loaded)
    return Result(_call_id(raw), None, str(text), is_error=True if has_failed else None)


def _is_record(value: object) -> bool:
    """Whether an object is a decorator's record of a call rather than what the tool gave."""
    return isinstance(value, dict) and {"output", "kwargs"} <= set(value) <= {"output", "kwargs", "tags"}


def error_of(raw: RawSpan) -> str | None:
    """Why a span failed, if it did and says so."""
    for event in raw.events:
        if event.name == "exception":
            said = first(event.attributes, ("exception.message", "exception.type"))
            if isinstance(said, str) and raw.is_error:
                return raw.error or said
    said = first(raw.attributes, ("error.message", "error.type", "exception.message"))
    if isinstance(said, str):
        return raw.error or said
    return (raw.error or "error") if raw.is_error else None
