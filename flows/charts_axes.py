"""What plots share: their rows in plain values, and axes of numbers, logarithms and time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from flows.charts import NUMBER

if TYPE_CHECKING:
    import altair as alt

_DAY = 86_400_000
_FREE: dict[str, Any] = {"labelOverlap": "greedy", "labelSeparation": 6, "labelFlush": False}


def plain(rows: pl.DataFrame, columns: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Rows under the chart's own names, instants as milliseconds of the epoch, what is no number as null."""
    named = {name: column for name, column in columns.items() if column is not None}
    held = rows.select(pl.col(column).alias(name) for name, column in named.items())
    return [{k: _value(v) for k, v in row.items()} for row in held.iter_rows(named=True)]


def _value(value: object) -> object:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1_000)
    if isinstance(value, date):
        return _value(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def values_of(held: Sequence[Mapping[str, Any]]) -> alt.Data:
    """The rows as a chart reads them."""
    import altair as alt

    return alt.Data(values=[dict(row) for row in held])  # type: ignore[no-untyped-call]


def height_of(values: Sequence[float], unit: str, *, is_log: bool, is_from_zero: bool = False) -> alt.Y:
    """The vertical axis of column ``y``."""
    import altair as alt

    scale = scale_of(values, is_log=is_log, is_from_zero=is_from_zero)
    return alt.Y("y:Q", scale=scale, title=unit, axis=axis_of(values, is_log=is_log))


def scale_of(values: Sequence[float], *, is_log: bool, is_from_zero: bool = False) -> alt.Scale:
    """Logarithmic where asked for and all values are above zero, else from the values or zero."""
    import altair as alt

    if is_log and min(values) > 0:
        return alt.Scale(type="log", nice=False)
    return alt.Scale(zero=is_from_zero, nice=True)


def place_of(column: pl.Series, held: Sequence[Mapping[str, Any]], axis: str, *, is_log: bool) -> alt.X:
    """The horizontal axis: numbers, or time in a unit that fits its span."""
    import altair as alt

    values = [row["x"] for row in held if row["x"] is not None]
    if not column.dtype.is_temporal():
        return alt.X(
            "x:Q", scale=scale_of(values, is_log=is_log), title=axis, axis=axis_of(values, is_log=is_log)
        )
    span = max(values) - min(values)
    form = "%m-%d %H:%M" if span < 2 * _DAY else "%Y-%m-%d" if span < 365 * _DAY else "%Y-%m"
    # Of few days each is marked once, lest one date stands at several hours of it.
    ticks = alt.TimeIntervalStep(interval="day", step=1) if 2 * _DAY <= span < 8 * _DAY else 4
    marks = alt.Axis(format=form, tickCount=ticks, labelAngle=0, **{**_FREE, "labelSeparation": 18})
    return alt.X("x:T", scale=alt.Scale(type="utc"), title=axis, axis=marks)


def axis_of(values: Sequence[float], *, is_log: bool = False) -> alt.Axis:
    """Numbers with thousands or a prefix; logarithms at 1, or 1, 2 and 5, of each power of ten."""
    import altair as alt

    if not is_log or min(values) <= 0:
        return alt.Axis(labelExpr=NUMBER, tickCount=6, grid=True, **_FREE)
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    marks = [step * 10.0**power for power in powers for step in steps]
    return alt.Axis(labelExpr=NUMBER, values=marks, grid=True, **_FREE)
