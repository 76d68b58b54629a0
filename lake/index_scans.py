"""Checks of a generation that read a column of every row, batch by batch, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from lake.index import Generation, scope_hash
from lake.index_blocks import block_ranges, matrix_of, read_range
from transforms.policy import PublishPolicy

BATCH_ROWS = 16_384
_AHEAD_BYTES = 64 << 20
"""Read ahead of a scan; the library's own default is 2 GiB."""
DISTINCT_AT_ONCE = 4_000_000
"""Ids that are told apart in one pass, 8 bytes each; more rows take more passes over their column."""
SAMPLED_VECTORS, SAMPLED_RANGES = 64_000, 64
"""Looked at of the rows that lie in linked files, in so many ranges: a file that is damaged as a whole, of up
to ``index_fragments.ROWS_PER_FILE`` rows, cannot lie between them below 60 million rows."""


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it held, the figures behind that, and what mends it where known."""

    name: str
    passed: bool
    detail: str
    remedy: str = ""


def check_rows(generation: Generation, expected: int) -> Check:
    """As many rows as the lake holds, each id once. Ids are told apart by 64 bits of a hash."""
    held = generation.manifest.rows
    passes = max(-(-held // DISTINCT_AT_ONCE), 1)
    counted = distinct = 0
    for number in range(passes):
        parts = [pl.Series([], dtype=pl.UInt64)]
        for batch in _batches(generation, ["memory_id"], None):
            hashes = _series(batch["memory_id"]).hash(0)
            counted += len(hashes) if number == 0 else 0
            parts.append(hashes if passes == 1 else hashes.filter(hashes % passes == number))
        distinct += pl.concat(parts).n_unique()
    passed = counted == expected == distinct
    return Check("row_counts", passed, f"{counted} rows, {distinct} distinct, {expected} live in the lake")


def check_placement(generation: Generation, fresh: Mapping[str, int] | None) -> Check:
    """Every row lies in the table its scope is searched in: its own where it has one, else main."""
    own = {entry.scope for entry in generation.manifest.tables if entry.scope}
    misplaced = 0
    for entry in generation.manifest.tables if own else ():  # without, there is only main
        counts: dict[tuple[str, str | None], int] = {}
        for batch in _of_table(generation, entry.name, ["tenant_id", "user_id"], fresh):
            held = pl.DataFrame(pa.Table.from_batches([batch]))
            for tenant, user, rows in held.group_by("tenant_id", "user_id").len().iter_rows():
                counts[tenant, user] = counts.get((tenant, user), 0) + rows
        for (tenant, user), rows in counts.items():
            name = scope_hash(tenant, user)
            misplaced += 0 if entry.scope == (name if name in own else None) else rows
    return Check("placement", misplaced == 0, f"{misplaced} rows outside their scope's table")


def check_vectors(
    generation: Generation, policy: PublishPolicy, fresh: Mapping[str, int] | None
) -> list[Check]:
    """Every vector is finite, and of length 1 or empty; and few rows have an empty one."""
    bad = bare = 0
    for batch in _batches(generation, ["vector"], fresh):
        wrong, empty = _lengths(batch["vector"])
        bad, bare = bad + wrong, bare + empty
    rows = generation.manifest.rows
    if fresh is not None:
        bad += sum(_lengths(taken)[0] for taken in _linked_sample(generation, fresh))
        bare = generation.manifest.bare_rows or 0
    return [
        Check("vectors", bad == 0, f"{bad} vectors not of unit length"),
        Check(
            "coverage",
            is_covered(rows, bare, policy),
            f"{bare} of {rows} rows have no vector",
            "Run slowwave embed first.",
        ),
    ]


def bare_rows(generation: Generation) -> int:
    """Rows without a vector."""
    return sum(_lengths(batch["vector"])[1] for batch in _batches(generation, ["vector"], None))


def bare_ids(generation: Generation) -> list[str]:
    """``memory_id`` of the rows without a vector."""
    found: list[str] = []
    for batch in _batches(generation, ["memory_id", "vector"], None):
        is_bare = ~matrix_of(batch["vector"]).any(axis=1)
        if is_bare.any():
            found += batch["memory_id"].filter(pa.array(is_bare)).to_pylist()
    return found


def is_covered(rows: int, bare: int, policy: PublishPolicy) -> bool:
    """Whether so few rows have no vector that the model refused them, not that they were never embedded.

    Args:
        rows: All rows.
        bare: Those without a vector.
        policy: The least ratio, and how many bare rows are let pass whatever the ratio.
    """
    if policy.min_vector_ratio > 0 and bare == rows > 0:
        return False
    return bare <= policy.bare_rows_allowed or rows - bare >= policy.min_vector_ratio * rows


def _lengths(vectors: Any) -> tuple[int, int]:
    """How many vectors are not of unit length, and how many are empty."""
    matrix = matrix_of(vectors).astype(np.float32)
    squares = np.einsum("rd,rd->r", matrix, matrix)
    is_empty = squares == 0
    is_unit = np.abs(np.sqrt(squares) - 1) <= _UNIT  # false for NaN
    return int((~(is_unit | is_empty)).sum()), int(is_empty.sum())


_UNIT = 5e-3
"""So far from 1 the length of a vector of half floats may be."""


def _linked_sample(generation: Generation, fresh: Mapping[str, int]) -> Iterator[Any]:
    """Vectors of rows in linked files, in ranges that are evenly spread over each table."""
    whole = max(generation.manifest.rows, 1)
    for entry in generation.manifest.tables:
        linked = entry.rows - fresh.get(entry.name, 0)
        count = min(linked, -(-SAMPLED_VECTORS * entry.rows // whole))
        if count > 0:
            table = generation.dataset(entry.name)
            for rows in block_ranges(linked, SAMPLED_RANGES, -(-count // SAMPLED_RANGES)):
                yield read_range(table, rows, "vector")


def _batches(
    generation: Generation, columns: list[str], fresh: Mapping[str, int] | None
) -> Iterator[pa.RecordBatch]:
    for entry in generation.manifest.tables:
        yield from _of_table(generation, entry.name, columns, fresh)


def _of_table(
    generation: Generation, name: str, columns: list[str], fresh: Mapping[str, int] | None
) -> Iterator[pa.RecordBatch]:
    """Columns of a table's rows, or of the fragments that hold its last ones."""
    table = generation.dataset(name)
    fragments = table.get_fragments()
    if fresh is not None:
        rows, last = fresh.get(name, 0), []
        while rows > 0 and fragments:
            last.append(fragments.pop())
            rows -= last[-1].count_rows()
        fragments = last
    if fragments:
        scan = table.scanner(
            columns=columns,
            fragments=fragments,
            batch_size=BATCH_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
            io_buffer_size=_AHEAD_BYTES,
        )
        yield from scan.to_batches()


def _series(column: Any) -> pl.Series:
    found = pl.from_arrow(column)
    return found if isinstance(found, pl.Series) else found.to_series()
