"""When a gain is told from chance: Holm by its definition, refusals, and errors counted over many worlds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.policy_tune import TunePolicy
from transforms.tuning.result import FINALISTS, Gain, Span
from transforms.tuning.verdict import Drawn, finalists, gain_of, holm, p_values, verdict

TUNE = TunePolicy(resamples=400)
SPAN = Span(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 30, tzinfo=UTC), 400, 80, 20)
GOOD = Gain(0.03, 0.01, 0.05, 0.95, 20, "user", 0.04)


def users(count: int, calls: int) -> Drawn:
    return Drawn(np.arange(calls) % count, "user")


def judged(gain: Gain, **changes: bool) -> tuple[bool, str]:
    told = {"is_changed": True, "is_feasible": True, **changes}
    found = verdict(gain, tried=300, test=SPAN, tune=TUNE, **told)
    return found.is_recommended, found.told


@pytest.mark.parametrize(
    ("gain", "is_recommended", "told"),
    [
        (GOOD, True, "nDCG@10 +0.0300 [+0.0100, +0.0500]"),
        (replace(GOOD, low=0.0), False, "is not told from no gain"),
        (replace(GOOD, low=-0.01), False, "is not told from no gain"),
        (replace(GOOD, mean=-0.03, low=-0.05, high=-0.01), False, "is not told from no gain"),
        (replace(GOOD, clusters=9), False, "9 users"),
        (replace(GOOD, low=None, high=None, clusters=1), False, "1 users"),
    ],
)
def test_only_an_interval_above_no_gain_is_recommended(gain: Gain, is_recommended: bool, told: str) -> None:
    found = judged(gain)
    assert found[0] == is_recommended
    assert told in found[1]


def test_a_gain_that_rests_on_what_was_taken_for_forgotten_is_refused() -> None:
    for order in (replace(GOOD, mean=0.0, low=-0.01), replace(GOOD, mean=0.0, low=None)):
        found = verdict(GOOD, True, True, 300, SPAN, TUNE, order)
        assert not found.is_recommended
        assert "were recalled all the same. Without them it is +0.0000" in found.told
    assert verdict(GOOD, True, True, 300, SPAN, TUNE, replace(GOOD, mean=0.02)).is_recommended


def test_nothing_better_and_nothing_feasible_are_said() -> None:
    assert judged(GOOD, is_changed=False) == (
        False,
        "None of 300 policies serves better than the current one by more than 0.001 (tune.tolerance).",
    )
    assert judged(GOOD, is_feasible=False) == (False, "None of 300 policies keeps the constraints.")


def test_the_warning_sets_the_promise_beside_what_was_kept() -> None:
    [told] = verdict(GOOD, True, True, 300, SPAN, TUNE).warnings
    assert "300 policies" in told
    assert "+0.0400 where it was chosen, +0.0300 on the later span" in told
    assert GOOD.optimism == pytest.approx(0.01)
    sessions = verdict(replace(GOOD, clustered_by="session"), True, True, 300, SPAN, TUNE).warnings
    assert "for these users, not for others" in sessions[1]


def plain_holm(values: list[float]) -> list[float]:
    """By definition: the smallest level at which the step-down test rejects."""
    ordered = sorted(range(len(values)), key=lambda i: (values[i], i))
    found = [0.0] * len(values)
    for place, i in enumerate(ordered):
        found[i] = min(1.0, max(values[j] * (len(values) - n) for n, j in enumerate(ordered[: place + 1])))
    return found


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_holm(values: list[float]) -> None:
    assert holm(np.array(values)).tolist() == pytest.approx(plain_holm(values))


def test_a_planted_gain_has_its_interval_and_p_value() -> None:
    random = np.random.default_rng(5)
    per_user = random.normal(0.05, 0.02, 30)
    drawn = users(30, 600)
    difference = per_user[drawn.codes] + random.normal(0, 0.05, 600)
    gain = gain_of(difference, drawn, 0.07, TUNE)
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low < 0.05 < gain.high
    assert (gain.clusters, gain.clustered_by, gain.train) == (30, "user", 0.07)
    nothing = difference - difference.mean()
    values = p_values(np.column_stack([difference, -difference, nothing]), drawn, TUNE)
    assert values[0] == values[1] == pytest.approx(2 / 401)
    assert values[2] > 0.5


def test_worlds_without_a_gain_are_recommended_as_seldom_as_the_level_says() -> None:
    """Users differ, calls of one alike: drawing calls would take that for a gain far more often."""
    random = np.random.default_rng(11)
    drawn, worlds = users(20, 400), 300
    by_users = by_calls = 0
    for _ in range(worlds):
        difference = random.normal(0, 0.05, 20)[drawn.codes] + random.normal(0, 0.05, 400)
        by_users += judged(gain_of(difference, drawn, 0.1, TUNE))[0]
        alone = Drawn(np.arange(400), "session")
        by_calls += judged(gain_of(difference, alone, 0.1, TUNE))[0]
    assert by_users / worlds < 0.06  # a one-sided error of 0.025, and percentile intervals are a bit narrow
    assert by_calls / worlds > 0.15


def test_finalists_are_adjusted_for_their_number() -> None:
    random = np.random.default_rng(2)
    drawn = users(20, 400)
    current = random.uniform(0.3, 0.7, 400)
    slight = np.where(drawn.codes < 15, 0.02, -0.031)[:, None] + random.normal(0, 0.01, (400, 1))
    test = current[:, None] + np.hstack([np.full((400, 1), 0.1), slight, np.zeros((400, 1))])
    ahead = pl.DataFrame({"trial": [7, 3, 9], "train": [0.6, 0.58, 0.55], "train_gain": [0.1, 0.08, 0.05]})
    found = finalists(ahead, test, current, drawn, TUNE)
    assert found.schema == pl.Schema(FINALISTS)
    assert found["trial"].to_list() == [7, 3, 9]
    assert found["gain"].to_list() == pytest.approx([0.1, slight.mean(), 0.0])
    assert found["is_better"].to_list() == [True, False, False]
    assert (found["p_adjusted"] >= found["p_value"]).all()
    assert finalists(ahead.clear(), test[:, :0], current, drawn, TUNE).is_empty()
