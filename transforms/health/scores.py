"""How the retention scores of memories are spread, and a fair sample of memories to tell it from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from transforms.forgetting.access import with_access
from transforms.forgetting.score import score_expr
from transforms.health.measures import grouped, nearest_rank
from transforms.policy_retention import DecayPolicy

SCORED = ("tenant_id", "kind", "importance", "event_at")
"""Columns of a memory that its score is made of, beside its key."""
SCORES_SCHEMA = pl.Schema(
    {
        "scored_rows": pl.Int64(),
        "score_p10": pl.Float64(),
        "score_p50": pl.Float64(),
        "score_p90": pl.Float64(),
    }
)
_DIGITS = 6


def in_sample(key: str, ratio: float) -> pl.Expr:
    """Whether a memory is of a sample of about this share of all: the same ones at each night.

    Args:
        key: Column of its id, which is a hash: 32 hex digits.
        ratio: Share of all that is wanted, 0 to 1.
    """
    if ratio >= 1:
        return pl.lit(True)
    return pl.col(key).str.slice(0, _DIGITS) < f"{int(ratio * 16**_DIGITS):0{_DIGITS}x}"


def with_score(
    memories: pl.LazyFrame, access: pl.LazyFrame | None, decay: DecayPolicy, as_of: datetime
) -> pl.DataFrame:
    """``tenant_id``, ``kind`` and ``score`` of memories.

    Args:
        memories: ``SCORED`` and ``memory_id``.
        access: ``access.ACCESS_SCHEMA``; None where nothing was recalled.
        decay: Weights and half-lives.
        as_of: The instant.
    """
    seen = with_access(memories, access, "memory_id")
    return seen.select("tenant_id", "kind", score_expr(decay, as_of)).collect(engine="streaming")


def scores(memories: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``by`` and ``SCORES_SCHEMA`` of rows from ``with_score``."""
    told = {
        "scored_rows": pl.len(),
        **{f"score_p{q}": nearest_rank(pl.col("score"), q, is_sorted=True) for q in (10, 50, 90)},
    }
    return grouped(memories.sort("score"), by, told, SCORES_SCHEMA)
