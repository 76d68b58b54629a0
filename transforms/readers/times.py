"""Times as sources write them -> ISO 8601 text. Naive text stays naive: the next stage decides."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

import polars as pl

from transforms.readers.text import JsonFault, type_name

# A number is seconds, milliseconds, microseconds or nanoseconds by its size. The first limit is
# the year 5138 in seconds and March 1973 in milliseconds; the others follow by factors of 1000.
_SECONDS_BELOW = 10**11
_MILLIS_BELOW = 10**14
_MICROS_BELOW = 10**17
_MIN_MICROS = -62_135_596_800_000_000  # year 1
_MAX_MICROS = 253_402_300_799_999_999  # year 9999
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NUMERIC_PATTERN = r"^(-?[0-9]{9,}(\.[0-9]+)?|-[0-9]+(\.[0-9]+)?)$"
"""A string that is an epoch number. Fewer digits could be a date (20240101) or a year."""

_NUMERIC = re.compile(NUMERIC_PATTERN[1:-1])
_CUT_OFFSET = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)[+-]")
"""A time whose offset is lost behind its sign: what is left names no zone."""


def iso_number(value: float) -> str | None:
    """An epoch number as ISO 8601 UTC with microseconds; null if no year 1 to 9999 fits."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    size = abs(value)
    scale, divide = (
        (1_000_000, 1)
        if size < _SECONDS_BELOW
        else (1_000, 1)
        if size < _MILLIS_BELOW
        else (1, 1)
        if size < _MICROS_BELOW
        else (1, 1_000)
    )
    if isinstance(value, int):
        micros = value * scale // divide
    else:
        micros = math.floor(value * float(scale) / float(divide) + 0.5)
    if not _MIN_MICROS <= micros <= _MAX_MICROS:
        return None
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")


def iso_time(value: object, field: str) -> str | None:
    """One time: a string as given, an epoch number (or its text) as ISO 8601 UTC, null as null.

    A string whose offset is cut off behind its sign is given without the sign, as a time of no zone.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    number: float
    if isinstance(value, str):
        if not _NUMERIC.fullmatch(value):
            cut = _CUT_OFFSET.fullmatch(value)
            return cut[1] if cut else value
        number = float(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not a time")
    else:
        number = value
    text = iso_number(number)
    if text is None:
        raise JsonFault("bad_time", f"{field} is no instant between the years 1 and 9999")
    return text


def iso_numbers(numbers: pl.Series) -> pl.Series:
    """``iso_number`` of each row (Int64 or Float64 in; null and NaN give null)."""
    name = numbers.name or "time"
    column = pl.col(name)
    if numbers.dtype.is_float():
        rounded = [(column * scale + 0.5).floor() for scale in (1e6, 1e3, 1.0)]
        nanos = (column / 1e3 + 0.5).floor()
    else:
        rounded = [column * scale for scale in (1_000_000, 1_000, 1)]
        nanos = column // 1_000
    micros = (
        pl.when(_within(column, _SECONDS_BELOW))
        .then(rounded[0])
        .when(_within(column, _MILLIS_BELOW))
        .then(rounded[1])
        .when(_within(column, _MICROS_BELOW))
        .then(rounded[2])
        .otherwise(nanos)
    )
    frame = pl.DataFrame([numbers.alias(name)])
    inside = micros.is_between(_MIN_MICROS, _MAX_MICROS)
    return frame.select(
        pl.when(inside)
        .then(micros)
        .cast(pl.Int64, strict=False)
        .cast(pl.Datetime("us", "UTC"))
        .dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
        .alias(name)
    ).to_series()


def _within(column: pl.Expr, limit: int) -> pl.Expr:
    return (column > -limit) & (column < limit)  # abs() of the least integer is negative


def iso_strings(texts: pl.Series) -> pl.Series:
    """``iso_time`` of each string; a number that is no instant gives null."""
    is_number = texts.str.contains(NUMERIC_PATTERN).fill_null(False)
    if not is_number.any():
        return texts
    numbers = texts.set(~is_number, None).cast(pl.Float64, strict=False)
    return iso_numbers(numbers).zip_with(is_number, texts)


def iso_datetimes(column: pl.Series) -> pl.Series:
    """Dates and datetimes as ISO 8601: with offset if zone-aware, naive if not."""
    if column.dtype == pl.Date:
        return column.dt.strftime("%Y-%m-%d")
    zone = "%:z" if getattr(column.dtype, "time_zone", None) else ""
    return column.cast(pl.Datetime("us", getattr(column.dtype, "time_zone", None))).dt.strftime(
        "%Y-%m-%dT%H:%M:%S%.6f" + zone
    )
