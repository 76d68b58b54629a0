"""Checks of what callers were given: stale, contradictory, untrusted, alike, or nothing to the point."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.health.measures import MEASURED_VERBS
from transforms.health.thresholds import Measure
from transforms.retention import instant

CALL_COLUMNS = (
    "tenant_id", "tenant_bucket", "call_id", "verb", "route", "memory_id", "kind", "rank", "relevance",
    "cosine", "is_returned", "event_at", "policy_hash", "recalled_at",
)  # fmt: skip
"""Columns of ``schemas.RECALLS`` that the checks look at: no query, no person."""
UNASKED = ("general", "recency")
"""Routes of calls that are about nothing, whose rows have no relevance to speak of."""
_CALL = ["tenant_id", "call_id"]


def answers(recalls: pl.DataFrame) -> pl.DataFrame:
    """One row a call: how many rows it was given, and how good the best ones are.

    Args:
        recalls: ``CALL_COLUMNS`` of whole calls.

    Returns:
        ``tenant_id``, ``call_id``, ``recalled_at``, ``route``, ``returned``, ``best_relevance`` (of rows
        that were given; null for none) and ``best_cosine`` (of all candidates), in the order of time.
    """
    asked = recalls.filter(pl.col("verb").is_in(MEASURED_VERBS))
    given = pl.col("is_returned") & (pl.col("rank") > 0)
    found = asked.group_by(_CALL).agg(
        recalled_at=pl.col("recalled_at").min(),
        route=pl.col("route").min(),
        returned=given.sum().cast(pl.Int64),
        best_relevance=pl.col("relevance").filter(given).max(),
        best_cosine=pl.col("cosine").filter(pl.col("cosine").is_finite()).max(),
    )
    return found.sort("recalled_at", *_CALL)


def irrelevance(calls: pl.DataFrame, weak_relevance: float, min_calls: int) -> list[Measure]:
    """Calls that were given nothing, and answers whose best row hardly answers.

    Args:
        calls: ``answers``.
        weak_relevance: A best row of less hardly answers.
        min_calls: Of fewer calls nothing is said.
    """
    empty = Measure("empty_ratio", *_share(calls, pl.col("returned") == 0, min_calls, "calls"))
    about = calls.filter(~pl.col("route").is_in(UNASKED), pl.col("returned") > 0)
    weak = pl.col("best_relevance") < weak_relevance
    return [empty, Measure("weak_ratio", *_share(about, weak, min_calls, "answers to a question"))]


def stale(
    served: pl.DataFrame, served_facts: pl.DataFrame, judged: pl.DataFrame, min_rows: int
) -> list[Measure]:
    """Facts served although they were retired, rows served after their time, and the age of what is served.

    Args:
        served: ``served.served_rows``.
        served_facts: ``served.with_ends`` of them.
        judged: ``served.with_expiry`` of them.
        min_rows: Of fewer facts no share is told; one row past its time is told always.
    """
    ratio = Measure(
        "stale_served_ratio",
        *_share(served_facts, pl.col("is_superseded"), min_rows, "served facts that are held"),
    )
    late = int(judged["is_expired"].sum()) if judged.height else None
    expired = Measure("expired_served_rows", late, _of(judged.height, "served rows that can be judged"))
    age = (pl.col("recalled_at") - pl.col("event_at")).dt.total_microseconds() / 86_400_000_000
    days = served.select(age.clip(lower_bound=0).median()).item() if served.height else None
    return [ratio, expired, Measure("served_age_days", days, _of(served.height, "served rows"))]


def contradictions_served(served: pl.DataFrame, contested: pl.DataFrame, min_calls: int) -> Measure:
    """Answers that held two facts of one slot that takes one.

    Args:
        served: ``served.served_rows``.
        contested: ``sql/contested_facts.sql``.
        min_calls: Of fewer answers no share is told.
    """
    calls = served.select(_CALL).unique().height
    if calls < min_calls:
        return Measure("contradictions_served_ratio", None, _few(calls, "answers"))
    slots = contested.select("tenant_id", "slot", memory_id="fact_id")
    met = served.join(slots, on=["tenant_id", "memory_id"], how="inner")
    twice = met.group_by(*_CALL, "slot").agg(facts=pl.col("memory_id").n_unique())
    wrong = twice.filter(pl.col("facts") > 1).select(_CALL).unique().height
    return Measure("contradictions_served_ratio", wrong / calls, _of(calls, "answers"))


def low_trust_served(trusts: pl.Series, low_trust: float, min_rows: int) -> Measure:
    """Served rows of low trust.

    Args:
        trusts: Trust of each served row that is held, 0 to 1.
        low_trust: No more than this is low.
        min_rows: Of fewer rows no share is told.
    """
    is_low = pl.col("trust") <= low_trust + _FLOAT32
    rows = trusts.drop_nulls().alias("trust").to_frame()
    return Measure("low_trust_served_ratio", *_share(rows, is_low, min_rows, "served rows that are held"))


_FLOAT32 = 1e-6
"""Trust is stored as float32: 0.4 is a little more than 0.4 in it."""


def similar_pairs(counted: pl.DataFrame, min_answers: int) -> Measure:
    """Pairs of rows of one answer that say the same, of all pairs of rows that are held.

    Args:
        counted: ``crowding.answers``.
        min_answers: Of fewer answers no share is told.
    """
    told = counted.filter(pl.col("rows") > 1)
    if told.height < min_answers:
        return Measure("similar_pairs_ratio", None, _few(told.height, "answers of two rows or more"))
    pairs = int((told["rows"] * (told["rows"] - 1) // 2).sum())
    return Measure("similar_pairs_ratio", int(told["pairs"].sum()) / pairs, _of(told.height, "answers"))


def cosine_fall(calls: pl.DataFrame, middle: datetime, min_calls: int) -> Measure:
    """How much lower the mean cosine of a question to its best hit is after an instant than before.

    Args:
        calls: ``answers``.
        middle: The instant.
        min_calls: With fewer calls on a side nothing is said.
    """
    asked = calls.filter(pl.col("best_cosine").is_not_null(), ~pl.col("route").is_in(UNASKED))
    is_late = pl.col("recalled_at") > instant(middle)
    early, late = asked.filter(~is_late)["best_cosine"], asked.filter(is_late)["best_cosine"]
    told = f"{late.len():,} calls after {early.len():,}"
    if min(early.len(), late.len()) < min_calls:
        return Measure("cosine_fall", None, f"too few: {told}")
    before, after = float(np.mean(early.to_numpy())), float(np.mean(late.to_numpy()))
    return Measure("cosine_fall", max(before - after, 0.0), told)


def mean_shift(earlier: NDArray[np.float32], recent: NDArray[np.float32], min_rows: int) -> Measure:
    """Cosine distance of the mean vectors of two samples.

    Args:
        earlier: float32 (n, d), rows of length 1.
        recent: The same of what happened since.
        min_rows: With fewer rows on a side nothing is said.
    """
    told = f"{len(recent):,} rows against {len(earlier):,}"
    if min(len(earlier), len(recent)) < min_rows:
        return Measure("mean_shift", None, f"too few: {told}")
    means = [rows.mean(axis=0, dtype=np.float64) for rows in (earlier, recent)]
    lengths = [float(np.linalg.norm(mean)) for mean in means]
    if min(lengths) == 0:
        return Measure("mean_shift", None, f"no direction in {told}")
    return Measure("mean_shift", max(1.0 - float(means[0] @ means[1]) / (lengths[0] * lengths[1]), 0.0), told)


def _share(rows: pl.DataFrame, is_so: pl.Expr, least: int, of_what: str) -> tuple[float | None, str]:
    """Share of the rows of which something is so, and what it rests on."""
    if rows.height < max(least, 1):
        return None, _few(rows.height, of_what)
    return int(rows.select(is_so.fill_null(False).sum()).item()) / rows.height, _of(rows.height, of_what)


def _of(count: int, of_what: str) -> str:
    return f"of {count:,} {of_what}"


def _few(count: int, of_what: str) -> str:
    return f"too few: {count:,} {of_what}"
