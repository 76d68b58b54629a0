"""The engine beside slow plain-Python versions of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.topics.rows import policy
from transforms.topics.clusters import clusters, least_size, linked, nearest, products, sums_of
from transforms.topics.shape import background, cohesion, mean_directions
from transforms.topics.vectors import Floats, unit, with_context

# Steps of 7 degrees and a growing nudge: no two pairs are equally far, and none lies on a threshold.
ANGLES = st.lists(st.integers(0, 50), min_size=1, max_size=9).map(
    lambda steps: [7.0 * step + 0.011 * (i + 1) ** 2 for i, step in enumerate(steps)]
)


def plane(angles: list[float]) -> Floats:
    radians = np.radians(np.array(angles))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def linked_oracle(angles: list[float], cosine: float) -> set[frozenset[int]]:
    """Merge the two groups with the greatest mean cosine while it is at least ``cosine``."""
    groups = [[i] for i in range(len(angles))]
    while len(groups) > 1:
        best, pair = -2.0, (0, 0)
        for a in range(len(groups)):
            for b in range(a):
                mean = sum(
                    math.cos(math.radians(angles[i] - angles[j])) for i in groups[a] for j in groups[b]
                ) / (len(groups[a]) * len(groups[b]))
                if mean > best:
                    best, pair = mean, (a, b)
        if best < cosine:
            break
        groups[pair[1]] += groups.pop(pair[0])
    return {frozenset(group) for group in groups}


def as_sets(places: list[int]) -> set[frozenset[int]]:
    return {frozenset(i for i, p in enumerate(places) if p == place) for place in places}


@given(ANGLES, st.sampled_from([0.05, 0.3, 0.8]))
def test_average_linkage_is_the_oracles(angles: list[float], cosine: float) -> None:
    assert as_sets(linked(plane(angles), cosine).tolist()) == linked_oracle(angles, cosine)


@given(ANGLES, st.lists(st.integers(0, 3), min_size=9, max_size=9), st.integers(0, 3))
def test_context_is_the_oracles(angles: list[float], sessions: list[int], turns: int) -> None:
    sessions = sorted(sessions[: len(angles)])
    rows = plane(angles)
    found = with_context(rows, np.array(sessions), 0.5, turns)
    for i in range(len(angles)):
        around = [
            rows[j]
            for j in range(len(angles))
            if j != i and abs(j - i) <= turns and sessions[j] == sessions[i]
        ]
        mean = np.mean(around, axis=0) if around else np.zeros(2)
        total = rows[i] + 0.5 * mean
        assert found[i] == pytest.approx(total / math.hypot(*total), abs=1e-9)


@given(ANGLES, st.lists(st.integers(-1, 2), min_size=9, max_size=9))
def test_sums_are_the_oracles(angles: list[float], drawn: list[int]) -> None:
    rows, places = plane(angles), np.array(drawn[: len(angles)])
    sums, sizes = sums_of(rows, places, 3)
    for place in range(3):
        held = [row for row, at in zip(rows.tolist(), places, strict=True) if at == place]
        assert sizes[place] == len(held)
        assert sums[place] == pytest.approx([sum(row[k] for row in held) for k in range(2)])


@given(ANGLES)
def test_cohesion_without_a_background_is_the_mean_cosine_of_pairs(angles: list[float]) -> None:
    rows = plane(angles)
    pairs = [math.cos(math.radians(a - b)) for i, a in enumerate(angles) for b in angles[:i]]
    found = cohesion(rows.mean(axis=0)[None], np.array([len(rows)]), np.zeros(2))[0]
    if pairs:
        assert found == pytest.approx(sum(pairs) / len(pairs), abs=1e-9)


def test_mean_directions_with_equal_lengths_off_the_background_are_exact() -> None:
    rows = plane([40, -40])  # both as far from a background on the axis between them
    common = np.array([0.3, 0.0])
    exact = unit(rows - common).mean(axis=0)
    assert mean_directions(rows.mean(axis=0)[None], common)[0] == pytest.approx(exact)


def test_background_is_a_share_of_the_mean() -> None:
    assert background(np.array([4.0, 2.0]), 4, 0.5).tolist() == [0.5, 0.25]
    assert background(np.zeros(2), 0, 0.5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("rows", "least"), [(0, 3), (144, 3), (400, 5), (10_000, 25)])
def test_among_more_rows_a_topic_needs_more(rows: int, least: int) -> None:
    assert least_size(rows, policy(min_size=3, size_root=0.25).topics) == least


def test_clusters_are_numbered_by_their_first_row_and_small_ones_are_none() -> None:
    rows = plane([0, 90, 0.1, 180, 90.1, 0.2, 90.2])
    assert clusters(rows, 3, policy().topics).tolist() == [0, 1, 0, -1, 1, 0, 1]
    assert clusters(rows[:2], 3, policy().topics).tolist() == [-1, -1]


@pytest.mark.parametrize("shape", [(1, 1), (1, 256), (31, 256), (33, 256), (100, 256), (7, 700), (600, 3)])
def test_products_in_tiles_are_the_plain_ones(shape: tuple[int, int]) -> None:
    rows = unit(np.random.default_rng(5).normal(size=shape).astype(np.float32))
    found = products(rows)
    assert found.shape == (shape[0], shape[0])
    assert np.abs(found - rows.astype(np.float64) @ rows.astype(np.float64).T).max() < 1e-6


def test_the_first_of_equal_centroids_is_nearest() -> None:
    place, cosine = nearest(plane([45]), plane([0, 90]))
    assert place.tolist() == [0]
    assert cosine[0] == pytest.approx(math.cos(math.radians(45)))
