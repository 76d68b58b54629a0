"""Scopes too large to be held whole: all that their rows are filtered and scored by, but for the vectors.

A scattered read costs 40 microseconds a row and column, so of the candidates that the store's indexes name
only the vectors are read, and of those that are shown the payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import RECORD_COLUMN, Generation, TableEntry
from lake.online.views import Gone, matrix, reading, scored
from transforms.scope_columns import ScopeColumns, Vectors
from transforms.scope_copies import compact, owned

MOST_BYTES = 48 << 20
"""Held of one scope, some 200,000 rows of thirty words; of a larger one every column is read again."""
VECTOR = ("vector",)


@dataclass(frozen=True)
class Outline:
    """Rows of a scope in one table.

    Attributes:
        table: Its name.
        columns: Scoring columns in the store's order, with vectors of no dimensions.
        addresses: Row by row, the store's row id; ascending.
    """

    table: str
    columns: ScopeColumns
    addresses: NDArray[np.uint64]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.columns.nbytes + self.addresses.nbytes

    def read(self, generation: Generation, row_ids: NDArray[np.uint64]) -> ScopeColumns:
        """Scoring columns of some rows, in their order; only their vectors are read.

        Raises:
            Gone: The table is gone, or one of the rows is none of the scope's.
        """
        places = np.searchsorted(self.addresses, row_ids)
        known = self.addresses[np.minimum(places, len(self.addresses) - 1)] if len(self.addresses) else places
        if not np.array_equal(known, row_ids):
            raise Gone(f"a search of table {self.table} found a row that is not of the scope")
        taken = reading(generation.taken, self.table, row_ids, VECTOR)["vector"]
        vectors = matrix(taken, generation.manifest.dimensions)
        return compact(replace(self.columns.take(places), vectors=Vectors((vectors,))))


def outlines(generation: Generation, entries: Sequence[TableEntry], where: str) -> dict[str, Outline] | None:
    """Outlines of a scope by table, or None where they would be larger than ``MOST_BYTES``.

    Args:
        generation: Read once, from end to end of the scope.
        entries: Tables that rows of the scope can lie in.
        where: The scope as the store's predicate.

    Raises:
        Gone: The generation cannot be read.
    """
    columns = [name for name in reading(generation.scored_columns) if name not in VECTOR]
    if RECORD_COLUMN not in columns:  # of an older version, made from its payload
        return None
    found: dict[str, Outline] = {}
    left = MOST_BYTES
    for entry in entries:
        rows = reading(_scanned, generation, entry.name, where, columns, left)
        if rows is None:
            return None
        left -= rows.nbytes
        addresses: NDArray[np.uint64] = rows["_rowid"].to_numpy().copy()
        held = owned(scored(rows.drop_columns(["_rowid"]), 0))
        found[entry.name] = Outline(entry.name, held, addresses)
    return found


def _scanned(
    generation: Generation, table: str, where: str, columns: Sequence[str], most_bytes: int
) -> pa.Table | None:
    """All rows in the store's order; None where they take more bytes."""
    scan = generation.dataset(table).scanner(columns=list(columns), filter=where, with_row_id=True)
    batches = []
    for batch in scan.to_batches():
        most_bytes -= batch.nbytes
        if most_bytes < 0:
            return None
        batches.append(batch)
    return pa.Table.from_batches(batches, scan.projected_schema)
