"""How the bytes of a file grow with its rows: not in proportion, so a larger lake takes less a row.

A file of few rows pays for its footer, its dictionaries and the start of its compression; one of many has
those behind it. The curve of a column is measured, by encoding rows of several files as one, and followed
beyond the fullest one by its last slope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from transforms.planning.sizes import COLUMNS_SCHEMA, OVERHEAD

Numbers = npt.NDArray[np.float64]

PROBES_SCHEMA = pl.Schema({"table": pl.String, "rows": pl.Int64, "column": pl.String, "bytes": pl.Int64})
"""Bytes of one column in one file of so many rows, as encoded for this purpose."""
VECTOR_COLUMNS = ("vector", "centroid")
"""Columns of numbers that no dictionary holds."""


@dataclass(frozen=True)
class Curve:
    """Bytes of one column by rows of the file.

    Args:
        rows: Rows of the measured files, ascending, each once.
        bytes: Bytes in each; never falling.
    """

    rows: Numbers
    bytes: Numbers

    def at(self, rows: Numbers) -> Numbers:
        """Bytes of files of so many rows.

        Along straight lines between measured points, beyond them along the line through the last two,
        below them along that through the first two.
        """
        if len(self.rows) < 2:
            alone: Numbers = rows * float(self.bytes[0] / self.rows[0])
            return alone
        inside = np.interp(rows, self.rows, self.bytes)
        below = self._line(0, 1, rows)
        beyond = self._line(-2, -1, rows)
        found: Numbers = np.where(rows > self.rows[-1], beyond, np.where(rows < self.rows[0], below, inside))
        above: Numbers = np.maximum(found, 0.0)
        return above

    def _line(self, one: int, two: int, rows: Numbers) -> Numbers:
        slope = (self.bytes[two] - self.bytes[one]) / (self.rows[two] - self.rows[one])
        made: Numbers = self.bytes[one] + slope * (rows - self.rows[one])
        return made


def curves(probes: pl.DataFrame) -> dict[tuple[str, str], Curve]:
    """The curve of each table's column. Files of about as many rows are averaged.

    A vector takes no more bytes in a fuller file. Where the probes say so, their small files held other rows
    than their large ones, such as facts that many tenants have; then the large ones are believed. Of other
    columns it may be so: places in a dictionary take more bits when that is larger.

    Args:
        probes: ``PROBES_SCHEMA``.
    """
    about = probes.with_columns(size=(pl.col("rows").log(2)).round().cast(pl.Int64))
    points = (
        about.group_by("table", "column", "size")
        .agg(rows=pl.col("rows").mean(), bytes=pl.col("bytes").mean())
        .sort("table", "column", "rows")
    )
    made = {}
    for (table, column), held in points.group_by("table", "column", maintain_order=True):
        rows, rising = held["rows"].to_numpy(), np.maximum.accumulate(held["bytes"].to_numpy())
        if column in VECTOR_COLUMNS:
            each = np.maximum.accumulate((rising / rows)[::-1])[::-1]
            rising = each * rows
        made[str(table), str(column)] = Curve(rows, rising)
    return made


def scaled(
    columns: pl.DataFrame,
    files: pl.DataFrame,
    found: Mapping[tuple[str, str], Curve],
    *,
    fuller: float = 1.0,
    more: float = 1.0,
) -> pl.DataFrame:
    """The same tables with fuller files, or more of them.

    Args:
        columns: ``sizes.COLUMNS_SCHEMA``, as measured.
        files: ``sizes.FILES_SCHEMA``, all files.
        found: Curves; a column without one grows with its rows, the overhead with its files.
        fuller: Times the rows of each file: more agents, more writes.
        more: Times the files: more months.

    Returns:
        ``sizes.COLUMNS_SCHEMA``.
    """
    held = {
        str(table): rows["rows"].to_numpy().astype(np.float64)
        for (table,), rows in files.group_by("table", maintain_order=True)
    }
    factors = [
        _factor(found.get((table, column)), column, held.get(table), fuller)
        for table, column in columns.select("table", "column").iter_rows()
    ]
    grown = columns.with_columns(
        pl.col("bytes") * pl.Series(factors, dtype=pl.Float64) * more,
        rows=(pl.col("rows") * fuller * more).round().cast(pl.Int64),
        files=(pl.col("files") * more).round().cast(pl.Int64),
    )
    return grown.with_columns(bytes_per_row=pl.col("bytes") / pl.col("rows")).cast(COLUMNS_SCHEMA)


def _factor(curve: Curve | None, column: str, rows: Numbers | None, fuller: float) -> float:
    """By how much the bytes of a column grow when each file has so many times its rows."""
    if column == OVERHEAD:
        return 1.0
    if curve is None or rows is None:
        return fuller
    now = float(curve.at(rows).sum())
    return float(curve.at(rows * fuller).sum()) / now if now > 0 else fuller
