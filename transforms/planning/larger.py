"""The same lake with more in it over the same time: what its tables and its index would take."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from transforms.planning.curves import Curve, scaled
from transforms.planning.lake_size import GROWS_WITH_RUNS
from transforms.schemas import VECTORS

INDEX = "index"
LARGER_SCHEMA = pl.Schema({"what": pl.String, "bytes": pl.Float64})


def larger(
    columns: pl.DataFrame,
    files: pl.DataFrame,
    curves: Mapping[tuple[str, str], Curve],
    index: pl.DataFrame,
    factor: float,
    text_growth: float,
) -> pl.DataFrame:
    """Bytes of each table and of the index when as many times as much happens in the same months.

    Folders and commits stay as many, so each file holds so many times the rows. Ledgers stay as they are.
    Columns and indexes of the index grow with its rows; its manifests do not.

    Args:
        columns: ``sizes.COLUMNS_SCHEMA``.
        files: ``sizes.FILES_SCHEMA``.
        curves: How bytes of a column grow with the rows of a file.
        index: ``index_sizes.PARTS_SCHEMA``.
        factor: Times the rows.
        text_growth: Power of it with which distinct texts, and so vectors, grow.

    Returns:
        ``LARGER_SCHEMA``, by name; the index is ``INDEX``.
    """
    is_ledger, is_vector = pl.col("table").is_in(GROWS_WITH_RUNS), pl.col("table") == VECTORS.name
    vectors = scaled(columns.filter(is_vector), files, curves, fuller=factor**text_growth)
    others = scaled(columns.filter(~is_ledger & ~is_vector), files, curves, fuller=factor)
    grown = pl.concat([columns.filter(is_ledger), vectors, others])
    tables = grown.group_by(what="table").agg(pl.col("bytes").sum())
    grows = pl.when(pl.col("part") == "other").then(1.0).otherwise(factor)
    whole = index.select(what=pl.lit(INDEX), bytes=(pl.col("bytes") * grows).sum()).head(1)
    return pl.concat([tables, whole]).cast(LARGER_SCHEMA).sort("what")
