"""Lines over time, heat maps and scattered points, drawn as ``flows.charts`` draws bars.

Series differ by dash or shape as well as by colour, and a heat map is one colour over the page, weaker or
stronger, with its number written in each cell: so both say the same in the light, in the dark and in grey.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from flows.charts import COLOURS, INK, SOFT, WIDTH, shades_of, svg_of
from flows.charts_axes import height_of, place_of, plain, scale_of, values_of

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 220
_ROOM = 130
"""Of ``WIDTH``, what the labels and title of the vertical axis take."""
_DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 4])
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_FAINT, _STRONG = 0.05, 0.55
"""Opacity of the least and the greatest value: up to here ink stands out against it by 4.5 to 1 or more."""
_FEW = 40
"""Places up to which a line shows a dot at each."""


def lines(
    rows: pl.DataFrame, x: str, y: str, *, title: str, unit: str, axis: str, series: str | None = None,
    low: str | None = None, high: str | None = None, colours: Mapping[str, str] | None = None,
    is_log: bool = False, is_log_x: bool = False, is_from_zero: bool = False, wide: int = WIDTH,
) -> str:  # fmt: skip
    """Lines from left to right, with a band for an interval where ``low`` and ``high`` are given.

    Args:
        rows: A row a place of a line; a null or what is no number leaves a gap.
        x: Column of the place: a number, a date or an instant, which is shown in UTC.
        y: Column of the height.
        title: Above the chart.
        unit: What is measured: the title of the vertical axis.
        axis: Title of the horizontal axis.
        series: Column of the line's name.
        low: Column of the band's lower edge.
        high: Column of the band's upper edge.
        colours: Name in ``COLOURS`` of each line, in the order of the legend.
        is_log: Logarithmic heights, where all are above zero.
        is_log_x: Logarithmic places, where all are numbers above zero.
        is_from_zero: Heights start at zero; else where the values do.
        wide: Of the whole, in pixels: a narrow chart is drawn narrow, lest its text is shrunk with it.

    Returns:
        SVG, empty where there is nothing to show.
    """
    import altair as alt

    taken = plain(rows, {"x": x, "y": y, "series": series, "low": low, "high": high})
    held = [row for row in taken if row["x"] is not None]
    values = [row[name] for row in held for name in ("y", "low", "high") if row.get(name) is not None]
    if all(row["y"] is None for row in held):
        return ""
    shades = shades_of(rows, series, colours)
    height = height_of(values, unit, is_log=is_log, is_from_zero=is_from_zero)
    base = alt.Chart(values_of(held)).encode(x=place_of(rows[x], held, axis, is_log=is_log_x))
    layers = [_line(base.encode(y=height), shades, is_dotted=len({row["x"] for row in held}) <= _FEW)]
    if low and high:
        band = base.mark_area(opacity=0.16, line=False).encode(
            y=alt.Y("low:Q", scale=scale_of(values, is_log=is_log, is_from_zero=is_from_zero), title=unit),
            y2="high:Q",
        )
        layers.insert(0, _shaded(band, shades, channel="strokeDash"))
    layered = alt.layer(*layers)
    # A long title over a narrow chart is set smaller, lest it is cut where the reader's font is wide.
    head = alt.TitleParams(title, fontSize=12 if 8.6 * len(title) > wide - 40 else 14)
    return svg_of(layered.properties(width=wide - _ROOM, height=min(HEIGHT, wide // 2), title=head))


def heat(
    rows: pl.DataFrame, x: str, y: str, value: str, *, title: str, unit: str, x_axis: str, y_axis: str,
    mark: tuple[object, object] | None = None, dashed: tuple[object, object] | None = None,
    form: str = ".3~g", none: str = "never",
) -> str:  # fmt: skip
    """A map of cells, stronger where the value is higher, with the value written in each.

    The median has the middle strength, so that a few very low cells do not make all others look alike.

    Args:
        rows: A row a cell, each once; no more than about 16 across can be read.
        x: Column of the place across, in ascending order, null last.
        y: Column of the place up, in ascending order from below, null last.
        value: Column of what the cell holds; a null leaves it empty.
        title: Above the chart.
        unit: What the cells hold, for the legend.
        x_axis: Title of the horizontal axis.
        y_axis: Title of the vertical axis.
        mark: Place across and place up of the cell that is framed.
        dashed: Those of a second one, framed in dashes.
        form: Of the numbers in the cells, as d3-format reads it.
        none: What a place that is null is called.

    Returns:
        SVG, empty where there is nothing to show.
    """
    import altair as alt

    held = [row for row in plain(rows, {"x": x, "y": y, "v": value}) if row["v"] is not None]
    if not held:
        return ""
    across, up = _ordered(held, "x"), _ordered(held, "y")
    for row in held:
        row["frame"] = 2 * (mark == (row["x"], row["y"])) + (dashed == (row["x"], row["y"]))
        row["x"], row["y"] = _label(row["x"], none), _label(row["y"], none)
    names = [_label(place, none) for place in across]
    wide = min(WIDTH - _ROOM, max(46 * len(across), 8 * len(title) - 60))
    slanted = -40 if max(map(len, names)) * 8 > wide / len(names) else 0
    base = alt.Chart(values_of(held)).encode(
        x=alt.X("x:O", sort=names, title=x_axis, axis=alt.Axis(labelAngle=slanted)),
        y=alt.Y("y:O", sort=[_label(place, none) for place in reversed(up)], title=y_axis),
    )
    values = sorted(row["v"] for row in held)
    shade = _strength(values)
    legend = alt.Legend(
        title=unit,
        orient="bottom",
        tickCount=4,
        format=form,
        columns=5,
        symbolType="square",
        symbolStrokeWidth=0,
        symbolFillColor=COLOURS["one"],
        values=[values[0]] if values[0] == values[-1] else alt.Undefined,
    )
    cells = base.mark_rect(fill=COLOURS["one"]).encode(opacity=alt.Opacity("v:Q", scale=shade, legend=legend))
    size = 12 if wide / len(across) >= 44 else 10
    text = base.mark_text(fill=INK, fontSize=size).encode(text=alt.Text("v:Q", format=form))
    chart = alt.layer(cells, text, *_frames(base, held))
    return svg_of(chart.properties(width=wide, height=30 * len(up), title=title))


def points(
    rows: pl.DataFrame, x: str, y: str, *, title: str, x_unit: str, y_unit: str, series: str | None = None,
    label: str | None = None, is_joined: bool = False, colours: Mapping[str, str] | None = None,
    is_log: bool = False, is_log_x: bool = False,
) -> str:  # fmt: skip
    """Scattered points; see ``lines``. Some thousand make a page heavy: give a sample.

    Args:
        rows: A row a point; without a place or a height it is left out.
        x: Column of the place: a number, a date or an instant.
        y: Column of the height.
        title: Above the chart.
        x_unit: Title of the horizontal axis.
        y_unit: Title of the vertical axis.
        series: Column of the point's group.
        label: Column of the text beside the point; null or empty for none.
        is_joined: The points of the first group, or all without groups, are joined from left to right.
        colours: Name in ``COLOURS`` of each group, in the order of the legend.
        is_log: Logarithmic heights, where all are above zero.
        is_log_x: Logarithmic places, where all are numbers above zero.

    Returns:
        SVG, empty where there is nothing to show.
    """
    import altair as alt

    taken = plain(rows, {"x": x, "y": y, "series": series, "label": label})
    held = [row for row in taken if row["x"] is not None and row["y"] is not None]
    if not held:
        return ""
    shades = shades_of(rows, series, colours)
    for row in held:
        row["is_front"] = shades is None or row["series"] == next(iter(shades), None)
    base = alt.Chart(values_of(held)).encode(
        x=place_of(rows[x], held, x_unit, is_log=is_log_x),
        y=height_of([row["y"] for row in held], y_unit, is_log=is_log),
    )
    layers = [_shaded(base.mark_point(filled=True, size=55, opacity=0.9), shades, channel="shape")]
    if is_joined:
        front = base.transform_filter("datum.is_front")
        line = front.mark_line(strokeWidth=1.5, strokeDash=[5, 3], stroke=SOFT)
        layers.insert(0, line.encode(order=alt.Order("x:Q")))
    if label:
        layers += _labels(base, held)
    return svg_of(alt.layer(*layers).properties(width=WIDTH - _ROOM, height=HEIGHT, title=title))


def _line(base: alt.Chart, shades: Mapping[str, str] | None, *, is_dotted: bool) -> alt.Chart:
    import altair as alt

    dots = alt.OverlayMarkDef(size=28, filled=True) if is_dotted else False
    return _shaded(base.mark_line(strokeWidth=2.2, point=dots), shades, channel="strokeDash")


def _shaded(chart: alt.Chart, shades: Mapping[str, str] | None, *, channel: str) -> alt.Chart:
    """The chart in its colours and, on a channel, in dashes or shapes, which survive a grey print."""
    import altair as alt

    if shades is None:
        return chart.encode(color=alt.value(COLOURS["one"]))
    names = list(shades)
    is_line = channel == "strokeDash"
    symbol = {"symbolType": "stroke", "symbolSize": 700} if is_line else {"symbolSize": 90}
    legend = alt.Legend(title=None, orient="bottom", symbolStrokeWidth=2.2, symbolOpacity=1, **symbol)
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=list(shades.values())), legend=legend)
    if is_line:
        dashes = alt.Scale(domain=names, range=_turns(_DASHES, len(names)))
        return chart.encode(color=colour, strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=legend))
    shapes = alt.Scale(domain=names, range=_turns(_SHAPES, len(names)))
    return chart.encode(color=colour, shape=alt.Shape("series:N", scale=shapes, legend=legend))


def _turns(marks: Sequence[Any], count: int) -> list[Any]:
    """A mark a series; where colours begin again, the marks are moved on by one, so that no pair is twice."""
    return [marks[(i + i // len(marks)) % len(marks)] for i in range(count)]


def _labels(base: alt.Chart, held: Sequence[Mapping[str, Any]]) -> list[alt.Chart]:
    """Text beside the points, on the left of those in the right-hand third, where it would be cut off."""
    places = [row["x"] for row in held]
    edge = min(places) + (max(places) - min(places)) * 2 / 3
    left = base.mark_text(align="left", dx=8, dy=-4, fill=INK, fontSize=12).encode(text="label:N")
    right = base.mark_text(align="right", dx=-8, dy=-4, fill=INK, fontSize=12).encode(text="label:N")
    is_left = f"datum.label && datum.x <= {edge!r}"
    is_right = f"datum.label && datum.x > {edge!r}"
    return [left.transform_filter(is_left), right.transform_filter(is_right)]


def _strength(values: Sequence[float]) -> alt.Scale:
    """Opacity of values in ascending order, in two pieces that meet in the median."""
    import altair as alt

    least, middle, most = values[0], values[len(values) // 2], values[-1]
    if least < middle < most:
        return alt.Scale(domain=[least, middle, most], range=[_FAINT, (_FAINT + _STRONG) / 2, _STRONG])
    spread = (most - least) or 1.0
    return alt.Scale(domain=[most - spread, most], range=[_FAINT, _STRONG])


def _frames(base: alt.Chart, held: Sequence[Mapping[str, Any]]) -> list[alt.Chart]:
    """Frames of the marked cells; where both are one cell, the dashed frame is not seen."""
    found = []
    if any(row["frame"] >= 2 for row in held):
        whole = base.mark_rect(fill=None, stroke=INK, strokeWidth=2.5)
        found.append(whole.transform_filter("datum.frame >= 2"))
    if any(row["frame"] % 2 for row in held):
        broken = base.mark_rect(fill=None, stroke=INK, strokeWidth=1.5, strokeDash=[4, 3])
        found.append(broken.transform_filter("datum.frame % 2 == 1"))
    return found


def _ordered(held: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Places in ascending order, numbers before text, null last."""
    return sorted({row[name] for row in held}, key=lambda v: (v is None, isinstance(v, str), v))


def _label(place: object, none: str) -> str:
    if place is None:
        return none
    return f"{place:g}" if isinstance(place, float) else str(place)
