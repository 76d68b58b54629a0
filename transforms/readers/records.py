"""JSON sources -> records: one a line, items of one array, or a single object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.json_items import Items
from transforms.readers.lines import START, Blocks, Point, source_blocks, split_lines
from transforms.readers.text import JsonFault, load_json, type_name

_SURELY_A_LINE = 1 << 20
"""Bytes without a line feed after which a source that begins as JSON may still be JSON lines."""


class Record(NamedTuple):
    """One record of a JSON source.

    Args:
        number: Line of line formats, else item, from 1.
        value: The object, or why there is none.
        raw: What a refusal quotes: the text, or the value itself.
    """

    number: int
    value: dict[str, object] | JsonFault
    raw: object


def json_records(stream: BinaryIO, policy: IngestPolicy, wrapper: str = "", start: Point = START) -> Records:
    """Records of a source that is JSON lines or one JSON document.

    Lines are read in portions, and so are the items of an array, however many there are; what is held is
    one item. An object that is no wrapper is one record, and held whole.

    Args:
        stream: Bytes in any encoding that ``lines`` knows.
        policy: For the size of portions.
        wrapper: Key under which a document may keep its list of records; its other keys are passed over.
        start: Where the stream stands, if not at the start: the ``point`` of records of the same source.
    """
    return Records(stream, policy, wrapper, start)


class Records(Iterator[Record]):
    """What ``json_records`` gives.

    Attributes:
        is_lines: Whether a record is a line.
        blocks: Of all of it; who reads lines by themselves takes them, and no records.
        first: Where they begin; None: the source is not in UTF-8.
        point: Where a source can be read on from after the record last given out; None: nowhere (it is not
            in UTF-8, or ends there).
    """

    def __init__(self, stream: BinaryIO, policy: IngestPolicy, wrapper: str, start: Point) -> None:
        self._start, self._policy, self._wrapper = start, policy, wrapper
        self._source = source_blocks(stream, policy, start.offset)
        self.first = self._source.offset
        held, self._place = b"", start.place
        if start == START:
            held = _first_lines(self._source, max(policy.batch_bytes, _SURELY_A_LINE))
            self._place = "top" if _is_document(held) else "lines"
        self.is_lines = self._place == "lines"
        self.blocks: Iterator[bytes] = chain([held] if held else [], self._source)
        self._items: Items | None = None
        self._ends = start
        self._found = self._lines() if self.is_lines else self._of_items()

    def __next__(self) -> Record:
        """The next record."""
        return next(self._found)

    @property
    def bytes_read(self) -> int:
        """Bytes of text so far."""
        return self._source.bytes_read

    @property
    def point(self) -> Point | None:
        """See the class."""
        if self.first is None:
            return None
        return self._ends if self._items is None else self._items.point

    def _of_items(self) -> Iterator[Record]:
        begin = Point(self.first or 0, self._start.number, self._place)
        self._items = Items(self.blocks, self._wrapper, begin, self._policy.batch_bytes)
        for number, value, raw in self._items:
            yield _checked(number, value, raw)

    def _lines(self) -> Iterator[Record]:
        number, offset = self._start.number, self.first or 0
        for texts in split_lines(self.blocks):
            for text in texts:
                number += 1
                offset += len(text) + 1
                if text and not text.isspace():
                    self._ends = Point(offset, number)
                    yield _line(number, text)


def _first_lines(source: Blocks, limit: int) -> bytes:
    """Blocks up to the end of the second line that is not blank, all of a small source, or ``limit``."""
    held: list[bytes] = []
    size = 0
    for block in source:
        held.append(block)
        size += len(block)
        if size >= limit or (b"\n" in block and len(_lines(b"".join(held))) > 2):
            break
    return b"".join(held)


def _lines(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n", 64) if not line.isspace() and line]


def _is_document(first: bytes) -> bool:
    """Whether the first line is all there is, a list of records, or no record and the second begins none."""
    lines = _lines(first)
    if not lines or lines[0].lstrip()[:1] not in (b"{", b"["):
        return False
    if len(lines) == 1:
        return True
    try:
        value = load_json(lines[0])
    except JsonFault:
        return lines[0].lstrip().startswith(b"[") or not lines[1].startswith(b"{")
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _line(number: int, text: bytes) -> Record:
    try:
        return _checked(number, load_json(text), text)
    except JsonFault as fault:
        return Record(number, fault, text)


def _checked(number: int, value: object, raw: object) -> Record:
    if isinstance(value, dict | JsonFault):
        return Record(number, value, raw)
    fault = JsonFault("not_an_object", f"the JSON is {type_name(value)}, not an object")
    return Record(number, fault, raw)
