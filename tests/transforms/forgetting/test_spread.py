"""Spread of retention scores: counts of parts add up to what a plain count of all rows comes to."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.forgetting.spread import BINS, by_kind, spread, together

SCHEMA = pl.Schema(
    {
        "kind": pl.String,
        "score": pl.Float64,
        "reason": pl.String,
        "state": pl.String,
        "is_pinned": pl.Boolean,
    }
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["fact", "conversation", "summary"]),
            "score": st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.09999, 0.3, 0.99996, 1.0])),
            "reason": st.sampled_from([None, "expired", "stale"]),
            "state": st.sampled_from(["stays", "goes", "held", "waiting"]),
            "is_pinned": st.booleans(),
        }
    ),
    max_size=40,
)


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def plainly(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Row by row, quantiles by the library."""
    found = []
    for kind in sorted({row["kind"] for row in rows}):
        mine = [row for row in rows if row["kind"] == kind]
        scores = pl.Series([row["score"] for row in mine], dtype=pl.Float64)
        bars = [0] * BINS
        for row in mine:
            bars[min(int(row["score"] * BINS), BINS - 1)] += 1
        quantiles = {f"p{q}": scores.quantile(q / 100, "nearest") for q in (10, 50, 90)}
        reasons = sorted(row["reason"] for row in mine if row["reason"])
        found.append(
            {
                "kind": kind,
                "rows": len(mine),
                **quantiles,
                "histogram": bars,
                "forgotten": {reason: reasons.count(reason) for reason in reasons},
                "held": sum(row["state"] == "held" for row in mine),
                "waiting": sum(row["state"] == "waiting" for row in mine),
                "pinned": sum(row["is_pinned"] for row in mine),
            }
        )
    return found


@given(st.lists(ROWS, max_size=4))
def test_parts_add_up_to_a_plain_count(parts: list[list[dict[str, Any]]]) -> None:
    counts = [json.loads(json.dumps(spread(frame(part)))) for part in parts]
    told = by_kind(together(counts))
    expected = plainly([row for part in parts for row in part])
    assert [list(one) for one in told] == [list(one) for one in expected]
    for one, other in zip(told, expected, strict=True):
        for name in ("p10", "p50", "p90"):
            assert one.pop(name) == pytest.approx(other.pop(name), abs=0.5e-4 + 1e-12)
        assert one == other


@given(ROWS, st.randoms())
def test_order_does_not_matter(rows: list[dict[str, Any]], random: Any) -> None:
    mixed = rows.copy()
    random.shuffle(mixed)
    assert by_kind(spread(frame(mixed))) == by_kind(spread(frame(rows)))


@given(st.integers(1, 300))
def test_a_quantile_is_the_score_of_the_nearest_row(count: int) -> None:
    rows = [
        {"kind": "fact", "score": n / 1_000, "reason": None, "state": "stays", "is_pinned": False}
        for n in range(count)
    ]
    (told,) = by_kind(spread(frame(rows)))
    scores = pl.Series([row["score"] for row in rows])
    assert [told[f"p{q}"] for q in (10, 50, 90)] == [
        scores.quantile(q / 100, "nearest") for q in (10, 50, 90)
    ]
