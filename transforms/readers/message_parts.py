"""Parts of messages as vendors and frameworks write them -> words, tool calls, tool results.

One place knows them all: OpenAI (chat and Responses), Anthropic, Gemini, Bedrock, LangChain, Vercel AI SDK
and the OpenTelemetry GenAI conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from transforms.readers.blocks import Call, Result
from transforms.readers.text import JsonFault, dump_json, load_json, type_name

_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal", "summary_text", "str", "message"})
_CALL_TYPES = frozenset({
    "tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call", "server_tool_use",
    "server_tool_call", "mcp_call",
})  # fmt: skip
_RESULT_TYPES = frozenset(
    {
        "tool_result",
        "tool-result",
        "tool_call_response",
        "tool_response",
        "server_tool_call_response",
        "function_call_output",
        "custom_tool_call_output",
        "function_response",
        "tool-error",
    }
)
_THINKING_WORDS = ("thinking", "reasoning")
_CALL_ID_KEYS = ("call_id", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "id")
_NAME_KEYS = ("name", "toolName", "tool_name")
_ARGUMENT_KEYS = ("arguments", "args", "input", "parameters", "server_tool_call")
_OUTPUT_KEYS = (
    "output", "result", "response", "content", "server_tool_call_response", "error", "value", "text",
)  # fmt: skip
_FAILED_STATUS = frozenset({"error", "failed", "failure"})
_SUCCESS_STATUS = frozenset({"success", "ok", "completed"})
_ERROR_FORMS = frozenset({"error-text", "error-json", "tool-error"})


@dataclass
class Parts:
    """What the parts of one message hold, sorted by kind."""

    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    thinking: int = 0
    other_types: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Text parts that hold something, joined by line feeds."""
        return "\n".join(text for text in self.texts if text.strip())


def read_parts(value: object, parts: Parts) -> None:
    """Sort the content of a message, in any form.

    Raises:
        JsonFault: ``bad_field_type``: a part that is no text and no object.
    """
    if value is None:
        return
    if isinstance(value, str):
        parts.texts.append(value)
    elif isinstance(value, list):
        for part in value:
            read_parts(part, parts)
    elif isinstance(value, dict):
        _read_part(value, parts)
    else:
        raise JsonFault("bad_field_type", f"a part of a message is {type_name(value)}, not text or an object")


def _read_part(part: Mapping[str, object], parts: Parts) -> None:
    kind = str(part.get("type") or "")
    for key, read in _WRAPPED.items():
        inner = part.get(key)
        if isinstance(inner, dict):
            read(inner, parts)
            return
    if kind in _CALL_TYPES:
        parts.calls.append(call_of(part))
    elif kind in _RESULT_TYPES or kind.endswith("_tool_result"):
        parts.results.append(result_of(part))
    elif _is_thinking(part, kind.lower()):
        parts.thinking += 1
    else:
        _read_words(part, kind, parts)


def _is_thinking(part: Mapping[str, object], kind: str) -> bool:
    is_named = any(word in kind for word in _THINKING_WORDS)
    return (
        is_named or part.get("thought") is True or "reasoningContent" in part or "reasoning_content" in part
    )


def _read_words(part: Mapping[str, object], kind: str, parts: Parts) -> None:
    for key in ("text", "refusal", "content", "message_content"):
        words = part.get(key)
        if isinstance(words, str) and (not kind or kind in _TEXT_TYPES or key == "text"):
            parts.texts.append(words)
            return
        if isinstance(words, dict) and isinstance(words.get("value"), str):  # Assistants API
            parts.texts.append(words["value"])
            return
        if isinstance(words, dict | list) and key != "text" and (not kind or kind in _TEXT_TYPES):
            read_parts(words, parts)
            return
    if isinstance(part.get("json"), dict | list):
        parts.texts.append(dump_json(part["json"]))
        return
    definition = part.get("function")
    if kind == "function" and isinstance(definition, dict) and "parameters" in definition:
        kind = "tool_definition"
    if part:
        parts.other_types.append(kind or next(iter(part)))


def _wrapped_call(inner: Mapping[str, object], parts: Parts) -> None:
    parts.calls.append(call_of(inner))


def _wrapped_result(inner: Mapping[str, object], parts: Parts) -> None:
    parts.results.append(result_of(inner))


