"""Sums of the cost ledger, live against batch, and the month to come, on small tables."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms import cost_report

AS_OF = datetime(2026, 6, 21, tzinfo=UTC)


def line(**fields: Any) -> dict[str, Any]:
    at = fields.pop("at", datetime(2026, 6, 10, 2, tzinfo=UTC))
    plain = {
        "month": f"{at:%Y-%m}", "day": at.date(), "as_of_at": at, "run_id": "r", "step": "consolidate",
        "state": "done", "tenant_hash": "h1", "model_key": "m", "task": "claims", "mode": "live",
        "requests": 1, "cached": 0, "input_tokens": 100, "output_tokens": 10, "money": 1.0,
    }  # fmt: skip
    return {**plain, **fields}


def lines(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=cost_report.LINES_SCHEMA, orient="row")


def test_kept_answers_save_what_sent_ones_cost_on_average() -> None:
    held = lines(
        line(requests=2, money=1.0),
        line(requests=2, money=2.0, cached=4, tenant_hash="h2"),
        line(task="summary", requests=0, cached=5, money=0.0),
    )
    found = cost_report.with_saved(held)
    assert found["saved_money"].to_list() == [0.0, 3.0, 0.0]
    assert cost_report.totals(found)["cached_ratio"] == pytest.approx(9 / 13)
    by = cost_report.grouped(found, ["tenant_hash"])
    assert by.select("tenant_hash", "requests", "money", "saved_money").rows() == [
        ("h1", 2, 1.0, 0.0),
        ("h2", 2, 2.0, 3.0),
    ]


def test_nothing_is_nothing() -> None:
    none = cost_report.with_saved(lines())
    assert cost_report.totals(none)["money"] == 0
    assert cost_report.totals(none)["cached_ratio"] is None
    assert cost_report.grouped(none, ["month"]).is_empty()
    assert cost_report.live_against_batch(none, 0.5).is_empty()
    told = cost_report.projection(none, cost_report.by_day(none, AS_OF, AS_OF), AS_OF, min_days=2, level=0.9)
    assert (told.spent, told.projected, told.days) == (0.0, None, 0)


def test_the_same_tokens_live_and_by_batch() -> None:
    held = lines(
        line(money=4.0),
        line(mode="batch", money=1.0),
        line(task="embedding", money=9.0),
        line(mode="local", money=0.0),
    )
    (row,) = cost_report.live_against_batch(held, 0.5).to_dicts()
    assert row == {
        "model_key": "m", "task": "claims", "input_tokens": 200, "output_tokens": 20, "spent_money": 5.0,
        "live_money": 6.0, "batch_money": 3.0, "saved_money": 1.0, "possible_money": 2.0,
    }  # fmt: skip


def test_days_without_a_run_are_days() -> None:
    held = lines(
        line(at=datetime(2026, 6, 10, 2, tzinfo=UTC)),
        line(at=datetime(2026, 6, 12, 2, tzinfo=UTC), money=3.0),
    )
    found = cost_report.by_day(
        held, datetime(2026, 6, 10, 2, tzinfo=UTC), datetime(2026, 6, 14, 1, tzinfo=UTC)
    )
    assert found.rows() == [
        (date(2026, 6, 10), 1.0), (date(2026, 6, 11), 0.0), (date(2026, 6, 12), 3.0), (date(2026, 6, 13), 0.0)
    ]  # fmt: skip


def test_the_month_goes_on_as_its_days_went() -> None:
    held = lines(*(line(at=datetime(2026, 6, day, 2, tzinfo=UTC), money=2.0) for day in range(1, 21)))
    days = cost_report.by_day(held, datetime(2026, 6, 1, tzinfo=UTC), AS_OF)
    told = cost_report.projection(held, days, AS_OF, min_days=14, level=0.9)
    assert (told.month, told.spent, told.days, told.daily) == ("2026-06", 40.0, 20, 2.0)
    assert (told.projected, told.low, told.high) == (60.0, 60.0, 60.0)
    few = cost_report.projection(held, days.tail(13), AS_OF, min_days=14, level=0.9)
    assert (few.projected, few.low, few.high) == (None, None, None)


def test_the_interval_holds_the_month_as_often_as_it_says() -> None:
    rng, level, inside, trials = np.random.default_rng(5), 0.9, 0, 300
    for _ in range(trials):
        money = rng.gamma(4.0, 1.0, 30)
        held = lines(
            *(line(at=datetime(2026, 6, d + 1, 2, tzinfo=UTC), money=float(money[d])) for d in range(20))
        )
        days = cost_report.by_day(held, datetime(2026, 6, 1, tzinfo=UTC), AS_OF)
        told = cost_report.projection(held, days, AS_OF, min_days=14, level=level)
        assert told.low is not None
        assert told.high is not None
        inside += told.low <= money.sum() <= told.high
    assert abs(inside / trials - level) < 3 * math.sqrt(level * (1 - level) / trials) + 0.02


@given(st.lists(st.tuples(st.integers(1, 28), st.floats(0, 100)), max_size=12), st.integers(1, 28))
def test_the_interval_holds_the_projection_and_is_no_less_than_spent(
    paid: list[tuple[int, float]], today: int
) -> None:
    as_of = datetime(2026, 6, today, 12, tzinfo=UTC)
    held = lines(
        *(line(at=datetime(2026, 6, day, 2, tzinfo=UTC), money=money) for day, money in paid if day < today)
    )
    days = cost_report.by_day(held, as_of - timedelta(days=30), as_of)
    told = cost_report.projection(held, days, as_of, min_days=2, level=0.9)
    assert told.projected is not None
    assert told.low is not None
    assert told.high is not None
    assert told.spent <= told.low <= told.projected <= told.high
