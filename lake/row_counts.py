"""How many rows the data files of a table hold, as its log says: work is planned without reading any."""

from __future__ import annotations

from collections import Counter

import polars as pl

from lake.data_files import bucket_of
from lake.lake import Lake
from lake.opened import open_table
from transforms.schemas import Table


def row_counts(lake: Lake, table: Table) -> dict[str, int | None]:
    """Rows of each data file, by name below the table's root; None where the log does not say."""
    state = open_table(lake, table)
    if state is None:
        return {}
    actions = state.actions
    if not actions.height:
        return {}
    counts = pl.col("num_records") if "num_records" in actions.columns else pl.lit(None, pl.Int64)
    return dict(actions.select("path", counts).iter_rows())


def rows_by_bucket(lake: Lake, table: Table) -> dict[int, int]:
    """Rows of each tenant bucket of a table, as its log counts them; one without files is not named."""
    found: Counter[int] = Counter()
    for name, rows in row_counts(lake, table).items():
        found[bucket_of(name)] += rows or 0
    return dict(found)
