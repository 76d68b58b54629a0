"""Which rows of a generation go when it is updated, and which of its files are written anew with new rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.faults import storage_fault
from lake.index import MAIN, Manifest
from lake.index_blocks import matrix_of
from lake.lake import Lake

MERGED_ROWS, MERGED_SHARE = 50_000, 20
"""Appended rows that are written anew with the next ones: as many, or one in 20 of the table."""
_SCAN_ROWS, _COPY_ROWS = 65_536, 8_192
Places = dict[int, NDArray[np.int64]]
"""By fragment, places of rows in it, ascending."""


@dataclass(frozen=True)
class Young:
    """Fragments that earlier updates appended, while they are small: they become one with the new rows.

    A person's rows lie in one fragment where it was built whole; each fragment that is appended is a file
    more to open for a search of a scope that is not held yet.

    Attributes:
        fragments: Of the main table.
        going: Places in them of rows that go.
    """

    fragments: list[Any] = field(default_factory=list)
    going: Mapping[int, NDArray[np.int64]] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their ids."""
        return tuple(fragment.fragment_id for fragment in self.fragments)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Their rows without those that go."""
        for fragment in self.fragments:
            gone = self.going.get(fragment.fragment_id, np.zeros(0, np.int64)).astype(np.uint64)
            for batch in fragment.scanner(with_row_id=True, batch_size=_COPY_ROWS).to_batches():
                places = batch["_rowid"].to_numpy(zero_copy_only=False) & np.uint64(0xFFFFFFFF)
                left = batch.filter(pa.array(~np.isin(places, gone)))
                if left.num_rows:
                    yield left.drop_columns(["_rowid"])


@dataclass
class Going:
    """What the rows of a generation tell as they are looked through.

    Attributes:
        tables: Places of the rows that go, by table.
        young: What of the main table is written anew.
        bare: How many of the rows that go have no vector.
        next_expiry_at: When the first of those that stay expires.
    """

    tables: dict[str, Places] = field(default_factory=dict)
    young: Young = field(default_factory=Young)
    bare: int = 0
    next_expiry_at: datetime | None = None

    @property
    def rows(self) -> int:
        """How many rows go."""
        return sum(len(places) for table in self.tables.values() for places in table.values())


def looked_through(lake: Lake, source: Manifest, ids: pa.Array, as_of: datetime) -> Going:
    """Look through ids and expiries of a generation.

    Args:
        lake: Whose.
        source: The generation.
        ids: ``memory_id`` of rows that go.
        as_of: Rows that have expired by then go too.

    Raises:
        StorageError: It cannot be read.
    """
    import lance

    found = Going()
    for entry in source.tables:
        uri = f"{lake.index_uri(source.generation)}/{entry.name}.lance"
        try:
            old = lance.dataset(uri)
            found.tables[entry.name] = _going(old, ids, as_of, found)
        except (OSError, ValueError, RuntimeError) as error:
            raise storage_fault(error, f"reading the index at {uri}") from error
        if entry.name == MAIN and entry.fragments is not None:
            later = [one for one in old.get_fragments() if one.fragment_id >= entry.fragments]
            small = _small(later, max(MERGED_ROWS, entry.rows // MERGED_SHARE))
            found.young = Young(small, found.tables[MAIN])
    return found


def _small(fragments: list[Any], room: int) -> list[Any]:
    """The last fragments, as many as have room together."""
    found: list[Any] = []
    for fragment in reversed(fragments):
        room -= fragment.count_rows()
        if room < 0:
            break
        found.insert(0, fragment)
    return found


def _going(old: Any, ids: pa.Array, as_of: datetime, noted: Going) -> dict[int, NDArray[np.int64]]:
    """Places of the rows that go, by fragment; notes what expires first of those that stay."""
    found: dict[int, NDArray[np.int64]] = {}
    now = pa.scalar(as_of, old.schema.field("expires_at").type)
    for fragment in old.get_fragments():
        places = []
        scan = fragment.scanner(columns=["memory_id", "expires_at"], with_row_id=True, batch_size=_SCAN_ROWS)
        for batch in scan.to_batches():
            expired = pc.fill_null(pc.less_equal(batch["expires_at"], now), fill_value=False)
            goes = pc.or_(pc.is_in(batch["memory_id"], ids), expired)
            soonest = pc.min(batch["expires_at"].filter(pc.invert(goes))).as_py()
            if soonest is not None and (noted.next_expiry_at is None or soonest < noted.next_expiry_at):
                noted.next_expiry_at = soonest
            mine = batch["_rowid"].filter(goes).to_numpy(zero_copy_only=False)
            places.append((mine & np.uint64(0xFFFFFFFF)).astype(np.int64))
        gone = np.concatenate([np.zeros(0, np.int64), *places])
        if len(gone):
            found[fragment.fragment_id] = gone
            noted.bare += _bare(fragment, gone)
    return found


def _bare(fragment: Any, places: NDArray[np.int64]) -> int:
    """How many of some rows of a fragment have no vector."""
    left = fragment.scanner(columns=[], with_row_id=True).to_table()["_rowid"].to_numpy()
    offsets = np.searchsorted(left & np.uint64(0xFFFFFFFF), places.astype(np.uint64))
    bare = 0
    for begin in range(0, len(offsets), _SCAN_ROWS):
        taken = fragment.take(offsets[begin : begin + _SCAN_ROWS].tolist(), columns=["vector"])
        bare += int((~matrix_of(taken["vector"].combine_chunks()).any(axis=1)).sum())
    return bare
