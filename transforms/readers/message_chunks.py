"""An answer that was recorded as it streamed in: the pieces of one message, in the form of OpenAI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def is_streamed(values: Sequence[object]) -> bool:
    """Whether a list is the pieces of one message: each has a ``delta``; the last may tell usage alone."""
    return bool(values) and _delta(values[0]) is not None and all(_is_piece(value) for value in values)


def _is_piece(value: object) -> bool:
    return _delta(value) is not None or (isinstance(value, dict) and value.get("choices") == [])


def _delta(value: object) -> dict[str, object] | None:
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    delta = first.get("delta") if isinstance(first, dict) else None
    return delta if isinstance(delta, dict) else None


def joined(values: Sequence[object]) -> dict[str, object]:
    """The message that the pieces make."""
    deltas = [delta for value in values if (delta := _delta(value)) is not None]
    role = next((d["role"] for d in deltas if isinstance(d.get("role"), str)), "assistant")
    content = "".join(str(d["content"]) for d in deltas if isinstance(d.get("content"), str))
    calls: dict[object, dict[str, object]] = {}
    for piece in _calls_in(deltas):
        function = piece.get("function")
        given = function if isinstance(function, dict) else {}
        call = calls.setdefault(str(piece.get("index")), {"id": None, "name": "", "arguments": ""})
        call["id"] = call["id"] or piece.get("id")
        for name in ("name", "arguments"):
            call[name] = f"{call[name]}{given.get(name) or ''}"
    return {"role": role, "content": content, "tool_calls": list(calls.values())}


def _calls_in(deltas: Sequence[dict[str, object]]) -> Iterator[dict[str, object]]:
    for delta in deltas:
        calls = delta.get("tool_calls")
        yield from (c for c in calls if isinstance(c, dict)) if isinstance(calls, list) else ()
