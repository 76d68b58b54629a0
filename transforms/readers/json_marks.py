"""Brackets and commas of JSON text, outside of its strings: found by arithmetic on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transforms.readers.text import JsonFault, load_json

OPEN, _CLOSE, COMMA, _QUOTE, _BACKSLASH = 1, 2, 3, 4, 5
BACKSLASH_BYTE = ord("\\")
_KINDS = np.zeros(256, np.uint8)
for _kind, _chars in ((OPEN, b"{["), (_CLOSE, b"}]"), (COMMA, b","), (_QUOTE, b'"'), (_BACKSLASH, b"\\")):
    _KINDS[list(_chars)] = _kind
_STEPS = np.array([0, 1, -1, 0, 0, 0], np.int32)

WINDOW, FIRST_WINDOW = 1 << 19, 1 << 11
"""Bytes looked at together: of a text that goes well, and at first after a fault, so that many faults in one
block do not cost a look at all of it each."""


class Marks(NamedTuple):
    """Brackets and commas outside of strings.

    Args:
        at: Where they stand.
        kinds: What they are.
        depths: How deep what follows each of them is.
        is_inside: Whether the window ends inside a string.
    """

    at: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    depths: NDArray[np.int32]
    is_inside: bool


def marks(text: bytes, start: int, end: int, depth: int, *, is_inside: bool) -> Marks:
    """Structure of a window that does not end in a backslash."""
    kinds = _KINDS[np.frombuffer(text, np.uint8, end - start, start)]
    slashes = np.flatnonzero(kinds == _BACKSLASH)
    if slashes.size:
        is_apart = slashes[1:] - slashes[:-1] != 1  # a run of them ends, another begins
        first = np.concatenate((slashes[:1], slashes[1:][is_apart]))
        last = np.concatenate((slashes[:-1][is_apart], slashes[-1:]))
        escaping = last[(last - first) % 2 == 0] + 1
        kinds[slashes] = 0
        kinds[escaping[escaping < kinds.size]] = 0
    at = np.flatnonzero(kinds)
    found = kinds[at]
    is_quote = found == _QUOTE
    quotes = np.cumsum(is_quote, dtype=np.int32) + is_inside
    outside = ~is_quote & (quotes & 1 == 0)
    found = found[outside]
    depths = np.cumsum(_STEPS[found], dtype=np.int32) + depth
    ends_inside = bool(quotes[-1] & 1) if quotes.size else is_inside
    return Marks(at[outside] + start, found, depths, ends_inside)


def _object_end(text: bytes, start: int) -> int:
    """Where the object that begins there ends; -1: it does not."""
    at, depth, is_inside, size = start, 0, False, FIRST_WINDOW
    while at < len(text):
        end = min(at + size, len(text))
        while end < len(text) and text[end - 1] == BACKSLASH_BYTE:
            end += 1
        seen = marks(text, at, end, depth, is_inside=is_inside)
        done = seen.at[seen.depths <= 0]
        if done.size:
            return int(done[0]) + 1
        depth = int(seen.depths[-1]) if seen.depths.size else depth
        at, is_inside, size = end, seen.is_inside, min(2 * size, WINDOW)
    return -1


def object_at(text: bytes, start: int) -> dict[str, object] | None:
    """The object that begins there; empty where the text ends before it does; null: it is none."""
    end = _object_end(text, start)
    if end < 0:
        return {}
    try:
        value = load_json(text[start:end])
    except JsonFault:
        return None
    return value if isinstance(value, dict) else None
