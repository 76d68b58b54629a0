"""Requests of people and controllers: how many of each kind, where they stand, how long they took."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

SPANS = (
    (60, "under 1 min"),
    (3_600, "under 1 h"),
    (86_400, "under 1 day"),
    (7 * 86_400, "under 7 days"),
    (30 * 86_400, "under 30 days"),
)
"""Upper ends, in seconds, and names of the spans that times to erase are counted in."""
LONGEST = "30 days and more"
STATES = ("done in time", "done late", "in progress", "held", "failed", "overdue")
QUANTILES = {"median": 0.5, "p90": 0.9, "longest": 1.0}


def stood(rows: pl.DataFrame) -> pl.DataFrame:
    """Requests by ``kind`` and ``standing``, one of ``STATES``, with ``requests``.

    Args:
        rows: ``sql/requests_standing.sql``.
    """
    is_done = pl.col("state") == "done"
    cases = {
        "done in time": is_done & ~pl.col("is_late"),
        "done late": is_done,
        "held": pl.col("state") == "held",
        "overdue": pl.col("is_late"),
        "failed": pl.col("state") == "failed",
        "in progress": pl.lit(True),
    }
    standing = pl.coalesce(pl.when(case).then(pl.lit(name)) for name, case in cases.items())
    counted = rows.group_by("kind", standing=standing).agg(requests=pl.len().cast(pl.Int64))
    return counted.sort("kind", "standing")


def times(rows: pl.DataFrame, kind: str = "erase") -> dict[str, float | None]:
    """``requests``, and ``median``, ``p90`` and ``longest`` seconds from request to end; null for none.

    Quantiles are values that occurred: the least that so many requests did not exceed.
    """
    took = _took(rows, kind)
    figures = {
        name: took.quantile(share, interpolation="higher") if took.len() else None
        for name, share in QUANTILES.items()
    }
    return {"requests": took.len(), **figures}


def spans(rows: pl.DataFrame, kind: str = "erase") -> pl.DataFrame:
    """How many requests ended within each span: ``span``, ``requests``; every span, also with none."""
    took = _took(rows, kind)
    ends = [0, *(end for end, _ in SPANS), float("inf")]
    names = [*(name for _, name in SPANS), LONGEST]
    counts = [((took >= low) & (took < high)).sum() for low, high in pairwise(ends)]
    return pl.DataFrame({"span": names, "requests": counts}, schema={"span": pl.String, "requests": pl.Int64})


def _took(rows: pl.DataFrame, kind: str) -> pl.Series:
    """Seconds of the requests of a kind that ended; a clock that was set back makes no negative time."""
    ended = rows.filter((pl.col("kind") == kind) & pl.col("seconds").is_not_null())
    return ended["seconds"].clip(lower_bound=0)
