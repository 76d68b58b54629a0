"""The whole items of a document that is broken: one fault, or a cut end, is no reason to lose the others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from transforms.readers.text import JsonFault, load_json

_DECODER = json.JSONDecoder(strict=False)
_OBJECT = re.compile(r'\{\s*"')
_MAX_READS = 20
"""Times that the text may be read over in looking for items, before the rest of it is given up."""
BROKEN = ("truncated_json", "invalid_json")
"""Faults of a document that may still hold whole items."""


class BrokenLists:
    """Items that stand whole in the lists of a broken document.

    Args:
        raw: The document.
        names: Keys of the lists.
        is_item: Whether an object is one of their items: inside a broken item others lie.

    Attributes:
        head: The text before the first list.
        rest: What lies between the items, once all are given.
    """

    def __init__(
        self, raw: bytes, names: Sequence[str], is_item: Callable[[dict[str, object]], bool]
    ) -> None:
        """Find the first list."""
        self._text = raw.decode("utf-8", "replace")
        self._lists = re.compile(rf'"({"|".join(map(re.escape, names))})"\s*:\s*\[')
        self._is_item = is_item
        first = self._lists.search(self._text)
        self._start = first.start() if first else len(self._text)
        self.head = self._text[: self._start]
        self.rest = self._text

    def read(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Each item with the key of the list that began last before it."""
        rest, place, begin, name = [self.head], self._start, self._start, ""
        budget = _MAX_READS * len(self._text)
        while budget > 0 and (found := _OBJECT.search(self._text, begin)):
            value, end = self._object(found.start())
            budget -= end - found.start()
            if value is None or not self._is_item(value):
                begin = found.start() + 1
                continue
            between = self._text[place : found.start()]
            name = next((m[1] for m in reversed(list(self._lists.finditer(between)))), name)
            rest.append(between)
            place = begin = end
            yield name, value
        self.rest = "".join([*rest, self._text[place:]])

    def _object(self, begin: int) -> tuple[dict[str, object] | None, int]:
        """The object that begins there, null if it is not whole; and how far it was read."""
        try:
            _, end = _DECODER.raw_decode(self._text, begin)
            value = load_json(self._text[begin:end].encode("utf-8", "replace"))
        except json.JSONDecodeError as error:
            return None, max(begin + 1, error.pos)
        except (ValueError, RecursionError):
            return None, len(self._text)
        return (value if isinstance(value, dict) else None), end


def named_object(text: str, key: str) -> dict[str, object]:
    """The object under a key of a text; empty where there is none that is whole."""
    found = re.search(rf'"{re.escape(key)}"\s*:\s*(?=\{{)', text)
    if found is None:
        return {}
    try:
        _, end = _DECODER.raw_decode(text, found.end())
        value = load_json(text[found.end() : end].encode("utf-8", "replace"))
    except (ValueError, RecursionError, JsonFault):
        return {}
    return value if isinstance(value, dict) else {}


def named_text(text: str, key: str) -> str | None:
    """The string under a key of a text."""
    found = re.search(rf'"{re.escape(key)}"\s*:\s*("(?:[^"\\]|\\.)*")', text)
    try:
        value = load_json(found[1].encode("utf-8", "replace")) if found else None
    except JsonFault:
        return None
    return value if isinstance(value, str) else None
