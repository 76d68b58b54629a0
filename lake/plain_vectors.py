"""Vectors of a data file by row, from its bytes as they lie: no other row is decoded.

Lists of floats are stored uncompressed (``lake.parts``). Where all have one length, the place of a vector is
known once the headers of the pages are read, a thousand rows each; to decode all lists of a file takes a
microsecond a row and more. A file of another shape is left to the caller.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

_ENCODINGS = {"PLAIN", "RLE"}
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 0, 1, 2, 3, 7, 8, 12
"""Types of fields as Thrift's compact protocol numbers them; 4 to 6 are whole numbers."""
_BODY, _HEADER, _COUNT, _ENCODING = 3, 5, 1, 2
"""Fields of a page header: bytes behind it, header of a data page; and of that one: values, encoding."""
Fields = dict[int, "int | Fields"]


@dataclass(frozen=True)
class _Page:
    """Values of a page: number of the first one in its group, how many, and where their bytes begin."""

    first: int
    count: int
    at: int


def vectors_at(path: str, rows: NDArray[np.int64], column: str = "vector") -> NDArray[np.float32] | None:
    """Vectors of rows of a local Parquet file.

    Args:
        path: Of the file; it has a column ``dimensions`` with the length of each vector.
        rows: Their numbers, ascending.
        column: Of lists of float32.

    Returns:
        float32 (rows, dimensions); None where the file does not store them as they are, all of one length.
    """
    meta = pq.read_metadata(path)
    found: list[NDArray[np.float32]] = []
    begin = 0
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        for number in range(meta.num_row_groups):
            group = meta.row_group(number)
            low, high = np.searchsorted(rows, [begin, begin + group.num_rows])
            if high > low:
                try:
                    taken = _of_group(held, group, rows[low:high] - begin, column)
                except (IndexError, ValueError):  # no page where one should be: not as we write it
                    return None
                if taken is None:
                    return None
                found.append(taken)
            begin += group.num_rows
    if len({one.shape[1] for one in found}) != 1:
        return None
    return found[0] if len(found) == 1 else np.concatenate(found)


def _of_group(
    held: mmap.mmap, group: pq.RowGroupMetaData, rows: NDArray[np.int64], column: str
) -> NDArray[np.float32] | None:
    columns = [group.column(place) for place in range(group.num_columns)]
    by_name = {one.path_in_schema: one for one in columns}
    told, chunk = by_name.get("dimensions"), by_name.get(f"{column}.list.element")
    stats = told.statistics if told is not None else None
    if chunk is None or stats is None or not stats.has_min_max or stats.min != stats.max:
        return None
    width = int(stats.max)
    is_plain = chunk.compression == "UNCOMPRESSED" and set(chunk.encodings) <= _ENCODINGS
    if not is_plain or width < 1 or chunk.num_values != group.num_rows * width:
        return None
    pages = list(_pages(held, chunk.data_page_offset, chunk.num_values))
    return _gathered(held, pages, rows * width, width)


def _gathered(
    held: mmap.mmap, pages: list[_Page], firsts: NDArray[np.int64], width: int
) -> NDArray[np.float32]:
    """So many values from each of some numbers on, which may go on in the next pages."""
    out = np.empty((len(firsts), width), np.dtype("<f4"))
    # Each as so many bytes: floats that lie at an odd place are copied at a tenth of the speed.
    vector = np.dtype((np.void, 4 * width))
    taken = out.view(vector)[:, 0]
    for page in pages:
        # Vectors with any value in the page: they begin before its end, and end behind its begin.
        low = int(np.searchsorted(firsts, page.first - width, side="right"))
        high = int(np.searchsorted(firsts, page.first + page.count))
        if low == high:
            continue
        values = np.frombuffer(held, "<f4", page.count, page.at)
        skipped = -page.first % width  # of a vector that the page before begins
        whole = np.frombuffer(held, vector, max(page.count - skipped, 0) // width, page.at + 4 * skipped)
        places = (firsts[low:high] - page.first - skipped) // width
        is_whole = (places >= 0) & (places < len(whole))
        taken[low:high][is_whole] = whole[places[is_whole]]
        for row in low + np.flatnonzero(~is_whole):
            begin = firsts[row] - page.first
            here = slice(max(begin, 0), min(begin + width, page.count))
            out[row, here.start - begin : here.stop - begin] = values[here]
        del values, whole  # a map with views of it cannot be closed
    return out


def _pages(held: mmap.mmap, at: int, values: int) -> Iterator[_Page]:
    """Data pages of a column.

    Raises:
        IndexError: The file ends.
        ValueError: A page is not one of plain floats, one for each value.
    """
    first = 0
    while first < values:
        fields, at = _struct(held, at)
        size, header = fields.get(_BODY), fields.get(_HEADER)
        if not isinstance(header, dict) or not isinstance(size, int) or header.get(_ENCODING) != 0:
            raise ValueError("no data page of plain values")
        count, body = header.get(_COUNT), at
        for _ in range(2):  # repetition and definition levels, each with its length ahead
            body += 4 + int.from_bytes(held[body : body + 4], "little")
        if not isinstance(count, int) or count < 1 or at + size - body != 4 * count:
            raise ValueError("not every value of a page is there")
        yield _Page(first, count, body)
        first += count
        at += size


def _struct(held: mmap.mmap, at: int) -> tuple[Fields, int]:
    """Numbers and structs in a Thrift struct, by field; and where it ends."""
    fields: Fields = {}
    number = 0
    while (head := held[at]) != _STOP:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _whole(held, at)
        value, at = _value(held, at, head & 15)
        if value is not None:
            fields[number] = value
    return fields, at + 1


def _value(held: mmap.mmap, at: int, kind: int) -> tuple[int | Fields | None, int]:
    """A value where it is a number or a struct; and where it ends."""
    if kind in (_TRUE, _FALSE):
        return kind, at
    if kind == _STRUCT:
        return _struct(held, at)
    if kind in (_BYTE, _DOUBLE):
        return None, at + (1 if kind == _BYTE else 8)
    if kind == _BINARY:
        length, at = _unsigned(held, at)
        return None, at + length
    if kind < _DOUBLE:
        return _whole(held, at)
    raise ValueError("a field that no page header has")


def _whole(held: mmap.mmap, at: int) -> tuple[int, int]:
    raw, at = _unsigned(held, at)
    return raw >> 1 ^ -(raw & 1), at


def _unsigned(held: mmap.mmap, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = held[at]
        at += 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return found, at
