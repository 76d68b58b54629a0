"""The retention score: every weight moves it, age lowers it, and it is told when it will be too low."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.forgetting.plain import AS_OF, DAY, Access, score
from transforms.forgetting.score import is_forgotten, score_expr, scored
from transforms.policy_entries import MEMORY_KINDS
from transforms.policy_retention import DecayPolicy
from transforms.schemas import INSTANT

SCHEMA: dict[str, Any] = {
    "kind": pl.String,
    "importance": pl.Float32,
    "event_at": INSTANT,
    "access_count": pl.Int32,
    "last_accessed_at": INSTANT,
}
Row = tuple[str, float, datetime, int, datetime]
OLD: Row = ("conversation", 0.5, AS_OF - 100 * DAY, 4, AS_OF - 7 * DAY)


def of(*rows: Row, decay: DecayPolicy | None = None, at: datetime = AS_OF) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return scored(frame.lazy(), decay or DecayPolicy(), at).collect()


def one(row: Row, **fields: Any) -> float:
    return float(of(row, decay=DecayPolicy(**fields))["score"][0])


def test_the_formula_of_the_policies() -> None:
    # 0.5 x 0.5 + 0.35 x 0.5 (one half-life) + 0.15 x ln 5 / ln 50
    assert one(OLD) == pytest.approx(0.25 + 0.175 + 0.15 * 0.411410, abs=1e-6)
    never = ("fact", 1.0, AS_OF - 900 * DAY, 0, AS_OF - 900 * DAY)
    assert one(never) == pytest.approx(0.85)  # a fact has no half-life


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("importance_weight", 0.6),
        ("recency_weight", 0.2),
        ("frequency_weight", 0.3),
        ("frequency_scale", 20.0),
        ("half_life_days", {"conversation": 14.0}),
        ("half_life_days", {"conversation": None}),
        ("fade_after_days", 90.0),
        ("fade_more_after_days", 95.0),
    ],
)
def test_moving_any_weight_moves_the_score(name: str, value: Any) -> None:
    assert one(OLD, **{name: value}) != pytest.approx(one(OLD), abs=1e-3)


@pytest.mark.parametrize(("name", "switch"), [("fade_factor", "fade_after_days"),
                                              ("fade_more_factor", "fade_more_after_days")])  # fmt: skip
def test_moving_a_factor_of_fading_moves_the_score(name: str, switch: str) -> None:
    assert one(OLD, **{switch: 90.0, name: 0.1}) < one(OLD, **{switch: 90.0, name: 0.3}) - 1e-3


def test_moving_the_threshold_forgets_more() -> None:
    rows = [("conversation", share / 10, AS_OF - 40 * DAY, 0, AS_OF - 40 * DAY) for share in range(11)]
    policies = [DecayPolicy(forget_below=below) for below in (0.0, 0.15, 0.3, 1.0)]
    counts = [of(*rows).filter(is_forgotten(decay)).height for decay in policies]
    assert counts == [0, 3, 6, 11]


def test_importance_of_three_tenths_can_never_fall_below_the_threshold() -> None:
    row = ("conversation", 0.31, AS_OF - 36_000 * DAY, 0, AS_OF - 36_000 * DAY)
    found = of(row)
    assert found.filter(is_forgotten(DecayPolicy())).is_empty()
    assert found["forgotten_at"].to_list() == [None]


def test_a_clock_that_is_ahead_gives_no_more_than_now() -> None:
    ahead = ("conversation", 0.5, AS_OF + 400 * DAY, 0, AS_OF + 400 * DAY)
    now = ("conversation", 0.5, AS_OF, 0, AS_OF)
    assert of(ahead)["score"].to_list() == of(now)["score"].to_list() == [pytest.approx(0.6)]


def test_reinforcement_is_bounded() -> None:
    often = [("conversation", 0.5, AS_OF, count, AS_OF) for count in (0, 1, 49, 50, 10**9)]
    scores = of(*often)["score"].to_list()
    assert scores[:3] == sorted(scores[:3])
    assert scores[2:] == [pytest.approx(0.75)] * 3  # 0.25 + 0.35 + all of 0.15


def test_fading_looks_at_the_age_and_only_at_what_happened() -> None:
    lives = {"conversation": None}
    decay = DecayPolicy(fade_after_days=90.0, fade_more_after_days=365.0, half_life_days=lives)
    ages = (89.999, 90, 364.999, 365)
    rows = [("conversation", 1.0, AS_OF - age * DAY, 0, AS_OF) for age in ages]
    full = 0.85
    assert of(*rows, decay=decay)["score"].to_list() == pytest.approx([full, full / 2, full / 2, full / 5])
    kept = [(kind, 1.0, AS_OF - 400 * DAY, 0, AS_OF) for kind in ("summary", "fact", "lesson")]
    assert of(*kept, decay=decay)["score"].to_list() == pytest.approx([full] * 3)


DECAYS = st.builds(
    lambda weights, below, fades, lives: DecayPolicy(
        importance_weight=weights[0], recency_weight=weights[1], frequency_weight=weights[2],
        forget_below=below, fade_after_days=fades[0], fade_more_after_days=fades[1], half_life_days=lives,
    ),
    st.tuples(*[st.floats(0, 1)] * 3),
    st.floats(0, 1),
    st.tuples(st.none() | st.floats(1, 300), st.none() | st.floats(1, 900)),
    st.fixed_dictionaries({"conversation": st.none() | st.floats(0.1, 500), "summary": st.just(30.0)}),
)  # fmt: skip
ROWS = st.builds(
    lambda kind, importance, age, count, idle: (
        kind, importance, AS_OF - age * DAY, count, AS_OF - min(age, idle) * DAY
    ),
    st.sampled_from([*MEMORY_KINDS, "odd"]),
    st.floats(0, 1, width=32),
    st.floats(-2, 1_000),
    st.integers(0, 200),
    st.floats(-2, 1_000),
)  # fmt: skip


def in_order(decay: DecayPolicy) -> bool:
    steps = (decay.fade_after_days, decay.fade_more_after_days)
    return None in steps or steps[0] < steps[1]  # type: ignore[operator]


@given(st.lists(ROWS, min_size=1, max_size=8), DECAYS.filter(in_order))
def test_the_score_is_the_oracles(rows: list[Row], decay: DecayPolicy) -> None:
    found = of(*rows, decay=decay)
    names = ("kind", "importance", "event_at", "access_count", "last_accessed_at")
    for row, value in zip(found.iter_rows(named=True), found["score"], strict=True):
        shown = {name: row[name] for name in names}
        seen = Access(row["access_count"], row["last_accessed_at"])
        assert value == pytest.approx(score(shown, seen, decay, AS_OF), abs=1e-9)
    frame = found.select(names)
    assert frame.select(score_expr(decay, AS_OF)).to_series().to_list() == found["score"].to_list()


@settings(max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=8), DECAYS.filter(in_order), st.integers(0, 2_000))
def test_it_is_told_when_the_score_will_be_too_low(rows: list[Row], decay: DecayPolicy, days: int) -> None:
    """Before the instant it is not, from it on it is; a row without one never is."""
    at = AS_OF + timedelta(days=days)
    for row in of(*rows, decay=decay, at=at).iter_rows(named=True):
        known = tuple(row[name] for name in SCHEMA)
        due = row["forgotten_at"]
        if due is None:
            assert row["score"] >= decay.forget_below - 1e-9
            continue
        after = of(known, decay=decay, at=due + timedelta(seconds=1))["score"][0]  # type: ignore[arg-type]
        assert after < decay.forget_below + 1e-6
        if due > max(row["last_accessed_at"], row["event_at"]) + timedelta(seconds=1):
            before = of(known, decay=decay, at=due - timedelta(seconds=1))["score"][0]  # type: ignore[arg-type]
            assert before >= decay.forget_below - 1e-6


def test_scored_hourly_daily_or_weekly_it_is_the_same_at_the_same_instant() -> None:
    decay = DecayPolicy(fade_after_days=30.0)
    row: Row = ("conversation", 0.2, AS_OF - 60 * DAY, 3, AS_OF - 50 * DAY)
    final = {}
    for hours in (1, 24, 24 * 7):
        at = AS_OF - 7 * DAY
        while at <= AS_OF:
            frame = of(row, decay=decay, at=at)  # nothing of one scoring goes into the next
            at += timedelta(hours=hours)
        final[hours] = of(row, decay=decay)["score"][0]
        assert frame["forgotten_at"].to_list() == of(row, decay=decay)["forgotten_at"].to_list()
    assert len(set(final.values())) == 1
