"""Typed frames in the row shape (Parquet, CSV) -> batches, by column."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from polars import selectors as cs

from transforms.readers.batch import ID_COLUMNS, Batch
from transforms.readers.row_shape import (
    ALIASES,
    COLUMNS,
    INTEGER_COLUMNS,
    KNOWN_FIELDS,
    TEXT_COLUMNS,
    TIME_COLUMNS,
    merge_metadata,
)
from transforms.readers.rows import drafts_frame, finish, rows_batch
from transforms.readers.text import JsonFault, dump_json
from transforms.readers.times import iso_datetimes, iso_numbers, iso_strings
from transforms.schemas import DRAFTS

_TIME_FIELDS = {field for c in TIME_COLUMNS for field in ALIASES.get(c, (c,))}
_ID_FIELDS = {field for c in ID_COLUMNS for field in ALIASES.get(c, (c,))}


def frame_batch(frame: pl.DataFrame, numbers: Sequence[int], file_name: str) -> Batch:
    """The batch of one portion of typed rows; unknown columns go to metadata.

    Args:
        frame: Any columns of any types; those of the row shape by name or alias.
        numbers: Item or line number of each row.
        file_name: For ``source_file``.
    """
    plain = plain_frame(frame)
    columns = _columns(plain)

    def raw(index: int) -> str:
        return dump_json(frame.row(index, named=True))

    if columns is None:
        return rows_batch(plain.to_dicts(), numbers, raw, file_name)
    if not columns:
        columns = {"content": pl.Series("content", [None] * frame.height, dtype=pl.String)}
    return finish(drafts_frame(columns, numbers, file_name), raw, ())


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with types as JSON would have them: text, numbers, booleans, lists, objects.

    Categories and UTF-8 bytes become text, times ISO 8601, NaN null, whole floats in id columns
    integers (a nullable integer column of pandas is written as floats).
    """
    frame = frame.with_columns(cs.float().fill_nan(None), (cs.categorical() | cs.enum()).cast(pl.String))
    replaced = []
    for series in frame:
        if series.dtype == pl.Binary:
            replaced.append(_text_of_bytes(series))
        elif series.dtype == pl.Date or isinstance(series.dtype, pl.Datetime):
            replaced.append(iso_datetimes(series))
        elif isinstance(series.dtype, pl.Decimal):
            is_id = series.name in _ID_FIELDS
            replaced.append(series.cast(pl.String if is_id else pl.Float64))
        elif series.name in _ID_FIELDS and series.dtype.is_float():
            whole = series.cast(pl.Int64, strict=False)
            if (whole.cast(pl.Float64) == series).all() and series.abs().fill_null(0.0).lt(2.0**53).all():
                replaced.append(whole)
    return frame.with_columns(replaced)


def _text_of_bytes(series: pl.Series) -> pl.Series:
    texts = [None if b is None else b.decode("utf-8", "replace") for b in series]
    return pl.Series(series.name, texts, dtype=pl.String)


def _columns(frame: pl.DataFrame) -> dict[str, pl.Series] | None:
    """Columns of drafts by name, or null if some type needs every row judged alone."""
    source = {c: c for c in COLUMNS if c in frame.columns}
    for column, names in ALIASES.items():
        given = [n for n in names if n in frame.columns]
        if len(given) > 1:
            return None
        if given:
            source[column] = given[0]
    built = {}
    for column, field in source.items():
        if column != "metadata":
            series = _column(column, frame[field])
            if series is None:
                return None
            built[column] = series
    rest = [n for n in frame.columns if n not in KNOWN_FIELDS]
    if rest or "metadata" in source:
        try:
            built["metadata"] = _metadata(frame, rest)
        except JsonFault:
            return None
    return built


def _metadata(frame: pl.DataFrame, rest: list[str]) -> pl.Series:
    given = frame["metadata"].to_list() if "metadata" in frame.columns else [None] * frame.height
    fields = frame.select(rest).to_dicts() if rest else [{} for _ in given]
    texts = [merge_metadata(value, row) for value, row in zip(given, fields, strict=True)]
    return pl.Series("metadata", texts, dtype=pl.String)


def _column(column: str, series: pl.Series) -> pl.Series | None:  # noqa: PLR0911 - one return a kind of column
    kind = series.dtype
    target = DRAFTS.polars[column]
    if kind == pl.Null:
        return series.cast(target)
    if column in TIME_COLUMNS:
        return _times(series)
    is_text = kind == pl.String
    if column in ID_COLUMNS:
        return series.cast(pl.String) if is_text or kind.is_integer() else None
    if column in TEXT_COLUMNS or column == "tool_arguments":
        return series if is_text else None
    if column in INTEGER_COLUMNS and kind.is_integer():
        cast = series.cast(target, strict=False)
        return cast if cast.null_count() == series.null_count() else None
    if column == "importance" and kind.is_numeric():
        cast = series.cast(target)
        return cast if cast.abs().fill_null(0.0).lt(1e300).all() else None
    is_same = kind == target and not (
        column == "tags" and series.list.eval(pl.element().is_null()).explode().any()
    )
    return series if column in ("is_injected", "tags") and is_same else None


def _times(series: pl.Series) -> pl.Series | None:
    if series.dtype == pl.String:
        times = iso_strings(series)
    elif series.dtype.is_integer():
        wide = series.cast(pl.Int64, strict=False)
        times = iso_numbers(wide)
    elif series.dtype.is_float():
        times = iso_numbers(series.cast(pl.Float64))
    else:
        return None
    return times if times.null_count() == series.null_count() else None