def _wrapped_part(inner: Mapping[str, object], parts: Parts) -> None:
    _read_part(inner, parts)


_WRAPPED: dict[str, Callable[[Mapping[str, object], Parts], None]] = {
    "functionCall": _wrapped_call,
    "function_call": _wrapped_call,
    "toolUse": _wrapped_call,
    "functionResponse": _wrapped_result,
    "function_response": _wrapped_result,
    "toolResult": _wrapped_result,
    "message_content": _wrapped_part,
}
"""Parts that name their kind by a key: Gemini, Bedrock, OpenInference."""


def call_of(value: object) -> Call:
    """A tool call in any form; ``{"function": {...}}`` and ``{"tool_call": {...}}`` are opened.

    Raises:
        JsonFault: ``bad_field_type``: not an object.
    """
    if not isinstance(value, dict):
        raise JsonFault("bad_field_type", f"a tool call is {type_name(value)}, not an object")
    wrapped = value.get("tool_call")
    given: Mapping[str, object] = wrapped if isinstance(wrapped, dict) else value
    call_id, function = _first(given, _CALL_ID_KEYS), given.get("function")
    inner: Mapping[str, object] = function if isinstance(function, dict) else given
    name = _first(inner, _NAME_KEYS)
    if name is None and isinstance(function, str):
        name = function
    arguments: object = None
    for key in _ARGUMENT_KEYS:
        if inner.get(key) is not None:
            arguments = inner[key]
            break
    return Call(_word(call_id), _word(name) or "unknown", written(arguments))


def result_of(part: Mapping[str, object]) -> Result:
    """A tool result in any form, with the status that it states."""
    output: object = None
    for key in _OUTPUT_KEYS:
        if part.get(key) is not None:
            output = part[key]
            break
    form = output.get("type") if isinstance(output, dict) else None
    status = str(part.get("status") or "").lower()
    is_error = (
        part.get("is_error") is True
        or part.get("isError") is True
        or status in _FAILED_STATUS
        or form in _ERROR_FORMS
        or str(part.get("type")) in _ERROR_FORMS
    )
    said = part.get("is_error") is False or part.get("isError") is False or status in _SUCCESS_STATUS
    call_id, name = _first(part, _CALL_ID_KEYS), _first(part, _NAME_KEYS)
    ended = True if is_error else False if said else None
    return Result(_word(call_id), _word(name), output_text(output), ended)


def output_text(value: object) -> str:
    """The output of a tool as text: its words where it is made of text parts, else its JSON."""
    if value is None or isinstance(value, str):
        return _unwrapped(value or "")
    if isinstance(value, dict) and "value" in value and isinstance(value.get("type"), str):
        return output_text(value["value"])  # Vercel AI SDK: {"type": "json", "value": ...}
    parts = value.get("content") if isinstance(value, dict) and set(value) <= _RESULT_KEYS else value
    if isinstance(parts, str):
        return parts
    if isinstance(parts, list) and parts and all(_is_text(part) for part in parts):
        return "\n".join(str(part["text"]) for part in parts)
    if isinstance(parts, list) and parts and all(isinstance(p, dict) and set(p) == {"json"} for p in parts):
        return "\n".join(dump_json(part["json"]) for part in parts)
    return dump_json(value)


def _unwrapped(text: str) -> str:
    """The result inside an object that only names the call again (Microsoft's agent framework)."""
    if not text.startswith('{"type": "function_result"'):
        return text
    try:
        value = load_json(text.encode("utf-8", "replace"))
    except JsonFault:
        return text
    return output_text(value["result"]) if isinstance(value, dict) and "result" in value else text


_RESULT_KEYS = frozenset({"content", "isError", "is_error", "structuredContent", "meta", "_meta"})


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type", "text") == "text"


def written(value: object) -> str | None:
    """Arguments: text as given, anything else as JSON; null as null."""
    return value if value is None or isinstance(value, str) else dump_json(value)


def _first(value: Mapping[str, object], keys: tuple[str, ...]) -> object:
    for key in keys:
        found = value.get(key)
        if found is not None and found != "":
            return found
    return None


def _word(value: object) -> str | None:
    """An id or a name: text as it is, a number as its digits, anything else as none."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
