"""Finds in decoded columns, by row: every string and binary leaf, however deep it is nested.

Small columns are searched together: what a search costs besides its bytes is paid once for a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.readback.matcher import Matcher
from lake.readback.needles import CLASSES, IDENTIFIERS, Needles, is_searched_in_bytes

ID_COLUMNS = frozenset({"tenant_id", "user_id", "agent_id", "session_id", "owner"})
"""Here an identifier must be the whole value, or what follows ``user:`` or ``agent:``."""
_OWNERS = ("", "user:", "agent:")
_JOINED_BYTES = 1 << 20
"""Columns are searched together up to this size."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, order=True)
class Find:
    """A needle in a row: its place in what was given, its column, class and index of the needle."""

    row: int
    column: str
    needle: tuple[int, int]


class ColumnSearch:
    """Searches columns for needles.

    Args:
        matcher: Finds them in bytes.
    """

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        wholes = dict(_wholes(matcher.needles))
        self._whole_values = pa.array(list(wholes), pa.large_string())
        self._whole_needles = list(wholes.values())

    def batch(self, batch: pa.RecordBatch) -> tuple[list[Find], int]:
        """Finds in a batch by row and column, and the decoded bytes that were looked at."""
        named = list(zip(batch.schema.names, batch.columns, strict=True))
        shared = {name for name, column in named if pa.types.is_dictionary(column.type)}
        if len(dict(named)) < len(named):  # a name says nothing of which column
            shared = set()
        values = ((n, *leaf) for n, column in named if n in shared for leaf in leaves(column.dictionary))
        held, size = self.search(values)
        clean = shared - {find.column for find in held}  # of the others every row is looked at
        looked_at = ((n, *leaf) for n, column in named if n not in clean for leaf in leaves(column))
        found, more = self.search(looked_at)
        return found, size + more

    def search(self, columns: Iterable[tuple[str, pa.Array, Rows | None]]) -> tuple[list[Find], int]:
        """Finds in columns by row and column, and the bytes that were looked at.

        Args:
            columns: Name of each, its strings or bytes, and the row of each value; None: their own places.
        """
        found: set[Find] = set()
        waiting: list[_Column] = []
        size = joined = 0
        for name, leaf, rows in columns:
            size += leaf.nbytes
            found.update(self._whole(name, leaf, rows))
            column = _Column(name, rows, *_flat(leaf))
            if waiting and joined + len(column.data) > _JOINED_BYTES:
                found.update(self._inside(waiting))
                waiting, joined = [], 0
            waiting.append(column)
            joined += len(column.data)
        found.update(self._inside(waiting))
        return sorted(found, key=lambda find: (find.row, find.column, find.needle)), size

    def _inside(self, columns: list[_Column]) -> Iterator[Find]:
        """Needles inside values."""
        data = columns[0].data if len(columns) == 1 else b"".join(column.data for column in columns)
        if not data:
            return
        places = list(self._matcher.raw(data))
        if not places:
            return
        begins = np.cumsum([0, *(len(column.data) for column in columns)])
        starts = np.array([start for start, _, _ in places], np.int64)
        numbers = (np.searchsorted(begins, starts, "right") - 1).tolist()
        for (start, end, pattern), number in zip(places, numbers, strict=True):
            column, base = columns[number], int(begins[number])
            place = int(np.searchsorted(column.offsets, start - base, "right")) - 1
            first, last = base + int(column.offsets[place]), base + int(column.offsets[place + 1])
            if end > last:  # goes on into the next value
                continue
            value = data[first:last]
            if column.name in ID_COLUMNS and pattern.needle[0] == IDENTIFIERS:
                counts = value.removeprefix(b"user:").removeprefix(b"agent:") == pattern.data
                counts = counts or value == pattern.data
            else:
                counts = self._matcher.counts(value, start - first, end - first, pattern)
            if counts:
                yield Find(
                    place if column.rows is None else int(column.rows[place]), column.name, pattern.needle
                )

    def _whole(self, name: str, leaf: pa.Array, rows: Rows | None) -> Iterator[Find]:
        """Needles that are too short for ``raw``, where they are a whole value."""
        if not self._whole_needles or not _is_string(leaf.type):
            return
        found = pc.index_in(leaf, self._whole_values.cast(leaf.type))
        for place in np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False)).tolist():
            row = place if rows is None else int(rows[place])
            yield Find(row, name, self._whole_needles[found[place].as_py()])


@dataclass(frozen=True, slots=True)
class _Column:
    """Values in a row: where each begins, and one past the last, in their bytes."""

    name: str
    rows: Rows | None
    offsets: NDArray[Any]
    data: bytes


def _wholes(needles: Needles) -> Iterator[tuple[str, tuple[int, int]]]:
    for place, name in enumerate(CLASSES):
        for index, value in enumerate(needles.values[name]):
            if not is_searched_in_bytes(name, value):
                for prefix in _OWNERS if place == IDENTIFIERS else ("",):
                    yield prefix + value, (place, index)


@lru_cache(maxsize=1024)
def has_strings(kind: pa.DataType) -> bool:
    """Whether a type holds strings or bytes at any depth."""
    if isinstance(kind, pa.ExtensionType):
        return has_strings(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return has_strings(kind.value_type)
    if kind.num_fields:
        return any(has_strings(kind.field(place).type) for place in range(kind.num_fields))
    return _is_string(kind) or _is_binary(kind)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)


def leaves(array: Any, rows: Rows | None = None) -> Iterator[tuple[pa.Array, Rows | None]]:
    """String and binary arrays inside an array, each with the row that its values belong to."""
    kind = array.type
    if not has_strings(kind):
        return
    if isinstance(kind, pa.ExtensionType):
        yield from leaves(array.storage, rows)
    elif pa.types.is_dictionary(kind):
        yield from leaves(array.dictionary_decode(), rows)
    elif pa.types.is_struct(kind):
        for field in array.flatten():
            yield from leaves(field, rows)
    elif pa.types.is_map(kind):
        pairs = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        yield from leaves(array.cast(pa.list_(pairs)), rows)
    elif kind.num_fields:
        parents = pc.list_parent_indices(array).to_numpy().astype(np.int64)
        yield from leaves(pc.list_flatten(array), parents if rows is None else rows[parents])
    elif kind in _PLAIN:
        yield array, rows
    else:
        yield array.cast(pa.large_string() if _is_string(kind) else pa.large_binary()), rows


_PLAIN: dict[pa.DataType, Any] = {
    pa.string(): np.int32,
    pa.binary(): np.int32,
    pa.large_string(): np.int64,
    pa.large_binary(): np.int64,
}
"""Types whose values lie in a row, and how their places are written."""


def _flat(leaf: pa.Array) -> tuple[NDArray[Any], bytes]:
    """Where each value begins, and one past the last; and the values' bytes in a row."""
    _, places, values = leaf.buffers()
    if places is None or not len(leaf):
        return np.zeros(1, np.int64), b""
    offsets = np.frombuffer(places, _PLAIN[leaf.type])[leaf.offset : leaf.offset + len(leaf) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = values.slice(first, last - first).to_pybytes() if values is not None else b""
    return offsets - first if first else offsets, data
