"""Python values that a tracer wrote with ``repr`` or ``str`` where JSON was meant."""

from __future__ import annotations

import ast
import re

_MAX_CHARS = 2_000_000
"""A longer literal is left as text: parsing takes some twenty times its size in memory."""

_LITERAL_START = re.compile(r"\s*(\{'|\[\{'|\{\}|\[\])")
_BAD_ESCAPE = re.compile(r"\\[^\n\\'\"abfnrtvoxuUN0-7]")
_STRING = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_FIELDS_START = re.compile(r"\s*(?:(?P<name>\w+)\()?(?:role|content)=['\"]|\s*role=None ")
_FIELD = {
    name: re.compile(rf"(?:^|[\s(,]){name}={_STRING}", re.DOTALL)
    for name in ("role", "content", "name", "tool_call_id", "tool_name", "id", "status")
}
_CALLS = re.compile(r"(?:^|[\s(,])tool_calls=(\[\{'.*?\}\])(?=[\s,)]|$)", re.DOTALL)
_IS_FAILED = re.compile(r"(?:^|[\s(,])tool_call_error=True\b")


def literal_of(text: str) -> object:
    """The object or list that a text is as a Python literal; None where it is none."""
    if len(text) > _MAX_CHARS or not _LITERAL_START.match(text) or _BAD_ESCAPE.search(text):
        return None
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict | list) else None


def fields_of(text: str) -> dict[str, object] | None:
    """The fields of a message object that was written out, such as ``role='user' content='Hi' name=None``.

    Returns:
        Role, content, names, ids and tool calls, where there are; None where the text is no such thing.
    """
    start = _FIELDS_START.match(text)
    if start is None or len(text) > _MAX_CHARS:
        return None
    found: dict[str, object] = {}
    for name, pattern in _FIELD.items():
        match = pattern.search(text)
        if match is not None:
            found[name] = _string(match[1])
            # Later fields may quote words that look like one: what is read is not looked at again.
            text = text[: match.start()] + " " + text[match.end() :] if name == "content" else text
    calls = _CALLS.search(text)
    if calls is not None:
        found["tool_calls"] = literal_of(calls[1])
    if _IS_FAILED.search(text):
        found["status"] = "error"
    if "role" not in found and start["name"]:
        found["type"] = start["name"]
    return found if "role" in found or "type" in found else None


def _string(literal: str) -> str:
    if _BAD_ESCAPE.search(literal):
        return literal[1:-1]
    try:
        return str(ast.literal_eval(literal))
    except (ValueError, SyntaxError):
        return literal[1:-1]
