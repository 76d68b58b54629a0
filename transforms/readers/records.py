"""JSON sources -> records: one a line, items of one array, or a single object."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.lines import line_batches, source_blocks
from transforms.readers.text import JsonFault, load_json, type_name


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


def json_records(stream: BinaryIO, policy: IngestPolicy, wrapper: str = "") -> Iterator[Record]:
    """Records of a source that is JSON lines or one JSON document.

    Lines are read in portions; a document is held whole.

    Args:
        stream: Bytes in any encoding that ``lines`` knows.
        policy: For the size of portions.
        wrapper: Key under which a document may keep its list of records.
    """
    source = source_blocks(stream, policy)
    first = _first_lines(source)
    if _is_document(first):
        yield from _items(b"".join([first, *source]), wrapper)
        return
    for lines in line_batches(chain([first] if first else [], source), policy):
        for number, text in zip(*lines, strict=True):
            yield _line(number, text)


def _first_lines(source: Iterator[bytes]) -> bytes:
    """Blocks up to the end of the second line that is not blank, or all of the source."""
    held: list[bytes] = []
    for block in source:
        held.append(block)
        if b"\n" in block and len(_lines(b"".join(held))) > 2:
            break
    return b"".join(held)


def _lines(text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n", 64) if not line.isspace() and line]


def _is_document(first: bytes) -> bool:
    """Whether the first line alone is no record, and the second does not begin one either."""
    lines = _lines(first)
    if not lines or lines[0].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        load_json(lines[0])
    except JsonFault:
        is_list = lines[0].lstrip().startswith(b"[")
        return len(lines) > 1 and (is_list or not lines[1].startswith(b"{"))
    return len(lines) == 1


def _items(text: bytes, wrapper: str) -> Iterator[Record]:
    try:
        value = load_json(text)
    except JsonFault as fault:
        yield Record(1, fault, text)
        return
    if isinstance(value, dict) and isinstance(value.get(wrapper), list):
        value = value[wrapper]
    items = value if isinstance(value, list) else [value]
    for number, item in enumerate(items, start=1):
        yield _checked(number, item, item)


def _line(number: int, text: bytes) -> Record:
    try:
        return _checked(number, load_json(text), text)
    except JsonFault as fault:
        return Record(number, fault, text)


def _checked(number: int, value: object, raw: object) -> Record:
    if isinstance(value, dict):
        return Record(number, value, raw)
    fault = JsonFault("not_an_object", f"the JSON is {type_name(value)}, not an object")
    return Record(number, fault, raw)
