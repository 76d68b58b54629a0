"""One JSON document -> its records, piece by piece, so that what is held is one of them.

Brackets, commas and quotes are found a window of bytes at a time by arithmetic on arrays; only what stands
between two commas is parsed. Behind a record that cannot be read it goes on where the next seems to begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from transforms.readers.json_marks import (
    BACKSLASH_BYTE,
    COMMA,
    FIRST_WINDOW,
    OPEN,
    WINDOW,
    Marks,
    marks,
    object_at,
)
from transforms.readers.lines import Point
from transforms.readers.text import JsonFault, load_json

_LOOK_BACK = 4_096
"""Bytes before a list in which the key that it stands under is looked for."""
_KEYS_KEPT = 8
_SURELY_ONE = 1 << 20
"""Bytes up to which an item is never taken for two."""
_SPACE = re.compile(rb"[\s,]*")
_NEXT_ITEM = re.compile(rb'\s*(?:(\{)\s*["}]|\])')
_NEXT_KEY = re.compile(rb"\s*[,}]")
_COMMA_NEXT = re.compile(rb"\s*,")


class Found(NamedTuple):
    """One item: its number from 1, its value or what is wrong, and what a refusal quotes."""

    number: int
    value: object
    raw: object


class Items(Iterator[Found]):
    """The records of a document.

    Args:
        source: Blocks of UTF-8.
        wrapper: Key of the document under which its records stand in a list; empty: none.
        start: Where the blocks begin; its place is ``top`` or that of a ``point``.
        limit: Bytes from which an item may be two, with a fault between them.
    """

    def __init__(self, source: Iterator[bytes], wrapper: str, start: Point, limit: int) -> None:
        self._source, self._limit = source, max(limit, _SURELY_ONE)
        self._wrapper = re.compile(rb'"%s"\s*:\s*\Z' % re.escape(wrapper.encode())) if wrapper else None
        self._number, self._place = start.number, start.place
        self._block, self._at, self._offset = b"", 0, start.offset
        self._begin, self._held = 0, list[bytes]()  # where the item begins in the block, and it before that
        self._tail, self._window = b"", WINDOW
        self._depth, self._is_inside, self._held_bytes, self._is_over = 0, False, 0, False
        self._last, self._first_keys = dict[str, object](), dict[str, bytes]()
        self._patience, self._hopeless, self._list_place = self._limit, -1, start.place
        self._given_up, self._moves, self._found = b"", 0, self._items()
        self._enter(start.place)

    def __next__(self) -> Found:
        """The next record."""
        return next(self._found)

    @property
    def point(self) -> Point | None:
        """Where to read on after the item last given out; None: not from there."""
        if self._held_bytes or self._place == "rest":
            return None
        return Point(self._offset + self._begin, self._number, self._place)

    def _enter(self, place: str) -> None:
        """Be in a list, an object, or between documents, at its base."""
        self._place = place
        self._depth = {"top": 0, "object": 0, "list": 1, "wrapped": 2, "rest": 1}[place]
        self._is_inside = False
        if place in ("list", "wrapped"):
            self._list_place = place

    def _items(self) -> Iterator[Found]:
        while self._at < len(self._block) or self._fill():
            if self._place == "top":
                yield from self._top()
            else:
                yield from self._step()
        text, is_told = self._taken(len(self._block)), False
        if self._place != "rest" and text.strip():
            for found in self._given(text, b""):
                is_told = isinstance(found.value, JsonFault)
                yield found
            if self._at < len(self._block):  # it was two, with a fault between them
                return (yield from self._items())
        if self._place not in ("top", "object") and not is_told:
            yield self._fault("truncated_json", "the JSON document ends before it is complete", b"")

    def _fill(self) -> bool:
        """Take the next block; what is begun is held."""
        if self._is_over:
            return False
        if self._place != "rest" and self._begin < len(self._block):
            self._held.append(self._block[self._begin :])
            self._held_bytes += len(self._held[-1])
        self._offset += len(self._block)
        block = next(self._source, None)
        self._is_over = block is None
        block = self._tail + (block or b"")
        cut = len(block) if self._is_over else len(block.rstrip(b"\\"))
        self._block, self._tail = block[:cut], block[cut:]
        self._at = self._begin = 0
        return True

    def _taken(self, end: int) -> bytes:
        """The text of the item that ends there; the next begins after it."""
        text = b"".join([*self._held, self._block[self._begin : end]])
        self._held, self._held_bytes, self._begin = [], 0, end
        self._patience = self._limit
        return text

    def _top(self) -> Iterator[Found]:
        """Between documents: see what begins."""
        if space := _SPACE.match(self._block, self._at):
            self._at = self._begin = space.end()
        char = self._block[self._at : self._at + 1]
        if char == b"[":
            self._at = self._begin = self._at + 1
            self._enter("list")
        elif char == b"{":
            self._enter("object")
        elif char:
            end = self._block.find(b"\n", self._at)
            self._at = len(self._block) if end < 0 else end
            yield from self._given(self._taken(self._at), b"")

    def _step(self) -> Iterator[Found]:
        end = min(self._at + self._window, len(self._block))
        while end < len(self._block) and self._block[end - 1] == BACKSLASH_BYTE:
            end += 1
        self._window = min(self._window * 2, WINDOW)
        seen = marks(self._block, self._at, end, self._depth, is_inside=self._is_inside)
        after = (end, int(seen.depths[-1]) if seen.depths.size else self._depth, seen.is_inside)
        if self._place in ("list", "wrapped"):
            yield from self._list(seen, after)
        else:
            yield from self._object(seen, after)

    def _list(self, seen: Marks, after: tuple[int, int, bool]) -> Iterator[Found]:
        base = 1 if self._place == "list" else 2
        is_out = seen.depths < base
        ends = seen.at[is_out | ((seen.kinds == COMMA) & (seen.depths == base))]
        last = int(seen.at[is_out.argmax()]) if is_out.any() else -1
        moves = self._moves
        for end in ends.tolist():
            text, mark = self._taken(end), self._block[end : end + 1]
            self._at = self._begin = end + 1
            if end == last:
                yield from self._closed(text, mark)
                return
            yield from self._given(text, mark)
            if self._moves != moves:  # it reads on elsewhere
                return
        self._at, self._depth, self._is_inside = after
        if self._held_bytes > self._patience:
            self._patience = 2 * self._held_bytes
            if self._recover(b"".join(self._held), is_sure=False):
                yield self._fault("truncated_json", "a record does not end", self._given_up)

    def _closed(self, text: bytes, mark: bytes) -> Iterator[Found]:
        """The bracket that ends the list, or one that ends nothing."""
        place = self._place
        if mark == b"]":
            self._enter("top" if place == "list" else "rest")
            if not text.strip():
                return
            yield from self._given(text, mark)
            return
        self._enter(place)
        comma = _COMMA_NEXT.match(self._block, self._begin)
        if comma:
            self._at = self._begin = comma.end()
        yield from self._given(text + mark, comma[0] if comma else b"")

    def _object(self, seen: Marks, after: tuple[int, int, bool]) -> Iterator[Found]:
        """A document that is an object, or what of it comes after its list."""
        done = seen.depths == 0
        last = int(done.argmax()) if done.any() else len(seen.at)
        if self._wrapper is not None and self._place == "object":
            opens = seen.at[:last][(seen.kinds[:last] == OPEN) & (seen.depths[:last] == 2)]
            for at in opens.tolist():
                if self._block[at : at + 1] == b"[" and self._wrapper.search(self._before(at)):
                    self._taken(at)
                    self._at = self._begin = at + 1
                    self._enter("wrapped")
                    return
        if last == len(seen.at):
            self._at, self._depth, self._is_inside = after
            return
        end, place = int(seen.at[last]) + 1, self._place
        text = self._taken(end)
        self._at = end
        self._enter("top")
        if place == "object":
            yield from self._given(text, b"")

    def _before(self, at: int) -> bytes:
        text = self._block[max(self._begin, at - _LOOK_BACK) : at]
        for part in reversed(self._held):
            if len(text) >= _LOOK_BACK:
                break
            text = part[-_LOOK_BACK:] + text
        return text

    def _given(self, text: bytes, mark: bytes) -> Iterator[Found]:
        """An item that a comma or bracket ended, or its refusal; a fault may have swallowed others."""
        try:
            value = load_json(text)
        except JsonFault as fault:
            self._given_up = text
            self._recover(text + mark, is_sure=True, is_within=self._is_in_step(mark))
            yield self._fault(fault.reason, fault.detail, self._given_up)
            return
        if isinstance(value, dict) and value and self._place in ("list", "wrapped"):
            self._learn(value)
        self._number += 1
        yield Found(self._number, value, value)

    def _fault(self, reason: str, detail: str, raw: bytes) -> Found:
        self._number += 1
        return Found(self._number, JsonFault(reason, detail), raw)

    def _learn(self, value: dict[str, object]) -> None:
        """What records of this source look like."""
        self._last = value
        key = next(iter(value))
        if key not in self._first_keys and len(self._first_keys) < _KEYS_KEPT:
            self._first_keys[key] = re.escape(b'"%s"' % key.encode("utf-8", "replace"))

    def _is_in_step(self, mark: bytes) -> bool:
        """Whether what comes after a faulty item is what comes after a sound one."""
        if not mark:
            return False
        rest = self._block[self._begin : self._begin + _LOOK_BACK]
        if not rest.strip():
            return True
        if mark == b"]":
            return self._place == "rest" and _NEXT_KEY.match(rest) is not None
        next_item = _NEXT_ITEM.match(rest)
        if next_item is None or next_item[1] is None:
            return next_item is not None
        return object_at(self._block, self._begin + next_item.start(1)) is not None

    def _recover(self, text: bytes, *, is_sure: bool, is_within: bool = False) -> bool:
        """Read on at the next beginning of a record in a text and the block after it, where there is one.

        Args:
            text: What stands before the rest of the block.
            is_sure: Whether there is a fault; else only a whole record is taken for one.
            is_within: Whether only the text is searched: what comes after it is sound.

        Returns:
            Whether it reads on elsewhere; what lies between is then ``_given_up``.
        """
        origin = self._begin - len(text)  # of the text in the block, where it is all of it
        is_here = origin >= 0 and self._block.startswith(text, origin)
        whole = self._block if is_here else text + self._block[self._begin :]
        origin = max(origin, 0) if is_here else 0
        begins, end = self._offset + self._begin - len(text), origin + len(text)
        if not self._first_keys or (is_sure and not is_within and begins + len(text) <= self._hopeless):
            return False
        keys = b"|".join(self._first_keys.values())
        item = re.compile(rb",\s*(?=\{\s*(?:%s)\s*:)" % keys)
        for match in item.finditer(whole, origin + 1, end if is_within else len(whole)):
            if self._is_record(whole, match.end(), is_sure=is_sure):
                self._given_up = whole[origin : match.start()]
                self._move(whole, match.end(), begins - origin)
                return True
        if is_sure and not is_within:
            self._hopeless = begins - origin + len(whole)
        return False

    def _move(self, block: bytes, start: int, offset: int) -> None:
        """Read on there, at the beginning of a record."""
        self._block, self._offset, self._at, self._begin = block, offset, start, start
        self._held, self._held_bytes, self._patience = [], 0, self._limit
        self._window, self._moves = FIRST_WINDOW, self._moves + 1
        self._enter(self._list_place)

    def _is_record(self, text: bytes, start: int, *, is_sure: bool) -> bool:
        """Whether an object that begins there has the keys of a record; a cut one may if ``is_sure``."""
        value = object_at(text, start)
        if not value:
            return is_sure and value is not None
        known = self._last.keys()
        return 2 * len(known & value.keys()) >= len(known)
