"""Finds in decoded columns, by row: every string and binary leaf, however deep it is nested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
        found: set[Find] = set()
        size = 0
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for leaf, rows in leaves(column):
                size += leaf.nbytes
                found.update(self.leaf(name, leaf, rows))
        return sorted(found), size

    def leaf(self, name: str, leaf: pa.Array, rows: Rows | None) -> Iterator[Find]:
        """Finds in an array of strings.

        Args:
            name: Of its column.
            leaf: The strings or bytes.
            rows: Row of each; None: their own places.
        """
        is_id = name in ID_COLUMNS
        offsets, data = _flat(leaf)
        places = list(self._matcher.raw(data))
        starts = np.array([start for start, _, _ in places], np.int64)
        within = (np.searchsorted(offsets, starts, "right") - 1).tolist()
        for (start, end, pattern), place in zip(places, within, strict=True):
            first, last = int(offsets[place]), int(offsets[place + 1])
            if end > last:  # goes on into the next value
                continue
            value = data[first:last]
            if is_id and pattern.needle[0] == IDENTIFIERS:
                counts = value.removeprefix(b"user:").removeprefix(b"agent:") == pattern.data
                counts = counts or value == pattern.data
            else:
                counts = self._matcher.counts(value, start - first, end - first, pattern)
            if counts:
                yield Find(place if rows is None else int(rows[place]), name, pattern.needle)
        yield from self._whole(name, leaf, rows)

    def _whole(self, name: str, leaf: pa.Array, rows: Rows | None) -> Iterator[Find]:
        """Needles that are too short for ``raw``, where they are a whole value."""
        if not self._whole_needles or not pa.types.is_large_string(leaf.type):
            return
        found = pc.index_in(leaf, self._whole_values)
        for place in np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False)).tolist():
            row = place if rows is None else int(rows[place])
            yield Find(row, name, self._whole_needles[found[place].as_py()])


def _wholes(needles: Needles) -> Iterator[tuple[str, tuple[int, int]]]:
    for place, name in enumerate(CLASSES):
        for index, value in enumerate(needles.values[name]):
            if not is_searched_in_bytes(name, value):
                for prefix in _OWNERS if place == IDENTIFIERS else ("",):
                    yield prefix + value, (place, index)


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
    else:
        yield array.cast(pa.large_string() if _is_string(kind) else pa.large_binary()), rows


def _flat(leaf: pa.Array) -> tuple[NDArray[np.int64], bytes]:
    """Where each value begins, and one past the last; and the values' bytes in a row."""
    _, places, values = leaf.buffers()
    if places is None or not len(leaf):
        return np.zeros(1, np.int64), b""
    offsets = np.frombuffer(places, np.int64)[leaf.offset : leaf.offset + len(leaf) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = values.slice(first, last - first).to_pybytes() if values is not None else b""
    return offsets - first, data
