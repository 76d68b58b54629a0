"""Bytes of a lake of another size: every table with as many rows as its share of the memories says."""

from __future__ import annotations

import math

import polars as pl

from transforms.planning.basis import Basis
from transforms.planning.curves import scaled
from transforms.planning.sizes import COLUMNS_SCHEMA
from transforms.schemas import (
    COSTS,
    EPISODES,
    METRICS,
    RECALLS,
    REMOVALS,
    REQUESTS,
    RUNS,
    STORED,
    TOPICS,
    VECTORS,
)

GROWS_WITH_RUNS = (RUNS.name, REMOVALS.name, METRICS.name, COSTS.name, REQUESTS.name)
"""Ledgers: rows by run or request, whatever the memories are."""
VECTOR_COLUMNS = {VECTORS.name: "vector", TOPICS.name: "centroid"}
_PARTITIONS = {table.name: table.partition_by for table in STORED}


def lake_of_size(
    basis: Basis, memories: float, buckets: int, months: float, dimensions: float
) -> pl.DataFrame:
    """The tables of a lake that holds so many episodes, its files merged as upkeep merges them.

    Args:
        basis: What is measured; its lake has episodes.
        memories: Episodes held.
        buckets: Tenant buckets.
        months: Months that they are spread over.
        dimensions: Of the vectors, over those of the measured lake.

    Returns:
        ``sizes.COLUMNS_SCHEMA``; ledgers as they are, the recall log left out.
    """
    held = dict(
        basis.columns.group_by("table")
        .agg(pl.col("rows").first(), pl.col("files").first())
        .rows_by_key("table")
    )
    now = float(held[EPISODES.name][0][0])
    parts = [pl.DataFrame(schema=COLUMNS_SCHEMA)]
    for table, ((rows, files),) in sorted(held.items()):
        columns = basis.columns.filter(pl.col("table") == table)
        if table in GROWS_WITH_RUNS:
            parts.append(columns)
            continue
        if table == RECALLS.name or not rows:
            continue
        growth = basis["text_growth"] if table == VECTORS.name else 1.0
        wanted = rows * (memories / now) ** growth
        target = files_of(table, wanted, buckets, months, basis.policy.plan.file_rows)
        grown = scaled(
            columns,
            basis.files.filter(pl.col("table") == table),
            basis.curves,
            fuller=wanted / target / (rows / files),
            more=target / files,
        )
        is_vector = pl.col("column") == VECTOR_COLUMNS.get(table, "")
        longer = pl.when(is_vector).then(pl.lit(dimensions)).otherwise(1.0)
        parts.append(grown.with_columns(pl.col("bytes") * longer, pl.col("bytes_per_row") * longer))
    return pl.concat(parts)


def files_of(table: str, rows: float, buckets: int, months: float, most_rows: int) -> float:
    """Data files that so many rows lie in once they are merged: at least one a partition that has rows."""
    by = _PARTITIONS.get(table, ())
    partitions = (buckets if "tenant_bucket" in by else 1) * (math.ceil(months) + 1 if "month" in by else 1)
    return max(1.0, min(partitions, rows), rows / most_rows)
