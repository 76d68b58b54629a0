"""Rates of use and work, on tables small enough to count by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tests.lake.made import frame
from transforms.planning.rates import CALLS_SCHEMA, Recalled, ratios, recalled, text_growth, work
from transforms.schemas import RUNS

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def hours(*rows: tuple[int, int, list[float]]) -> pl.DataFrame:
    told = [(NOON + timedelta(hours=i), calls, calls * 5, seconds) for i, calls, seconds in rows]
    return pl.DataFrame(told, schema=CALLS_SCHEMA, orient="row")


def test_recall_rates() -> None:
    found = recalled(hours((0, 30, [0.1] * 10), (1, 90, [0.3] * 10), (47, 24, [])), 2.0, 0.5)
    assert (found.calls, found.per_day, found.timed) == (288, 144, 20)
    assert found.peak_per_second == 90 / 0.5 / 3_600
    assert found.peak_ratio == pytest.approx(90 / (144 / 48))
    assert found.rows_per_call == 5
    assert found.p50_seconds == pytest.approx(0.2)
    assert found.p95_seconds == 0.3


def test_of_one_day_no_peak_is_told_and_of_none_nothing() -> None:
    assert recalled(hours((0, 5, [])), 1.0, 1.0) == Recalled(5, 5, 5 / 3_600, None, 5.0)
    assert recalled(hours(), 0.0, 1.0) == Recalled()
    assert recalled(hours((0, 5, [])), 1.0, 0.0) == Recalled()


def test_work_is_told_by_what_was_read() -> None:
    rows = [
        ("a", "embed", "done", 1_000, 900, 2.0, 50),
        ("b", "embed", "done", 3_000, 0, 2.0, 90),
        ("c", "embed", "failed", 9_000, 0, 9.0, 900),
        ("d", "publish", "done", 0, 500, 5.0, 70),
        ("e", "retain", "done", 0, 0, 5.0, 70),
    ]
    names = ("run_id", "step", "state", "rows_in", "rows_out", "seconds", "peak_bytes")
    told = work(frame(RUNS, [dict(zip(names, row, strict=True)) for row in rows])).to_dicts()
    assert told == [
        {"step": "embed", "runs": 2, "rows": 4_000, "seconds": 4.0, "seconds_per_1000_rows": 1.0,
         "rows_per_second": 1_000.0, "peak_bytes": 90, "peak_bytes_per_1000_rows": 30.0},
        {"step": "publish", "runs": 1, "rows": 500, "seconds": 5.0, "seconds_per_1000_rows": 10.0,
         "rows_per_second": 100.0, "peak_bytes": 70, "peak_bytes_per_1000_rows": 140.0},
    ]  # fmt: skip


def test_ratios_are_to_a_thousand_episodes() -> None:
    told = ratios({"facts": 5, "a": 1_000}, 500).rows()
    assert told == [("a", 1_000, 2_000.0), ("facts", 5, 10.0)]
    assert ratios({"facts": 0}, 0)["per_1000_episodes"].to_list() == [None]


@pytest.mark.parametrize(
    ("whole", "part", "power"),
    [
        ((1_000, 1_000), (500, 500), 1.0),
        ((1_000, 100), (250, 50), 0.5),
        ((1_000, 100), (500, 100), 0.0),
        ((1_000, 100), (1_000, 100), 1.0),
        ((0, 0), (0, 0), 1.0),
    ],
)
def test_texts_that_repeat_grow_more_slowly(
    whole: tuple[int, int], part: tuple[int, int], power: float
) -> None:
    assert text_growth(whole, part) == pytest.approx(power)
