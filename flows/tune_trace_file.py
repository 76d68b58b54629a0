"""Recalls and labels from files: checked column by column, and all that is wrong is told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from transforms import ids
from transforms.errors import InputError
from transforms.replay.calls import HEAD
from transforms.rights_tables import RECALLS
from transforms.schemas import INSTANT

EXTRA: Mapping[str, type[pl.DataType]] = {"gain": pl.Float64, "text": pl.String}
"""Columns that a file may have beside those of the table."""
_DERIVED = ("tenant_bucket", "month")
_BUCKETS = 16
_COUNTS = ("rank", "access_count", "tokens", "budget_tokens", "seconds")
_RATIOS = (
    "score", "relevance", "recency", "importance", "frequency", "type", "closeness", "memory_importance",
)  # fmt: skip
_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
    ".csv": lambda path: pl.read_csv(path, infer_schema_length=None),
}


def read_recalls(path: Path) -> pl.DataFrame:
    """Recalls of a Parquet file.

    Columns that may be null in the table may be missing; ``tenant_bucket`` and ``month`` are made.

    Args:
        path: The file.

    Returns:
        ``schemas.RECALLS``, with those of ``EXTRA`` that the file has.

    Raises:
        InputError: It is missing or no Parquet, or lacks columns, or holds wrong types or values: all that
            is wrong is named at once.
    """
    frame = _read(path, {".parquet": pl.read_parquet})
    rows, faults = _shaped(frame)
    if not faults:
        faults = _wrong_values(rows)
    if faults:
        raise InputError(
            f"{path.name} is not in the shape of the table recalls: {'; '.join(faults)}",
            "docs/tables.md lists its columns; columns that may be null may be missing.",
        )
    return rows


def read_labels(path: Path) -> pl.DataFrame:
    """A labelled set: Parquet, JSONL or CSV with call_id (or query), memory_id and gain; not checked yet.

    Raises:
        InputError: It is missing, or of no known form.
    """
    return _read(path, _READERS)


def _read(path: Path, readers: Mapping[str, Callable[[Path], pl.DataFrame]]) -> pl.DataFrame:
    read = readers.get(path.suffix.lower())
    if read is None:
        raise InputError(f"{path.name} is no {' or '.join(readers)} file", "Name the file with its ending.")
    if not path.is_file():
        raise InputError(f"no file {path}", "Name an existing file.")
    try:
        return read(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"{path.name} cannot be read as {path.suffix[1:]}", "Write it again, whole."
        ) from error


def _shaped(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The frame with the table's columns and types, and what stands against that."""
    given = set(frame.columns)
    lacking = [c.name for c in RECALLS.columns if not c.is_nullable and c.name not in {*given, *_DERIVED}]
    faults = [f"column {', '.join(lacking)} is missing"] if lacking else []
    wanted = {n: d for n, d in RECALLS.polars.items() if n not in _DERIVED} | dict(EXTRA)
    cast: list[pl.Series | pl.Expr] = []
    for name, dtype in wanted.items():
        if name not in given:
            if name not in EXTRA:
                cast.append(pl.lit(None, dtype).alias(name))
            continue
        column = _cast(frame[name], dtype)
        if column is None:
            faults.append(f"column {name} is {frame[name].dtype}, not {dtype}")
        else:
            cast.append(column)
    if faults:
        return frame, faults
    rows = frame.select(cast)
    made = rows.with_columns(
        tenant_bucket=ids.tenant_buckets(rows["tenant_id"].fill_null(""), _BUCKETS),
        month=pl.col("recalled_at").dt.strftime("%Y-%m"),
    )
    return made.select(*RECALLS.names, *(n for n in EXTRA if n in given)), []


def _cast(column: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> pl.Series | None:
    """The column in the table's type; None where it is of another nature, or an instant without a zone."""
    if column.dtype == dtype:
        return column
    if column.dtype == pl.Null:
        return column.cast(dtype)
    is_zoned = isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None
    is_text = isinstance(column.dtype, pl.Categorical | pl.Enum) or column.dtype == pl.String
    fits = (
        (dtype == INSTANT and is_zoned)
        or (dtype == pl.String and is_text)
        or (dtype != INSTANT and dtype not in (pl.String, pl.Boolean) and column.dtype.is_numeric())
    )
    if not fits:
        return None
    try:
        return column.cast(dtype)
    except pl.exceptions.PolarsError:
        return None


def _wrong_values(rows: pl.DataFrame) -> list[str]:
    """Values that no recall has."""
    faults = []
    required = [c.name for c in RECALLS.columns if not c.is_nullable]
    for name, count in zip(required, rows.select(required).null_count().row(0), strict=True):
        if count:
            faults.append(f"{count:,} nulls in {name}")
    for column in (c for c in RECALLS.columns if c.allowed):
        strange = rows.filter(~pl.col(column.name).is_in(list(column.allowed))).height
        if strange:
            faults.append(f"{strange:,} rows whose {column.name} is none of {', '.join(column.allowed)}")
    for name in (*_RATIOS, *(n for n in ("gain",) if n in rows.columns)):
        outside = rows.filter((~pl.col(name).is_between(0, 1)).fill_null(False)).height
        if outside:
            faults.append(f"{outside:,} rows whose {name} is not from 0 to 1")
    for name in _COUNTS:
        below = rows.filter((~(pl.col(name) >= 0) | pl.col(name).cast(pl.Float64).is_nan()).fill_null(False))
        if below.height:
            faults.append(f"{below.height:,} rows whose {name} is below 0")
    twice = rows.height - rows.select(RECALLS.key).n_unique()
    if twice:
        faults.append(f"{twice:,} rows repeat a call_id and memory_id")
    counted = rows.group_by("call_id").agg(pl.col(name).n_unique() for name in HEAD if name != "call_id")
    several = [name for name in HEAD if name != "call_id" and (counted[name] > 1).any()]
    if several:
        faults.append(f"calls with more than one {', '.join(several)}")
    return faults
