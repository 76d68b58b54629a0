"""Charts as SVG text that stands inside a page: no script, no font to fetch, colours that a page may change.

Every colour is one of the page's light colours; ``CSS`` maps each to the page's variable, so that charts
follow light, dark and paper as the text does. Fills tell apart by lightness too, and a legend names them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import altair as alt

INK, SOFT, LINE = "#16181d", "#4d5663", "#d5d9e0"
COLOURS = {
    "one": "#2767b0",
    "two": "#c77700",
    "three": "#b3263a",
    "four": "#7a6bb0",
    "five": "#8a94a3",
    "six": "#2a8f73",
}
SERIES = ("one", "two", "six", "four", "five", "three")
_VARIABLES = {INK: "ink", SOFT: "soft", LINE: "line"} | {value: name for name, value in COLOURS.items()}
CSS = "\n".join(
    f'figure svg [fill="{colour}"] {{ fill: var(--{name}); }} '
    f'figure svg [stroke="{colour}"] {{ stroke: var(--{name}); }}'
    for colour, name in _VARIABLES.items()
)
"""Rules for the page that holds the charts."""
FONT = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif"
WIDTH = 620
MOST_SERIES = len(SERIES)
LABEL = 280
"""Pixels of a name beside a bar; of a longer one the beginning is written."""
MOST_NAMES = 16
"""Names below upright bars; of more, every second or third is written."""
NUMBER = "abs(datum.value) >= 10000 ? format(datum.value, '~s') : format(datum.value, ',')"
"""Label of a number on an axis: with thousands, or with the prefix of a large unit."""
REST = "other"


def across(
    rows: pl.DataFrame, category: str, value: str, *, title: str, unit: str, order: Sequence[str] = (),
    series: str | None = None, colours: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Horizontal bars, a category a line; stacked where there is a series.

    Args:
        rows: A row a bar, or a part of one.
        category: Column of its name.
        value: Column of its length.
        title: Above the chart.
        unit: What is counted: the title of the axis.
        order: Categories from the top; empty: as they come.
        series: Column of the part's name.
        colours: Name in ``COLOURS`` of each part, in the order of the stack.

    Returns:
        SVG, empty where there is nothing to show.
    """
    import altair as alt

    if rows.is_empty() or not rows[value].abs().sum():
        return ""
    held = rows[category].unique(maintain_order=True).to_list()
    names = [name for name in order if name in held] or held
    shades = shades_of(rows, series, colours)
    base = alt.Chart(_data(rows, shades)).encode(
        y=alt.Y(f"{_name(category)}:N", sort=names, title=None, axis=alt.Axis(labelLimit=LABEL)),
        x=alt.X(f"{_name(value)}:Q", title=unit, axis=_counted(rows, category, value)),
    )
    bars = _coloured(base.mark_bar(height={"band": 0.72}), series, shades)
    height = 26 * len(names)
    longest = min(LABEL, 7.0 * max(map(len, map(str, names))))
    return svg_of(bars.properties(width=WIDTH - 150, height=height, title=title), left=max(30, longest / 5))


