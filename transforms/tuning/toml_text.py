"""Policy values as the text of ``slowwave.toml``: the few types that it holds, read back the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from transforms.policy_entries import NEVER
from transforms.replay.changes import Changes

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def toml_text(changes: Changes, comments: Sequence[str] = ()) -> str:
    """A TOML document of values by dotted key; None is "never".

    Args:
        changes: Numbers, text, booleans, None, or lists of them. No key is the beginning of another.
        comments: Lines to begin with.
    """
    lines = [f"# {_one_line(comment)}".rstrip() for comment in comments]
    tables: dict[tuple[str, ...], list[str]] = {}
    for key, value in sorted(changes.items()):
        *parents, last = key.split(".")
        tables.setdefault(tuple(parents), []).append(f"{_name(last)} = {_value(value)}")
    for table, entries in sorted(tables.items()):
        head = [f"[{'.'.join(map(_name, table))}]"] if table else []
        lines += [*([""] if lines else []), *head, *entries]
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if value is None:
        return _text(NEVER)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    return _text(str(value))


def _number(value: float) -> str:
    """A float as TOML writes it: with a point or an exponent, the shortest that reads back the same."""
    text = repr(value)
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def _text(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c, c if _is_plain(c) else f"\\U{ord(c):08x}") for c in text) + '"'


def _is_plain(character: str) -> bool:
    return character >= " " and character != "\x7f"


def _one_line(text: str) -> str:
    return "".join(c if _is_plain(c) else " " for c in text)


def tree_of(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same values in nested tables, as the document reads."""
    tree: dict[str, Any] = {}
    for key, value in changes.items():
        *parents, last = key.split(".")
        place = tree
        for name in parents:
            place = place.setdefault(name, {})
        place[last] = NEVER if value is None else value
    return tree
