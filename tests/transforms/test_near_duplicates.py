"""Near-duplicate removal: the better row stays, the other names it."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.schemas import INSTANT
from transforms.scoring import Vectors, drop_near_duplicates

AS_OF = datetime(2026, 3, 31, tzinfo=UTC)


def scored_rows(*rows: tuple[str, float, str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={"memory_id": pl.String, "score": pl.Float64, "content_hash": pl.String}, orient="row"
    ).with_columns(event_at=pl.lit(AS_OF, dtype=INSTANT))


def angle(*degrees: float) -> Vectors:
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees])


def near_oracle(
    rows: list[tuple[str, float, str | None]], vectors: Vectors | None, threshold: float
) -> dict[str, str]:
    """Dropped memory_id -> the kept one it repeats."""
    kept: list[int] = []
    gone: dict[str, str] = {}
    for i in sorted(range(len(rows)), key=lambda i: (-rows[i][1], rows[i][0])):
        for j in kept:
            same = rows[i][2] is not None and rows[i][2] == rows[j][2]
            if vectors is not None:
                a, b = vectors[i].tolist(), vectors[j].tolist()
                norms = math.hypot(*a) * math.hypot(*b)
                same |= norms > 0 and sum(x * y for x, y in zip(a, b, strict=True)) / norms > threshold
            if same:
                gone[rows[i][0]] = rows[j][0]
                break
        else:
            kept.append(i)
    return gone


def test_the_higher_scored_of_a_pair_stays() -> None:
    rows = scored_rows(("a", 0.2, "x"), ("b", 0.9, "x"), ("c", 0.5, "y"))
    kept, dropped = drop_near_duplicates(rows, None, threshold=0.92)
    assert kept["memory_id"].to_list() == ["b", "c"]
    assert dropped.select("memory_id", "reason", "duplicate_of").rows() == [("a", "duplicate", "b")]
    assert kept.columns == rows.columns


def test_of_a_chain_the_middle_goes() -> None:
    rows = scored_rows(("a", 0.9, "1"), ("b", 0.8, "2"), ("c", 0.7, "3"))
    kept, dropped = drop_near_duplicates(rows, angle(0, 20, 40), threshold=0.92)  # cos 20 = .94, 40 = .77
    assert kept["memory_id"].to_list() == ["a", "c"]
    assert dropped["duplicate_of"].to_list() == ["a"]


def test_the_threshold_itself_is_no_duplicate() -> None:
    rows = scored_rows(("a", 0.9, "1"), ("b", 0.8, "2"))
    vectors = np.array([[1.0, 0.0], [3.0, 4.0]])  # cosine 0.6, whatever the length
    assert drop_near_duplicates(rows, vectors, threshold=0.6)[1].is_empty()
    assert drop_near_duplicates(rows, vectors, threshold=0.59)[1].height == 1


def test_rows_without_vector_or_hash_are_like_no_other() -> None:
    rows = scored_rows(("a", 0.9, None), ("b", 0.8, None), ("c", 0.7, "h"))
    vectors = np.array([[0.0, 0.0], [np.nan, np.nan], [0.0, 0.0]])
    assert drop_near_duplicates(rows, vectors, threshold=0.0)[1].is_empty()


def test_one_vector_a_row_is_asked_for() -> None:
    with pytest.raises(UsageError, match="2 rows"):
        drop_near_duplicates(scored_rows(("a", 1, "1"), ("b", 1, "2")), angle(0), threshold=0.9)


def test_nothing_in_nothing_out() -> None:
    kept, dropped = drop_near_duplicates(scored_rows(), np.zeros((0, 4), np.float32), threshold=0.9)
    assert kept.is_empty()
    assert dropped.is_empty()
    assert dropped.columns == [*kept.columns, "reason", "duplicate_of"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from(["x", "y", "z", None]), st.integers(0, 35)
        ),
        max_size=10,
    ),
    st.sampled_from([0.0, 0.55, 0.92, 0.999]),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_duplicates_are_the_oracles_in_any_order(
    drawn: list[tuple[float, str | None, int]], threshold: float, shuffler: random.Random, has_vectors: bool
) -> None:
    rows = [(f"m{i:02}", points, content) for i, (points, content, _) in enumerate(drawn)]
    # 10-degree steps and a nudge, so that no angle lies on a threshold.
    vectors = angle(*[10.0 * step + 0.01 * step for _, _, step in drawn]).reshape(-1, 2)
    expected = near_oracle(rows, vectors if has_vectors else None, threshold)
    order = list(range(len(rows)))
    shuffler.shuffle(order)
    kept, dropped = drop_near_duplicates(
        scored_rows(*[rows[i] for i in order]), vectors[order] if has_vectors else None, threshold=threshold
    )
    assert dict(dropped.select("memory_id", "duplicate_of").rows()) == expected
    assert sorted([*kept["memory_id"], *dropped["memory_id"]]) == [row[0] for row in rows]
    ranked = sorted(rows, key=lambda row: (-row[1], row[0]))
    assert kept["memory_id"].to_list() == [row[0] for row in ranked if row[0] not in expected]