def upright(
    rows: pl.DataFrame, category: str, value: str, *, title: str, unit: str, axis: str,
    order: Sequence[str] = (), series: str | None = None, colours: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Vertical bars, such as months or spans, from left to right; see ``across``. ``axis`` titles them."""
    import altair as alt

    if rows.is_empty() or not rows[value].abs().sum():
        return ""
    names = list(order) or sorted(rows[category].unique().to_list())
    shades = shades_of(rows, series, colours)
    longest = max(map(len, names))
    slanted = -40 if len(names) * longest > 90 else 0
    named = names[:: -(-len(names) // MOST_NAMES)]
    base = alt.Chart(_data(rows, shades)).encode(
        x=alt.X(
            f"{_name(category)}:N",
            sort=names,
            title=axis,
            axis=alt.Axis(labelAngle=slanted, grid=False, values=named, titlePadding=8),
        ),
        y=alt.Y(f"{_name(value)}:Q", title=unit, axis=_counted(rows, category, value)),
    )
    bars = _coloured(base.mark_bar(width={"band": 0.72}), series, shades)
    wide = min(WIDTH - 120, max(len(names) * max(60, 9 * longest), 8.5 * len(title) - 40))
    return svg_of(bars.properties(width=wide, height=180, title=title))


def fewer(rows: pl.DataFrame, series: str, value: str, by: Sequence[str]) -> pl.DataFrame:
    """The largest series by themselves and the rest as one: no more than can be told apart by colour."""
    totals = rows.group_by(series).agg(pl.col(value).sum()).sort([value, series], descending=[True, False])
    if totals.height <= MOST_SERIES:
        return rows
    kept = totals.head(MOST_SERIES - 1)[series].implode()
    named = rows.with_columns(pl.when(pl.col(series).is_in(kept)).then(series).otherwise(pl.lit(REST)))
    return named.group_by(*by, series).agg(pl.col(value).sum()).sort(*by, series)


def shades_of(
    rows: pl.DataFrame, series: str | None, colours: Mapping[str, str] | None
) -> dict[str, str] | None:
    """Colour of each part that occurs, in the order of the stack; none without a series."""
    if series is None:
        return None
    held = rows.group_by(series).agg(pl.len())[series].to_list()
    if colours is None:
        parts = sorted(held, key=lambda name: (name == REST, name))
        return {part: COLOURS[SERIES[i % MOST_SERIES]] for i, part in enumerate(parts)}
    return {part: COLOURS[colour] for part, colour in colours.items() if part in held}


def _data(rows: pl.DataFrame, shades: Mapping[str, str] | None) -> alt.Data:
    import altair as alt

    plain = [{_name(k): v for k, v in row.items()} for row in rows.iter_rows(named=True)]
    order = {part: i for i, part in enumerate(shades or {})}
    for row in plain:
        row["order"] = min((i for part, i in order.items() if part in row.values()), default=0)
    return alt.Data(values=plain)  # type: ignore[no-untyped-call]


def _name(column: str) -> str:
    """A field's name without what the grammar reads as a path or a type."""
    return re.sub(r"\W", "_", column)


def _counted(rows: pl.DataFrame, category: str, value: str) -> alt.Axis:
    """An axis of numbers: for whole ones no more ticks than the longest bar has units."""
    import altair as alt

    if not (rows[value].drop_nulls() % 1 == 0).all():
        return alt.Axis(labelExpr=NUMBER, tickCount=6, grid=True)
    longest = int(rows.group_by(category).agg(pl.col(value).sum())[value].max() or 0)  # type: ignore[arg-type]
    form = "~s" if longest >= 10_000 else ",d"
    ticks = min(6, max(longest, 1))
    return alt.Axis(labelExpr=f"format(datum.value, '{form}')", tickCount=ticks, grid=True)


def _coloured(chart: alt.Chart, series: str | None, shades: Mapping[str, str] | None) -> alt.Chart:
    import altair as alt

    if series is None or shades is None:
        return chart.encode(color=alt.value(COLOURS["one"]))
    scale = alt.Scale(domain=list(shades), range=list(shades.values()))
    legend = alt.Legend(title=None, orient="bottom", symbolType="square")
    return chart.encode(
        color=alt.Color(f"{_name(series)}:N", scale=scale, legend=legend), order=alt.Order("order:Q")
    )


def svg_of(chart: alt.Chart | alt.LayerChart | alt.FacetChart, *, left: float = 30) -> str:
    """The chart drawn, without an address in it but the names of its own language; ``left`` is free."""
    import vl_convert

    spec: dict[str, Any] = {**chart.to_dict(), "config": _CONFIG, "background": None}
    spec["padding"] = {**_PADDING, "left": left}
    drawn = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    title = spec["title"]["text"] if isinstance(spec["title"], dict) else spec["title"]
    start, rest = drawn.split(">", 1)
    plain = re.sub(r' xmlns(:\w+)?="[^"]*"', "", start)  # inside HTML the element needs none
    label = f'<svg role="img" aria-label="{html.escape(str(title))}"'
    return f"{plain.replace('<svg', label, 1)}>{rest}"


_PADDING = {"right": 30, "top": 4, "bottom": 4}
"""Room for text that is wider in the reader's font than in the one that was measured with."""
_CONFIG: dict[str, Any] = {
    "font": FONT,
    "title": {"anchor": "start", "color": INK, "fontSize": 14, "fontWeight": 600, "offset": 10},
    "axis": {
        "labelColor": INK, "titleColor": SOFT, "domainColor": SOFT, "tickColor": SOFT, "gridColor": LINE,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 180,
        "grid": False,
    },
    "axisY": {"titlePadding": 12},
    "legend": {
        "titleColor": SOFT, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelColor": INK, "labelFontSize": 12, "labelLimit": 220, "columns": 3, "columnPadding": 44,
    },
    "view": {"stroke": None},
}  # fmt: skip
