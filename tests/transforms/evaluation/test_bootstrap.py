"""Intervals: known cases, laws, and a slow plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.evaluation import bootstrap
from transforms.evaluation.bootstrap import intervals


def test_what_does_not_vary_has_no_width() -> None:
    found = intervals(np.full((20, 1), 0.25), resamples=200)[0]
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))


@pytest.mark.parametrize(("rows", "clusters"), [(1, None), (5, np.zeros(5, np.int64))])
def test_one_row_or_cluster_tells_nothing_of_others(rows: int, clusters: np.ndarray | None) -> None:
    found = intervals(np.arange(rows, dtype=float)[:, None], clusters=clusters)[0]
    assert (found.low, found.high) == (None, None)
    assert found.mean == pytest.approx((rows - 1) / 2)


def test_nothing_has_no_intervals() -> None:
    assert intervals(np.zeros((0, 3))) == []


def test_width_is_that_of_the_normal_approximation() -> None:
    values = np.random.default_rng(1).random((400, 1))
    found = intervals(values, resamples=4_000, seed=3)[0]
    half = 1.96 * values.std() / np.sqrt(400)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.1)


def test_clusters_that_agree_within_themselves_widen_it() -> None:
    """Ten clusters of forty equal values: 400 rows tell no more than ten."""
    values = np.repeat(np.random.default_rng(2).random(10), 40)[:, None]
    alone = intervals(values, seed=1)[0]
    whole = intervals(values, clusters=np.repeat(np.arange(10), 40), seed=1)[0]
    widths = [found.high - found.low for found in (alone, whole) if found.high and found.low]
    assert widths[1] > 4 * widths[0]


def plain(values: np.ndarray, codes: np.ndarray, resamples: int, seed: int) -> tuple[float, float]:
    """The definition: draw clusters, take all their rows, average."""
    names = np.unique(codes)
    random = np.random.default_rng(seed)
    picked = random.integers(0, len(names), (resamples, len(names)))
    means = [np.concatenate([values[codes == names[i]] for i in row]).mean() for row in picked]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=2, max_size=20), st.integers(0, 1_000)
)
def test_it_agrees_with_the_plain_way(rows: list[tuple[float, int]], seed: int) -> None:
    values, codes = np.array([v for v, _ in rows]), np.array([c for _, c in rows], np.int64)
    found = intervals(values[:, None], clusters=codes, resamples=60, seed=seed)[0]
    if len(set(codes.tolist())) < 2:
        assert found.low is None
    else:
        assert (found.low, found.high) == pytest.approx(plain(values, codes, 60, seed), abs=1e-9)


def test_columns_are_resampled_alike_and_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.random.default_rng(5).random((50, 1))
    found = intervals(np.hstack([one, one + 1, one - one]), resamples=300, seed=7)
    assert found[1].low == pytest.approx((found[0].low or 0) + 1)
    assert (found[2].low, found[2].high) == (0, 0)
    monkeypatch.setattr(bootstrap, "_CELLS", 50 * 7)
    again = intervals(one, resamples=300, seed=7)[0]
    assert (again.low, again.high) == pytest.approx((found[0].low, found[0].high))


def test_the_seed_decides() -> None:
    values = np.random.default_rng(6).random((30, 1))
    assert intervals(values, seed=1) == intervals(values, seed=1)
    assert intervals(values, seed=1) != intervals(values, seed=2)
