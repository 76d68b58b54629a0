"""Charts: whole SVG with title, unit and axis labels, in the page's colours only, fetching nothing."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import polars as pl
import pytest

from flows.charts import COLOURS, CSS, INK, LINE, MOST_SERIES, REST, SOFT, across, fewer, upright

ROWS = pl.DataFrame(
    {"month": ["2026-01", "2026-01", "2026-02"], "kind": ["e-mail <b>", "phone", "phone"], "n": [3, 4, 5]}
)


def drawn(*, is_across: bool, rows: pl.DataFrame = ROWS, title: str = "Found & taken out") -> str:
    if is_across:
        return across(rows, "month", "n", series="kind", title=title, unit="times found")
    return upright(rows, "month", "n", series="kind", title=title, unit="times found", axis="month (UTC)")


@pytest.mark.parametrize("is_across", [True, False])
def test_a_chart_says_what_it_shows(is_across: bool) -> None:
    svg = drawn(is_across=is_across)
    text = " ".join(ET.fromstring(svg).itertext())
    for word in ("Found & taken out", "times found", "2026-01", "2026-02", "e-mail <b>", "phone"):
        assert word in text, word
    assert ("month (UTC)" in text) != is_across
    assert 'aria-label="Found &amp; taken out"' in svg
    assert not re.search(r"https?:|url\(|<script|<image|href=|font-face", svg)


@pytest.mark.parametrize("is_across", [True, False])
def test_every_colour_is_one_that_the_page_maps(is_across: bool) -> None:
    svg = drawn(is_across=is_across)
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg))
    assert used <= {*COLOURS.values(), INK, SOFT, LINE}
    assert len(used & set(COLOURS.values())) == 2
    assert set(re.findall(r'(?:fill|stroke)="([^#"][^"]*)"', svg)) <= {"none", "transparent"}
    assert all(f'[fill="{colour}"]' in CSS for colour in used)


def test_nothing_to_show_is_no_chart() -> None:
    assert drawn(is_across=True, rows=ROWS.clear()) == ""
    assert drawn(is_across=False, rows=ROWS.with_columns(n=pl.lit(0))) == ""


def test_the_same_rows_give_the_same_chart() -> None:
    assert drawn(is_across=False) == drawn(is_across=False)


def test_parts_stand_in_the_order_that_is_given() -> None:
    shades = {"phone": "three", "e-mail <b>": "one", "absent": "two"}
    svg = across(ROWS, "month", "n", series="kind", colours=shades, title="t", unit="u")
    legend = [text for text in ET.fromstring(svg).itertext() if text in shades]
    assert legend == ["phone", "e-mail <b>"]
    assert COLOURS["two"] not in svg


def test_more_kinds_than_colours_become_one_and_nothing_is_lost() -> None:
    rows = pl.DataFrame({"month": ["a", "b"] * 10, "kind": [f"k{i:02d}" for i in range(20)], "n": range(20)})
    few = fewer(rows, "kind", "n", ["month"])
    assert few["kind"].n_unique() == MOST_SERIES
    assert few["n"].sum() == rows["n"].sum()
    assert few.filter(pl.col("kind") == REST).height == 2
    assert "k19" in few["kind"]
    assert fewer(ROWS, "kind", "n", ["month"]).equals(ROWS)


def test_an_axis_of_fractions_is_marked_in_fractions_and_parts_that_cancel_are_shown() -> None:
    rows = pl.DataFrame({"key": ["a", "b"], "gain": [0.25, -0.25]})
    text = set(ET.fromstring(across(rows, "key", "gain", title="t", unit="u")).itertext())
    assert {"0.1", "0.2"} <= text


def test_of_many_upright_bars_some_are_named_so_that_names_can_be_read() -> None:
    rows = pl.DataFrame({"day": [f"2026-05-{i:02d}" for i in range(1, 31)], "n": range(1, 31)})
    svg = upright(rows, "day", "n", title="t", unit="u", axis="d")
    days = [t for t in ET.fromstring(svg).itertext() if t.startswith("2026-05-")]
    assert days == [f"2026-05-{i:02d}" for i in range(1, 31, 2)]
