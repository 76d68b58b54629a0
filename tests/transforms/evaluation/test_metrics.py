"""Places and metrics, by hand and against a slow plain oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.evaluation.metrics import (
    ANSWERS,
    RELEVANT,
    first_ranks,
    places,
    scores,
    separation,
)

Rows = Sequence[Sequence[str]]


def answers(*of: Rows) -> pl.DataFrame:
    rows = [(q, rank, list(items)) for q, found in enumerate(of) for rank, items in enumerate(found, 1)]
    return pl.DataFrame(rows, schema=ANSWERS, orient="row")


def relevant(*of: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(q, item) for q, items in enumerate(of) for item in items], schema=RELEVANT, orient="row"
    )


def placed(found: Rows, wanted: Sequence[str], *, repeat_places: int = 1) -> list[int | None]:
    return places(answers(found), relevant(wanted), repeat_places=repeat_places)["place"].to_list()


@pytest.mark.parametrize(
    ("found", "wanted", "expected"),
    [
        (["a", "b", "c"], "abc", [1, 2, 3]),
        (["a", "b", "c"], "cz", [3, None]),
        ([], "a", [None]),
        # a row of three new turns takes three places, and all of them stand at the last
        ([["a", "b", "c"], "d"], "abcd", [3, 3, 3, 4]),
        # what a better row pointed to is not counted again, so the summary takes two
        (["a", ["a", "b", "c"], "d"], "abd", [1, 3, 4]),
        # a row that adds nothing still takes the place it has in the answer
        (["a", ["a"], "b"], "ab", [1, 3]),
        ([[], "a"], "a", [2]),
    ],
)
def test_places(found: Rows, wanted: Sequence[str], expected: list[int | None]) -> None:
    assert placed(found, list(wanted)) == expected


def test_distinct_sessions_are_ranked_without_repeats() -> None:
    found = ["s1", "s1", "s2", ["s2", "s1"], ["s3", "s4"]]
    assert placed([[s] if isinstance(s, str) else s for s in found], ["s2", "s4"], repeat_places=0) == [2, 4]


def test_first_ranks_follow_every_source() -> None:
    found = answers([["a", "b", "c"], ["d"], ["a"]])
    assert first_ranks(found, relevant("bdz"))["place"].to_list() == [1, 2, None]


def test_metrics_of_a_small_table() -> None:
    """Three questions of which the last has no label.

    | question | relevant | places  | recall@2 | recall@5 | dcg@10                  | ideal           |
    |----------|----------|---------|----------|----------|-------------------------|-----------------|
    | 0        | a b      | 1, 4    | 0.5      | 1        | 1/log2(2) + 1/log2(5)   | 1 + 1/log2(3)   |
    | 1        | x        | -       | 0        | 0        | 0                       | 1               |
    """
    found = answers(["a", "c", "d", "b"], ["y"], ["z"])
    values = scores(places(found, relevant("ab", "x")), 3, (2, 5))
    np.testing.assert_allclose(values["recall@2"], [0.5, 0, np.nan])
    np.testing.assert_allclose(values["recall@5"], [1, 0, np.nan])
    gain = (1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    np.testing.assert_allclose(values["ndcg@10"], [gain, 0, np.nan])
    np.testing.assert_allclose(values["hit@1"], [1, 0, np.nan])


def test_more_labels_than_ndcg_looks_at_are_no_fault_of_the_answer() -> None:
    names = [f"n{i}" for i in range(15)]
    values = scores(places(answers([[n] for n in names]), relevant(names)), 1, (10,))
    assert values["ndcg@10"][0] == pytest.approx(1)
    assert values["recall@10"][0] == pytest.approx(10 / 15)


ITEMS = st.sampled_from("abcdefgh")
FOUND = st.lists(st.lists(ITEMS, min_size=1, max_size=4, unique=True), max_size=8)
WANTED = st.lists(ITEMS, min_size=1, max_size=5, unique=True)


def oracle(found: Rows, wanted: Sequence[str], repeat_places: int) -> list[int | None]:
    seen: dict[str, int] = {}
    place = 0
    for row in found:
        new = [item for item in row if item not in seen]
        place += max(len(new), repeat_places)
        seen |= dict.fromkeys(new, place)
    return [seen.get(item) for item in wanted]


@given(st.lists(st.tuples(FOUND, WANTED), min_size=1, max_size=4), st.sampled_from([0, 1]))
def test_places_agree_with_the_plain_way(cases: list[tuple[Rows, list[str]]], repeat_places: int) -> None:
    found = places(
        answers(*(f for f, _ in cases)), relevant(*(w for _, w in cases)), repeat_places=repeat_places
    )
    expected = [place for f, w in cases for place in oracle(f, w, repeat_places)]
    assert found["place"].to_list() == expected


@given(FOUND, WANTED)
def test_laws(found: Rows, wanted: list[str]) -> None:
    values = scores(places(answers(found), relevant(wanted)), 1, (1, 3, 5, 10))
    at = [values[f"recall@{k}"][0] for k in (1, 3, 5, 10)]
    assert at == sorted(at)
    assert 0 <= values["ndcg@10"][0] <= 1 + 1e-12
    # No row can bring more turns into the first k places than there are places.
    for k, recall in zip((1, 3, 5, 10), at, strict=True):
        assert recall * len(wanted) <= k + 1e-9
    generous = scores(first_ranks(answers(found), relevant(wanted)), 1, (1, 3, 5, 10))
    assert all(generous[f"recall@{k}"][0] >= values[f"recall@{k}"][0] for k in (1, 3, 5, 10))


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [([2, 3], [0, 1], 1.0), ([0], [1], 0.0), ([1], [1], 0.5), ([1, 3], [2, 0], 0.75), ([], [1], None)],
)
def test_separation(positive: list[float], negative: list[float], expected: float | None) -> None:
    assert separation(np.array(positive, float), np.array(negative, float)) == expected
