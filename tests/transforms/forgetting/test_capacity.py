"""Budgets of an owner: by count and by size, against a plain reading of the rule."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from transforms.forgetting.capacity import over_capacity, over_size
from transforms.schemas import INSTANT

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = {
    "episode_id": pl.String,
    "tenant_id": pl.String,
    "owner": pl.String,
    "score": pl.Float64,
    "is_pinned": pl.Boolean,
    "event_at": INSTANT,
    "content_chars": pl.Int64,
}
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from(["user:1", "user:2", None]),
        st.sampled_from([0.1, 0.2, 0.5]),
        st.booleans(),
        st.integers(0, 3),
        st.integers(0, 40),
    ),
    max_size=25,
)


def frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    made = [
        (f"e{n:02d}", tenant, owner, score, is_pinned, BEGIN + timedelta(days=day), chars)
        for n, (tenant, owner, score, is_pinned, day, chars) in enumerate(rows)
    ]
    return pl.DataFrame(made, schema=SCHEMA, orient="row")


def plainly(rows: pl.DataFrame, budget: int, size: str | None) -> set[str]:
    """Walk each owner's rows from the best down; what no longer fits goes, but for pinned ones."""
    owners: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows.to_dicts():
        if row["owner"] is not None:
            owners[row["tenant_id"], row["owner"]].append(row)
    gone = set()
    for mine in owners.values():
        best = sorted(mine, key=lambda r: (r["is_pinned"], r["score"], r["event_at"], r["episode_id"]))
        taken = 0
        for row in reversed(best):
            taken += 1 if size is None else row[size]
            if taken > budget and not row["is_pinned"]:
                gone.add(row["episode_id"])
    return gone


@given(ROWS, st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_lowest_scores_go_first(rows: list[tuple[Any, ...]], budget: int, order: Any) -> None:
    table = frame(rows)
    shuffled = table.sample(fraction=1, shuffle=True, seed=order.randrange(1 << 30))
    assert set(over_capacity(shuffled, budget, "episode_id")["episode_id"]) == plainly(table, budget, None)


@given(ROWS, st.integers(1, 200), st.randoms(use_true_random=False))
def test_what_does_not_fit_the_size_goes(rows: list[tuple[Any, ...]], budget: int, order: Any) -> None:
    table = frame(rows)
    shuffled = table.sample(fraction=1, shuffle=True, seed=order.randrange(1 << 30))
    found = over_size(shuffled, budget, "content_chars", "episode_id")
    assert set(found["episode_id"]) == plainly(table, budget, "content_chars")
