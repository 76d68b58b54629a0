"""Plots: whole SVG with title, units and legend, in the page's colours only, at places that can be told."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.charts import COLOURS, CSS, INK, LINE, SOFT
from flows.charts_plots import heat, lines, points

START = datetime(2026, 3, 1, tzinfo=UTC)
WEEKS = pl.DataFrame(
    {
        "at": [START + timedelta(days=7 * i) for i in range(4)] * 2,
        "quality": [0.5, 0.6, 0.55, 0.7, 0.4, 0.45, 0.5, 0.45],
        "low": [0.4, 0.5, 0.45, 0.6, 0.3, 0.35, 0.4, 0.35],
        "high": [0.6, 0.7, 0.65, 0.8, 0.5, 0.55, 0.6, 0.55],
        "policy": ["best <b>"] * 4 + ["current"] * 4,
    }
)
CELLS = pl.DataFrame(
    {
        "days": [1.0, 7.0, 30.0] * 2,
        "weight": [0.15] * 3 + [0.75] * 3,
        "ndcg": [0.111, 0.222, 0.333, 0.444, 0.555, 0.666],
    }
)


def drawn_lines(rows: pl.DataFrame = WEEKS) -> str:
    return lines(
        rows, "at", "quality", title="Quality & time", unit="nDCG@10", axis="week (UTC)", series="policy",
        low="low", high="high",
    )  # fmt: skip


def drawn_heat(rows: pl.DataFrame = CELLS) -> str:
    return heat(
        rows, "days", "weight", "ndcg", title="Quality & time", unit="nDCG@10", x_axis="half-life (days)",
        y_axis="weight <b>", mark=(7.0, 0.75),
    )  # fmt: skip


def drawn_points(rows: pl.DataFrame = WEEKS) -> str:
    return points(
        rows, "low", "quality", title="Quality & time", x_unit="tokens (mean)", y_unit="nDCG@10",
        series="policy", label="policy", is_joined=True,
    )  # fmt: skip


PLOTS = {
    "lines": (drawn_lines, WEEKS, ("week (UTC)", "nDCG@10", "best <b>", "current", "2026-03-01")),
    "heat": (drawn_heat, CELLS, ("half-life (days)", "weight <b>", "nDCG@10", "0.555", "30", "0.75")),
    "points": (drawn_points, WEEKS, ("tokens (mean)", "nDCG@10", "best <b>", "current")),
}
each_plot = pytest.mark.parametrize(("draw", "rows", "texts"), PLOTS.values(), ids=PLOTS)
Draw = Callable[[pl.DataFrame], str]


def texts_of(svg: str) -> list[str]:
    return [text for text in ET.fromstring(svg).itertext() if text.strip()]


def places(svg: str, tag: str, role: str) -> list[dict[str, str]]:
    """Attributes of the marks of a kind that stand in groups of a role, legends left out."""
    found = ET.fromstring(svg).iter("g")
    groups = [g for g in found if role in g.get("class", "") and "role-mark" in g.get("class", "")]
    return [dict(mark.attrib) for group in groups for mark in group.iter(tag)]


@each_plot
def test_a_plot_says_what_it_shows(draw: Draw, rows: pl.DataFrame, texts: tuple[str, ...]) -> None:
    svg = draw(rows)
    assert {*texts, "Quality & time"} <= set(texts_of(svg))
    assert 'aria-label="Quality &amp; time"' in svg
    assert not re.search(r"https?:|url\(|<script|<image|href=|font-face|<b>", svg)


@each_plot
def test_every_colour_is_one_that_the_page_maps(
    draw: Draw, rows: pl.DataFrame, texts: tuple[str, ...]
) -> None:
    svg = draw(rows)
    used = set(re.findall(r'(?:fill|stroke)="(#[^"]*)"', svg))
    assert used <= {*COLOURS.values(), INK, SOFT, LINE}
    assert COLOURS["one"] in used
    assert set(re.findall(r'(?:fill|stroke)="([^#"][^"]*)"', svg)) <= {"none", "transparent"}
    assert all(f'[fill="{colour}"]' in CSS for colour in used)


@each_plot
def test_nothing_to_show_is_no_plot(draw: Draw, rows: pl.DataFrame, texts: tuple[str, ...]) -> None:
    assert draw(rows.clear()) == ""
    value = "ndcg" if "ndcg" in rows.columns else "quality"
    assert draw(rows.with_columns(pl.lit(None, pl.Float64).alias(value))) == ""
    assert draw(rows.with_columns(pl.lit(math.nan).alias(value))) == ""


@each_plot
def test_the_same_rows_give_the_same_plot(draw: Draw, rows: pl.DataFrame, texts: tuple[str, ...]) -> None:
    assert draw(rows) == draw(rows)


def test_series_differ_by_dash_and_by_shape_not_by_colour_alone() -> None:
    drawn = places(drawn_lines(), "path", "mark-line")
    assert len(drawn) == 2
    assert len({line.get("stroke-dasharray") for line in drawn}) == 2
    shapes = {mark["fill"]: mark["d"] for mark in places(drawn_points(), "path", "mark-symbol")}
    assert len(shapes) == len(set(shapes.values())) == 2


def test_what_is_no_number_leaves_a_gap_in_the_line() -> None:
    whole = places(drawn_lines(WEEKS.head(4)), "path", "mark-line")[0]["d"]
    rows = WEEKS.head(4).with_columns(
        quality=pl.when(pl.col("quality") == 0.6).then(math.nan).otherwise("quality")
    )
    broken = places(drawn_lines(rows), "path", "mark-line")[0]["d"]
    assert whole.count("M") == 1
    assert broken.count("M") == 2


def test_a_plain_day_and_an_instant_of_that_day_stand_at_one_place() -> None:
    days = WEEKS.with_columns(at=pl.col("at").dt.date())
    assert days["at"].dtype == pl.Date
    assert drawn_lines(days) == drawn_lines()


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(hours=12), "03-01 00:00"),
        (timedelta(days=60), "2026-03-01"),
        (timedelta(days=900), "2027-01"),
    ],
)
def test_dates_are_written_in_the_unit_of_their_span(span: timedelta, text: str) -> None:
    rows = pl.DataFrame({"at": [START, START + span], "n": [1, 2]})
    assert text in texts_of(lines(rows, "at", "n", title="t", unit="u", axis="a"))


@pytest.mark.parametrize("days", [2, 3, 5, 7])
def test_of_few_days_each_date_is_written_once(days: int) -> None:
    rows = pl.DataFrame({"at": [START, START + timedelta(days=days)], "n": [1, 2]})
    told = texts_of(lines(rows, "at", "n", title="t", unit="u", axis="a"))
    dates = [text for text in told if text.startswith("2026-03-")]
    assert len(dates) == len(set(dates)) >= 2


def test_a_band_spans_low_to_high_and_the_axis_holds_it() -> None:
    rows = pl.DataFrame(
        {"at": [date(2026, 3, 1), date(2026, 3, 2)], "n": [5.0, 5.0], "a": [0, 0], "b": [9, 9]}
    )
    svg = lines(rows, "at", "n", title="t", unit="u", axis="a", low="a", high="b")
    assert len(places(svg, "path", "mark-area")) == 1
    assert {"0", "8"} <= set(texts_of(svg))
    assert not places(lines(rows, "at", "n", title="t", unit="u", axis="a"), "path", "mark-area")


def test_a_logarithmic_axis_is_marked_at_powers_and_is_none_where_a_value_is_zero() -> None:
    rows = pl.DataFrame({"memories": [10, 1_000, 100_000], "bytes": [1e3, 1e5, 1e7]})
    svg = lines(rows, "memories", "bytes", title="t", unit="u", axis="a", is_log=True, is_log_x=True)
    assert {"10", "100", "1,000", "10k", "100k", "1M", "10M"} <= set(texts_of(svg))
    near = rows.with_columns(memories=pl.Series([1, 20, 180]))
    told = set(texts_of(lines(near, "memories", "bytes", title="t", unit="u", axis="a", is_log_x=True)))
    assert {"1", "2", "5", "10", "20", "50", "100"} <= told
    assert "1,000" not in told, "the axis ends where the values do"
    zero = rows.with_columns(bytes=pl.lit(0.0))
    assert "10M" not in texts_of(lines(zero, "memories", "bytes", title="t", unit="u", axis="a", is_log=True))


def test_a_heat_map_is_stronger_where_the_value_is_higher_and_one_cell_is_framed() -> None:
    cells = places(drawn_heat(), "path", "mark-rect")
    frames = [cell for cell in cells if cell.get("stroke") == INK]
    filled = [float(cell["opacity"]) for cell in cells if cell.get("fill") == COLOURS["one"]]
    assert len(frames) == 1
    assert len(filled) == CELLS.height
    assert filled == sorted(filled)
    assert 0 < min(filled) < max(filled) <= 0.55


def test_cells_stand_in_ascending_order_whatever_order_the_rows_have() -> None:
    ordered = [text for text in texts_of(drawn_heat(CELLS.reverse())) if text in {"1", "7", "30"}]
    assert ordered == ["1", "7", "30"]
    up = [text for text in texts_of(drawn_heat(CELLS.reverse())) if text in {"0.15", "0.75"}]
    assert up == ["0.75", "0.15"]


def test_a_front_joins_the_first_group_only() -> None:
    rows = pl.DataFrame(
        {"t": [3.0, 1.0, 2.0, 9.0], "q": [3.0, 1.0, 2.0, 0.5], "g": ["front", "front", "front", "other"]}
    )
    svg = points(
        rows, "t", "q", title="t", x_unit="x", y_unit="y", series="g", is_joined=True,
        colours={"front": "six", "other": "five"},
    )  # fmt: skip
    (path,) = [line["d"] for line in places(svg, "path", "mark-line")]
    xs = [float(x) for x in re.findall(r"[ML]([\d.]+),", path)]
    assert len(xs) == 3
    assert xs == sorted(xs)


def test_a_label_near_the_right_edge_stands_on_the_left_of_its_point() -> None:
    rows = pl.DataFrame({"t": [0.0, 10.0], "q": [1.0, 2.0], "name": ["first", "last"]})
    svg = points(rows, "t", "q", title="t", x_unit="x", y_unit="y", label="name")
    anchors = {text.text: text.get("text-anchor") for text in ET.fromstring(svg).iter("text")}
    assert anchors["first"] == "start"
    assert anchors["last"] == "end"


def test_a_few_very_low_cells_do_not_make_the_others_look_alike() -> None:
    rows = pl.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1] * 5, "v": [0.0, 0.88, 0.9, 0.91, 0.92]})
    svg = heat(rows, "x", "y", "v", title="t", unit="u", x_axis="a", y_axis="b")
    cells = [mark for mark in places(svg, "path", "mark-rect") if mark.get("fill") == COLOURS["one"]]
    strengths = [float(mark["opacity"]) for mark in cells]
    assert strengths[2] == pytest.approx((strengths[0] + strengths[4]) / 2)
    assert strengths[4] - strengths[2] > 0.2


def test_more_lines_than_colours_differ_all_the_same() -> None:
    count = 9
    rows = pl.DataFrame(
        {"x": [0, 1] * count, "y": range(2 * count), "s": [f"s{i // 2}" for i in range(2 * count)]}
    )
    drawn = places(lines(rows, "x", "y", title="t", unit="u", axis="a", series="s"), "path", "mark-line")
    assert len({(line["stroke"], line.get("stroke-dasharray")) for line in drawn}) == count


def test_one_value_and_one_place_are_drawn_too() -> None:
    one = pl.DataFrame({"at": [START], "n": [5.0]})
    assert "5" in texts_of(lines(one, "at", "n", title="t", unit="u", axis="a"))
    cell = pl.DataFrame({"x": ["a very long name"], "y": [1], "v": [3.0]})
    told = texts_of(heat(cell, "x", "y", "v", title="t", unit="u", x_axis="a", y_axis="b"))
    assert "a very long name" in told
    assert told.count("3") == 2, "the cell, and the legend once"


@settings(max_examples=20, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20))
def test_whatever_a_name_holds_it_is_text_and_never_markup(name: str) -> None:
    rows = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 3.0, 2.0], "s": [name, name, f"{name}'\"<i>\\"]})
    svg = points(rows, "x", "y", title=f"{name}<b>", x_unit="x", y_unit=name, series="s", is_joined=True)
    tags = {element.tag for element in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "rect", "path", "text", "line"}
    (front,) = places(svg, "path", "mark-line")
    assert len(re.findall("[ML]", front["d"])) == 2


def test_a_narrow_chart_is_drawn_narrow_with_text_of_the_same_size() -> None:
    def drawn(wide: int) -> tuple[float, set[str]]:
        svg = lines(WEEKS, "at", "quality", title="t", unit="u", axis="a", series="policy", wide=wide)
        width = float(re.findall(r'<svg[^>]* width="([\d.]+)"', svg)[0])
        return width, set(re.findall(r'font-size="([^"]+)"', svg))

    narrow, usual = drawn(430), drawn(620)
    assert usual[0] - narrow[0] == pytest.approx(190, abs=2)
    assert narrow[1] == usual[1]
