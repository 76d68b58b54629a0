"""Growth and what is still held: loads are no growth, removed rows count, lifetimes saturate."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.planning.draws import day_draws
from transforms.planning.forecast import CLASSES_SCHEMA, OWN, Past, forecast, horizons
from transforms.planning.growth import (
    ALL,
    HISTORY_SCHEMA,
    REST,
    Window,
    daily,
    fewer_tenants,
    matrix,
    rates,
    window_of,
)
from transforms.planning.lifetimes import classes, table_lifetimes
from transforms.planning.survival import early_survival, held_shares
from transforms.policy import Policy
from transforms.policy_plan import PlanPolicy

TODAY = date(2026, 6, 30)
PLAN = PlanPolicy(min_days=7, resamples=200)


def day(ago: int) -> date:
    return TODAY - timedelta(days=ago)


def past(rows: list[dict[str, Any]]) -> pl.DataFrame:
    plain = {"tenant_id": "t", "kind": "conversation", "lifetime_days": None, "gone_day": None,
             "is_early": False, "is_late": False, "rows": 1, "chars": 10}  # fmt: skip
    return pl.DataFrame([{**plain, **row} for row in rows], schema=HISTORY_SCHEMA)


def steady(days: int, rows: int = 10, **fields: Any) -> list[dict[str, Any]]:
    return [{"day": day(i), "rows": rows, **fields} for i in range(days)]


def test_the_window_leaves_out_days_that_are_not_whole() -> None:
    history = past(steady(200))
    assert window_of(history, TODAY, TODAY, PLAN) == Window(day(90), day(1))
    assert window_of(history, TODAY, day(3), PLAN) == Window(day(93), day(4))
    # The first day of all has only begun when the lake did.
    assert window_of(past(steady(30)), TODAY, TODAY, PLAN) == Window(day(28), day(1))


def test_too_little_history_is_said_and_nothing_is_made_up() -> None:
    found = window_of(past(steady(5)), TODAY, TODAY, PLAN)
    assert found.fault == "3 whole days of history, a forecast needs 7"
    assert forecast(Past(past(steady(5)), found, TODAY, no_bytes()), PLAN).is_empty()
    assert window_of(past([]), TODAY, None, PLAN).fault == "no episode had landed by then"
    idle = window_of(past([{"day": day(400)}]), TODAY, TODAY, PLAN)
    assert idle.fault == "nothing happened in the days that are looked at"


def test_a_load_stamped_with_its_own_day_is_no_growth() -> None:
    rows = [*steady(40), {"day": day(20), "rows": 100_000}]
    found = window_of(past(rows), TODAY, TODAY, PLAN)
    assert found.left_out == (day(20),)
    assert rates(past(rows), found, PLAN)["rows_per_day"][0] == 10.0
    assert daily(past(rows), found).filter(~pl.col("is_counted"))["rows"].to_list() == [100_010]


def test_a_load_of_old_traces_counts_on_the_days_it_tells_of() -> None:
    rows = steady(40, is_late=True)
    told = rates(past(rows), window_of(past(rows), TODAY, TODAY, PLAN), PLAN).row(0, named=True)
    assert (told["tenant_id"], told["rows"], told["rows_per_day"], told["late_ratio"]) == (
        ALL,
        400,
        10.0,
        1.0,
    )
    assert (told["low"], told["high"]) == (10.0, 10.0)


def test_removed_rows_count_on_their_day_and_are_not_held() -> None:
    rows = [*steady(30), *steady(30, gone_day=day(0), tenant_id="u")]
    told = rates(past(rows), window_of(past(rows), TODAY, TODAY, PLAN), PLAN)
    assert told.select("tenant_id", "rows", "rows_per_day").rows() == [
        (ALL, 300, 20.0),
        ("t", 300, 10.0),
        ("u", 0, 10.0),
    ]


def test_the_trend_is_the_later_half_over_the_earlier() -> None:
    rows = [{"day": day(i), "rows": 30 if i <= 14 else 10} for i in range(30)]
    told = rates(past(rows), Window(day(28), day(1)), PLAN)
    assert told["trend_ratio"][0] == 3.0


def test_small_tenants_are_one() -> None:
    history = past(
        [{"day": day(1), "tenant_id": name, "rows": n} for name, n in (("a", 5), ("b", 9), ("c", 1))]
    )
    told = fewer_tenants(history, 1).group_by("tenant_id").agg(pl.col("rows").sum()).sort("tenant_id")
    assert told.rows() == [("b", 9), (REST, 6)]


COUNTS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from("ab"), st.integers(1, 9)), max_size=20)


@given(COUNTS)
def test_the_matrix_is_what_a_loop_counts(rows: list[tuple[int, str, int]]) -> None:
    history = past([{"day": day(ago), "tenant_id": name, "rows": n} for ago, name, n in rows])
    days = [day(i) for i in range(10)]
    groups = pl.DataFrame({"tenant_id": ["a", "b"]})
    expected = [[sum(n for ago, t, n in rows if day(ago) == d and t == name) for name in "ab"] for d in days]
    assert matrix(history, days, groups).tolist() == expected


def test_draws_are_blocks_of_days_in_a_circle() -> None:
    drawn = day_draws(30, 100, PLAN)
    assert drawn.shape == (200, 100)
    blocks = drawn[:, :98].reshape(200, 14, 7)
    assert ((np.diff(blocks, axis=2) % 30) == 1).all()
    assert np.bincount(drawn.ravel(), minlength=30).min() > 0.8 * drawn.size / 30
    assert (day_draws(30, 100, PLAN) == drawn).all()


REMOVED = st.lists(
    st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers(0, 30)), st.booleans(), st.integers(1, 5)),
    max_size=15,
)


@given(REMOVED)
def test_early_survival_is_the_product_limit_that_a_loop_finds(
    rows: list[tuple[int, int | None, bool, int]],
) -> None:
    known = [(ago, gone, early, n) for ago, gone, early, n in rows if gone is None or gone <= ago]
    ends = [None if gone is None else day(ago - gone) for ago, gone, _, _ in known]
    history = past(
        [
            {"day": day(ago), "rows": n, "gone_day": end, "is_early": early and end is not None}
            for (ago, _, early, n), end in zip(known, ends, strict=True)
        ]
    )
    found = early_survival(history, TODAY, 40)
    share, expected = 1.0, []
    for age in range(41):
        at_risk = sum(n for ago, gone, _, n in known if (ago if gone is None else gone) >= age)
        gone_now = sum(n for _, gone, early, n in known if early and gone == age)
        share *= 1 - (gone_now / at_risk if age and at_risk else 0)
        expected.append(share)
    assert found == pytest.approx(expected)


def test_a_lifetime_ends_on_its_day() -> None:
    shares = held_shares(np.linspace(1, 0.5, 6), 3)
    assert shares.tolist() == [1.0, 0.9, 0.8, 0.0, 0.0, 0.0]
    assert held_shares(np.ones(3), None).tolist() == [1, 1, 1]


def no_bytes() -> pl.DataFrame:
    return pl.DataFrame(schema=CLASSES_SCHEMA)


def bytes_of(*rows: tuple[str, str, int | None, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=CLASSES_SCHEMA, orient="row")


def at(told: pl.DataFrame, after: int, tenant: str = ALL) -> dict[str, Any]:
    return told.filter((pl.col("after_days") == after) & (pl.col("tenant_id") == tenant)).row(0, named=True)


def test_rows_without_end_grow_in_proportion() -> None:
    history = past(steady(100))
    window = window_of(history, TODAY, TODAY, PLAN)
    told = forecast(Past(history, window, TODAY, bytes_of(("t", OWN, None, 5_000.0))), PLAN)
    for after in (0, 30, 90, 365):
        found = at(told, after)
        assert found["rows"] == found["rows_low"] == found["rows_high"] == pytest.approx(1_000 + 10 * after)
        assert found["bytes"] == pytest.approx(5 * found["rows"])


def test_a_lifetime_makes_rows_saturate() -> None:
    history = past(steady(20, lifetime_days=40))
    told = forecast(Past(history, window_of(history, TODAY, TODAY, PLAN), TODAY, no_bytes()), PLAN)
    # 18 days of history reach 90 days: 40 days of 10 rows are held from then on.
    assert at(told, 90)["rows"] == pytest.approx(400)
    assert at(told, 30)["rows"] == pytest.approx(200 + 300 - 10 * 10)
    assert told["after_days"].max() == 90


def test_what_is_derived_outlives_its_episodes() -> None:
    history = past(steady(100, lifetime_days=50))
    window = window_of(history, TODAY, TODAY, PLAN)
    classes_of = bytes_of(("t", OWN, None, 600.0), ("t", "for ever", None, 1_000.0))
    told = forecast(Past(history, window, TODAY, classes_of), PLAN)
    grown = at(told, 90)["bytes"]
    # 60 rows a day and byte of own: 500 of the 1,000 rows are within their time. The rest grows with all.
    assert at(told, 90)["rows"] == pytest.approx(500)
    assert grown == pytest.approx(600 * 500 / 1_000 + 1_000 * (1_000 + 900) / 1_000)


def test_tenants_sum_to_all() -> None:
    history = past([*steady(60), *steady(60, rows=3, tenant_id="u", lifetime_days=20)])
    told = forecast(Past(history, window_of(history, TODAY, TODAY, PLAN), TODAY, no_bytes()), PLAN)
    for after in (30, 90):
        assert at(told, after)["rows"] == pytest.approx(
            at(told, after, "t")["rows"] + at(told, after, "u")["rows"]
        )


def test_the_interval_holds_what_a_slow_simulation_finds() -> None:
    random = np.random.default_rng(5)
    counts = random.poisson(20, 60).tolist()
    history = past([{"day": day(i), "rows": n, "lifetime_days": 25} for i, n in enumerate(counts)])
    window = window_of(history, TODAY, TODAY, PLAN)
    told = at(forecast(Past(history, window, TODAY, no_bytes()), PLAN), 30)
    days = window.days
    by_day = {day(i): n for i, n in enumerate(counts)}
    simulated = []
    for drawn in day_draws(len(days), 90, PLAN)[:, :30]:  # of 58 days no more than 290 are forecast
        came = [by_day[days[place]] for place in drawn]
        simulated.append(sum(n for i, n in enumerate(came) if 30 - (i + 1) < 25))
    assert told["rows_low"] == pytest.approx(np.quantile(simulated, 0.05))
    assert told["rows_high"] == pytest.approx(np.quantile(simulated, 0.95))
    assert told["rows_low"] < told["rows"] < told["rows_high"]


def test_the_interval_holds_most_of_the_futures_that_come() -> None:
    random = np.random.default_rng(11)
    inside = 0
    for _ in range(40):
        counts = random.poisson(20, 90)
        history = past([{"day": day(i), "rows": int(n)} for i, n in enumerate(counts)])
        told = at(
            forecast(Past(history, window_of(history, TODAY, TODAY, PLAN), TODAY, no_bytes()), PLAN), 30
        )
        came = counts.sum() + random.poisson(20, 30).sum()
        inside += told["rows_low"] <= came <= told["rows_high"]
    assert inside >= 28  # 90 % are meant; short windows make it a little less


def test_a_forecast_reaches_no_further_than_its_history_allows() -> None:
    assert horizons(PLAN, Window(day(20), day(1))) == ([30, 90], [365])
    assert horizons(PLAN, Window(day(90), day(1))) == ([30, 90, 365], [])


def test_lifetimes_of_tables_are_those_of_the_policy() -> None:
    found = table_lifetimes(Policy(), {"facts": "short_term", "summaries": "permanent"})
    assert found["facts"] == found["claims"] == found["lineage"] == 7
    assert found["summaries"] == 3 * 365
    assert found["procedures"] == 90
    assert found["recalls"] == 365
    assert found["forgotten"] is None
    assert "episodes" not in found


def test_bytes_of_one_lifetime_are_one_class() -> None:
    rows = pl.DataFrame(
        [("t", "episodes", 5.0), ("t", "facts", 7.0), ("t", "claims", 2.0)],
        schema={"tenant_id": pl.String, "table": pl.String, "bytes": pl.Float64}, orient="row",
    )  # fmt: skip
    told = classes(rows, {"facts": 365, "claims": 365}, {"t": 10.0})
    assert sorted(told.rows()) == [("t", "365 days", 365, 9.0), ("t", OWN, None, 15.0)]
