"""How many rows the data files of a table hold, as its log says: work is planned without reading any."""

from __future__ import annotations

import polars as pl

from lake.lake import Lake
from lake.opened import open_table
from transforms.schemas import Table


def row_counts(lake: Lake, table: Table) -> dict[str, int | None]:
    """Rows of each data file, by name below the table's root; None where the log does not say."""
    state = open_table(lake, table)
    if state is None:
        return {}
    actions = pl.DataFrame(state.get_add_actions(flatten=True))
    if not actions.height:
        return {}
    counts = pl.col("num_records") if "num_records" in actions.columns else pl.lit(None, pl.Int64)
    return dict(actions.select("path", counts).iter_rows())
