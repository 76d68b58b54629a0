"""Mixing a reranker's scores into relevance: laws, and a plain oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.reranking import mixed, top_positions

UNIT = st.floats(0, 1, allow_nan=False, width=32)
SCORE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def cases(draw):
    relevance = np.array(draw(st.lists(UNIT, min_size=1, max_size=12)))
    positions = top_positions(relevance, draw(st.integers(1, 12)))
    scores = np.array(draw(st.lists(SCORE, min_size=len(positions), max_size=len(positions))))
    return relevance, positions, scores, draw(UNIT)


def plainly(relevance, positions, scores, share):
    """The oracle, row by row."""
    held = [float(relevance[p]) for p in positions]
    low, high = min(held), max(held)
    if low == high or min(scores) == max(scores):
        return list(relevance)
    span = float(max(scores)) / 2 - float(min(scores)) / 2
    new = [
        (1 - share) * (r - low) / (high - low) + share * (float(s) / 2 - float(min(scores)) / 2) / span
        for r, s in zip(held, scores, strict=True)
    ]
    found = list(map(float, relevance))
    for p, value in zip(positions, new, strict=True):
        span_of_new = max(new) - min(new)
        found[p] = low + (high - low) * ((value - min(new)) / span_of_new if span_of_new else 0.0)
    return found


@given(cases())
def test_equals_the_plain_reading(case):
    assert mixed(*case) == pytest.approx(plainly(*case), abs=1e-9)


@given(cases())
def test_rows_that_were_not_scored_keep_theirs_and_stay_below(case):
    relevance, positions, scores, share = case
    changed = mixed(relevance, positions, scores, share)
    others = np.setdiff1d(np.arange(len(relevance)), positions)
    assert np.array_equal(changed[others], relevance[others])
    if len(others):
        assert changed[positions].min() >= relevance[others].max() - 1e-12
    assert changed.min() >= relevance.min() - 1e-12
    assert changed.max() <= relevance.max() + 1e-12


@given(cases())
def test_all_the_share_is_the_scores_order_and_none_of_it_is_the_old(case):
    relevance, positions, scores, _ = case
    whole, none = mixed(relevance, positions, scores, 1.0), mixed(relevance, positions, scores, 0.0)
    assert none == pytest.approx(relevance, abs=1e-9)
    held = relevance[positions]
    if held.max() / 2 > held.min() / 2 and scores.max() / 2 > scores.min() / 2:
        order = np.argsort(scores, kind="stable")
        assert (np.diff(whole[positions][order]) >= 0).all()
        assert whole[positions].max() == pytest.approx(held.max())


def test_scores_that_are_apart_by_the_least_number_change_nothing():
    relevance, positions = np.array([0.1, 0.9]), np.array([0, 1])
    assert mixed(relevance, positions, np.array([5e-324, 0.0]), 1.0).tolist() == [0.1, 0.9]


@given(cases(), st.floats(0.5, 100))
def test_only_differences_of_scores_count(case, factor):
    relevance, positions, scores, share = case
    small = np.clip(scores, -1e6, 1e6).round(3)
    moved = mixed(relevance, positions, small * factor + 5, share)
    assert moved == pytest.approx(mixed(relevance, positions, small, share), abs=1e-6)


def test_equal_scores_say_nothing():
    relevance = np.array([0.9, 0.5, 0.1])
    assert mixed(relevance, np.array([0, 1]), np.array([3.0, 3.0]), 0.9).tolist() == relevance.tolist()


def test_top_positions_are_the_most_relevant_of_equal_ones_the_earlier():
    assert top_positions(np.array([0.2, 0.9, 0.2, 0.5]), 3).tolist() == [1, 3, 0]
    assert top_positions(np.array([0.2]), 0).tolist() == []
