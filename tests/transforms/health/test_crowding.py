"""Near-identical rows: pairs as a plain loop finds them, answers with known repeats, a fair sample."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.health import crowding
from transforms.health.crowding import answers, near_pairs, sampled

HASH = st.sampled_from(["a", "b", None])
VECTOR = st.one_of(st.none(), st.just([]), st.lists(st.integers(-2, 2), min_size=3, max_size=3))


def unit(values: list[int] | None) -> list[float] | None:
    length = math.sqrt(sum(v * v for v in values or []))
    return [v / length for v in values] if values and length else values and [0.0] * 3  # type: ignore[return-value]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(HASH, VECTOR), max_size=9), st.sampled_from([0.3, 0.92]))
def test_pairs_as_a_plain_loop_finds_them(
    rows: list[tuple[str | None, list[int] | None]], cosine: float
) -> None:
    hashes, vectors = [h for h, _ in rows], [unit(v) for _, v in rows]
    wanted = []
    for i, j in itertools.combinations(range(len(rows)), 2):
        left, right = vectors[i], vectors[j]
        near = None
        if left and right and any(left) and any(right):
            near = sum(a * b for a, b in zip(left, right, strict=True))
        same = hashes[i] is not None and hashes[i] == hashes[j]
        if same or (near is not None and near > cosine + 1e-5):
            wanted.append((i, j, same, None if near is None else round(near, 5)))
    found = near_pairs(hashes, vectors, cosine)
    told = [
        (i, j, same, None if near is None else round(near, 5))
        for i, j, near, same in found.iter_rows()
        if same or near > cosine + 1e-5
    ]
    assert told == wanted


def test_pairs_over_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(40, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    hashes = [f"{n % 17}" for n in range(40)]
    whole = near_pairs(hashes, vectors.tolist(), 0.8)
    monkeypatch.setattr(crowding, "_BLOCK", 7)
    assert near_pairs(hashes, vectors.tolist(), 0.8).equals(whole)
    assert whole.height > 20


def test_a_cosine_at_the_threshold_is_not_near() -> None:
    assert near_pairs([None, None], [[1.0, 0.0], [0.0, 1.0]], 0.0).is_empty()
    assert near_pairs([None, None], [[1.0, 0.0], [1.0, 0.0]], 1.0).is_empty()


def test_answers_that_repeat_themselves() -> None:
    rows = pl.DataFrame(
        [
            ("t", "c1", 1, "x", [1.0, 0.0]),
            ("t", "c1", 2, "y", [1.0, 0.0]),
            ("t", "c1", 3, "x", [0.0, 1.0]),
            ("t", "c2", 1, "x", [1.0, 0.0]),
            ("t", "c2", 2, "z", [0.0, 1.0]),
            ("t", "c3", 1, "x", [1.0, 0.0]),
        ],
        schema={"tenant_id": pl.String, "call_id": pl.String, "rank": pl.Int32, "content_hash": pl.String,
                "vector": pl.List(pl.Float32)},
        orient="row",
    )  # fmt: skip
    found = answers(rows.sample(fraction=1, shuffle=True, seed=5), 0.92)
    assert found.rows() == [("t", "c1", 3, 2, 2), ("t", "c2", 2, 0, 0)]
    assert crowding.crowding(found, []).rows() == [(2, 0.5, 1.0, 2 / 5)]


def test_a_sample_is_spread_over_the_calls_and_always_the_same() -> None:
    calls = pl.DataFrame({"n": range(10)})
    assert sampled(calls, 3)["n"].to_list() == [0, 3, 6]
    assert sampled(calls, 10).equals(calls)
    assert sampled(calls.clear(), 3).is_empty()
