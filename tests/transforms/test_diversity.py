"""Rows that differ make room for each other; against a plain choice one after the other."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms.diversity import diversified

ANGLES = [0, 10, 30, 60, 90, 180]


def oracle(scores: list[float], vectors: list[list[float]], share: float, count: int) -> list[int]:
    """The rows that come first."""
    chosen: list[int] = []

    def like(row: int) -> float:
        return max((float(np.dot(vectors[row], vectors[c])) for c in chosen), default=0.0)

    while len(chosen) < count:
        free = [i for i in range(len(scores)) if i not in chosen and like(i) <= 0.92]
        if not free:
            break
        chosen.append(max(free, key=lambda i: (scores[i] - share * scores[0] * max(like(i), 0.0), -i)))
    return sorted(chosen)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(ANGLES)), min_size=1, max_size=12),
    st.sampled_from([0.2, 0.5, 1.0]),
    st.integers(1, 12),
)
def test_the_rows_that_come_first_are_those_of_a_plain_oracle(
    rows: list[tuple[int, int]], share: float, count: int
) -> None:
    scores = sorted((value / 20 for value, _ in rows), reverse=True)
    vectors = [[math.cos(math.radians(a)), math.sin(math.radians(a))] for _, a in rows]
    places: list[int] = diversified(
        np.array(scores), np.array(vectors), share=share, count=count, cosine=0.92
    ).tolist()
    assert sorted(places) == list(range(len(rows)))
    if count >= len(rows):
        assert places == sorted(places)
        return
    expected = oracle(scores, vectors, share, count)
    repeats = {
        i
        for i in range(len(rows))
        if i not in expected and max(np.dot(vectors[i], vectors[c]) for c in expected) > 0.92
    }
    assert [place for place in places if place not in repeats][: len(expected)] == expected
    least = places.index(expected[-1])
    assert all(scores[a] >= scores[b] for a, b in pairwise(places[: least + 1]))


def test_of_rows_alike_one_makes_room_for_another_subject() -> None:
    scores = np.array([0.9, 0.88, 0.87, 0.8])
    vectors = np.array([[1, 0], [0.9, 0.436], [0.9, -0.436], [0, 1]])
    assert diversified(scores, vectors, share=0.2, count=2, cosine=0.92).tolist() == [0, 3, 1, 2]
    assert diversified(scores, vectors, share=0.0, count=2, cosine=0.92).tolist() == [0, 1, 2, 3]
    assert diversified(scores, vectors, share=0.2, count=None, cosine=0.92).tolist() == [0, 1, 2, 3]


def test_a_repeated_row_stays_behind_the_one_it_repeats_and_takes_no_place() -> None:
    scores = np.array([0.9, 0.9, 0.5, 0.4])
    vectors = np.array([[1, 0], [1, 0], [0.5, 0.866], [0.5, -0.866]])
    assert diversified(scores, vectors, share=0.2, count=2, cosine=0.92).tolist() == [0, 1, 2, 3]


def test_no_rows() -> None:
    assert diversified(np.zeros(0), np.zeros((0, 2)), share=0.2, count=3, cosine=0.9).tolist() == []
