"""One message of any vendor or framework -> ``Turn``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from transforms.readers.blocks import Call
from transforms.readers.message_parts import Parts, call_of, output_text, read_parts, result_of
from transforms.readers.text import JsonFault, load_json, type_name
from transforms.readers.times import iso_time
from transforms.readers.trace import Turn

_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "developer": "system",
    "systemmessage": "system",
    "toolmessage": "tool",
    "tool_response": "tool",
    "tool-response": "tool",
    "function": "tool",
    "functionmessage": "tool",
}
KNOWN_ROLES = frozenset({"user", "assistant", "system", "tool"})
_TYPE_ROLES = _ROLES.keys() | KNOWN_ROLES
"""What ``type`` may name instead of a role."""

_TIMES = ("timestamp", "created_at", "createdAt", "event_at")
_CALL_ITEMS = frozenset({"function_call", "custom_tool_call", "mcp_call", "tool_call", "tool_use"})
_RESULT_ITEMS = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_result", "tool_call_response"}
)
_CONTENT_KEYS = ("content", "parts", "contents", "text", "refusal")
_PLAIN_KEYS = {"role", "content"}
_SPOKEN_KEYS = (*_CONTENT_KEYS, "tool_calls", "additional_kwargs", "function_call")


def role_of(role: str) -> str:
    """The one word for a role that goes by several; others as they are."""
    lower = role.lower()
    return _ROLES.get(lower, lower if lower in KNOWN_ROLES else role)


def is_message(value: Mapping[str, object]) -> bool:
    """Whether an object is one message, rather than something that holds messages."""
    if isinstance(value.get("kwargs"), dict) and "lc" in value:
        return True
    if isinstance(value.get("role"), str):
        return "content" in value or any(key in value for key in _SPOKEN_KEYS)
    if isinstance(value.get("message.role"), str):
        return True
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _CALL_ITEMS | _RESULT_ITEMS or kind == "reasoning":
        return True
    return kind.lower() in _TYPE_ROLES and ("content" in value or isinstance(value.get("data"), dict))


def turn_of(message: Mapping[str, object], role: str) -> Turn:
    """One message; ``role`` is for one that names none.

    Raises:
        JsonFault: It cannot be read.
    """
    if message.keys() == _PLAIN_KEYS and (plain := _plain(message["role"], message["content"])):
        return plain
    message = _opened(message)
    kind, said = message.get("type"), message.get("role")
    if said is not None and not isinstance(said, str):
        raise JsonFault("bad_field_type", f"role is {type_name(said)}, not a string")
    if said is None and isinstance(kind, str):
        if kind.lower() in _TYPE_ROLES:
            said = kind
        elif kind in _CALL_ITEMS:
            return Turn("assistant", calls=(call_of(message),))
        elif kind in _RESULT_ITEMS:
            return Turn("tool", results=(result_of(message),))
        elif kind == "reasoning":
            return Turn("assistant", thinking=1)
    return _spoken(message, role_of(said or role))


def _plain(role: object, content: object) -> Turn | None:
    """The most common message, without a look at all that it could be."""
    if not isinstance(role, str) or not isinstance(content, str) or content[:1] == "[":
        return None
    said = role_of(role)
    return None if said == "tool" else Turn(said, content, is_injected=said == "system")


def _opened(message: Mapping[str, object]) -> Mapping[str, object]:
    """A message without the wrapper in which LangChain and OpenInference put it."""
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        path = message.get("id")
        name = str(path[-1]) if isinstance(path, list) and path else ""
        return {**_mapping(message["kwargs"]), "type": name}
    if isinstance(message.get("data"), dict) and "content" not in message and "role" not in message:
        return {**_mapping(message["data"]), "type": message.get("type")}
    if any(key.startswith("message.") for key in message):
        return {key.removeprefix("message."): value for key, value in message.items()}
    return message


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _spoken(message: Mapping[str, object], role: str) -> Turn:
    parts = Parts()
    content = next((message[key] for key in _CONTENT_KEYS if message.get(key) is not None), None)
    calls = _written_calls(content) if role in ("assistant", "tool") else []
    if calls:
        parts.calls.extend(calls)
    elif role == "tool":
        _read_answer(message, content, parts)
    else:
        read_parts(content, parts)
    _add_calls(message, parts)
    if message.get("reasoning_content"):
        parts.thinking += 1
    own_id = message.get("id")
    return Turn(
        role=role,
        text=parts.text,
        calls=tuple(parts.calls),
        results=tuple(parts.results),
        speaker=_speaker(message.get("name"), role),
        own_id=own_id if isinstance(own_id, str) and own_id else None,
        event_at=_time_of(message),
        other_types=tuple(parts.other_types),
        thinking=parts.thinking,
        is_injected=role == "system",
    )


def _speaker(name: object, role: str) -> str | None:
    """The name of who spoke; that of a tool is none, and frameworks name any assistant ``model``."""
    is_name = isinstance(name, str) and name and role != "tool" and role_of(name) not in KNOWN_ROLES
    return str(name) if is_name else None


def _time_of(message: Mapping[str, object]) -> str | None:
    for key in _TIMES:
        if message.get(key) is not None:
            return iso_time(message[key], key)
    return None


def _read_answer(message: Mapping[str, object], content: object, parts: Parts) -> None:
    """A message of a tool: parts that are results, or one result of its own."""
    read_parts(content, parts)
    if parts.results or parts.other_types == ["tool_definition"]:
        return
    given = {key: value for key, value in message.items() if key != "id" and key not in _CONTENT_KEYS}
    answer = result_of({**given, "output": content if content is not None else ""})
    parts.results.append(replace(answer, text=output_text(content)))
    parts.texts.clear()
    parts.calls.clear()


def _written_calls(content: object) -> list[Call]:
    """Tool calls that a framework wrote out as the text of a message."""
    if not isinstance(content, str) or '"function"' not in content or not content.lstrip().startswith("["):
        return []
    try:
        items = load_json(content.encode("utf-8", "replace"))
    except JsonFault:
        return []
    if not isinstance(items, list):
        return []
    functions = [item.get("function") for item in items if isinstance(item, dict)]
    is_calls = len(functions) == len(items) and all(
        isinstance(f, dict) and "name" in f and "arguments" in f for f in functions
    )
    return [call_of(item) for item in items] if is_calls else []


def _add_calls(message: Mapping[str, object], parts: Parts) -> None:
    """Calls beside the content; LangChain tells them three times over."""
    known = {call.call_id for call in parts.calls if call.call_id is not None}
    given: list[object] = []
    for source in (message, _mapping(message.get("additional_kwargs"))):
        calls = source.get("tool_calls", source.get("toolCalls"))
        if calls is not None and not isinstance(calls, list):
            raise JsonFault("bad_field_type", f"tool_calls is {type_name(calls)}, not a list")
        given = calls or ([source["function_call"]] if source.get("function_call") else [])
        if given:
            break
    for item in given:
        call = call_of(item)
        if call.call_id is None or call.call_id not in known:
            parts.calls.append(call)
