"""Measures of recall over time: answers, use, latency, how full contexts are; see docs/memory-metrics.md.

Every function takes the columns to group by, so one of them serves days, weeks, tenants and the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from transforms.schemas import INSTANT

MEASURED_VERBS = ("search", "context")
"""Verbs that ask; who brings cold episodes back asks for nothing."""
PERIODS = {"day": "1d", "week": "1w"}
"""Periods of a course of time; a week begins on Monday, a day at midnight UTC."""
CALLS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "call_id": pl.String(),
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "verb": pl.String(),
        "recalled_at": INSTANT,
        "seconds": pl.Float64(),
        "returned": pl.Int64(),
        "used": pl.Int64(),
        "packed": pl.Int64(),
        "packed_used": pl.Int64(),
        "tokens": pl.Int64(),
        "budget_tokens": pl.Int32(),
        "is_known": pl.Boolean(),
    }
)
"""One call: rows returned, used, packed; tokens packed; whether it is known what was used of it."""
MEASURES_SCHEMA = pl.Schema(
    {
        "calls": pl.Int64(),
        "misses": pl.Int64(),
        "answered_ratio": pl.Float64(),
        "known_calls": pl.Int64(),
        "hit_ratio": pl.Float64(),
        "returned_rows": pl.Int64(),
        "used_ratio": pl.Float64(),
        "timed_calls": pl.Int64(),
        "seconds_p50": pl.Float64(),
        "seconds_p95": pl.Float64(),
        "seconds_p99": pl.Float64(),
        "contexts": pl.Int64(),
        "filled_ratio": pl.Float64(),
        "packed_used_ratio": pl.Float64(),
    }
)
"""What ``measured`` adds to the columns it groups by; null where nothing is known."""
_HEADS = ("user_id", "agent_id", "verb", "recalled_at", "seconds", "budget_tokens")


def by_call(recalls: pl.LazyFrame) -> pl.DataFrame:
    """One row a call of ``MEASURED_VERBS``.

    It is known what was used of a call where its agent says so of any call among these rows: who never
    says what it used has not said that it used nothing.

    Args:
        recalls: ``schemas.RECALLS``, of whole tenants; rows of candidates that were not returned
            may be missing where their call has another row.

    Returns:
        ``CALLS_SCHEMA``, by recalled_at, tenant_id and call_id.
    """
    asked = recalls.filter(pl.col("verb").is_in(MEASURED_VERBS))
    used = pl.col("is_returned") & pl.col("is_used").fill_null(False)
    calls = asked.group_by("tenant_id", "call_id").agg(
        *(pl.col(name).first() for name in _HEADS),
        returned=pl.col("is_returned").sum().cast(pl.Int64),
        used=used.sum().cast(pl.Int64),
        packed=pl.col("is_packed").sum().cast(pl.Int64),
        packed_used=(used & pl.col("is_packed")).sum().cast(pl.Int64),
        tokens=pl.col("tokens").filter("is_packed").sum().cast(pl.Int64),
        is_told=pl.col("is_used").is_not_null().any(),
    )
    found = calls.collect(engine="streaming")
    who = pl.struct("tenant_id", "agent_id")
    known = found.with_columns(is_known=pl.col("is_told").any().over(who))
    return known.select(list(CALLS_SCHEMA)).cast(CALLS_SCHEMA).sort("recalled_at", "tenant_id", "call_id")


def with_period(rows: pl.DataFrame, period: str) -> pl.DataFrame:
    """Rows with ``period_at``: when the day or week of their ``recalled_at`` began, UTC."""
    return rows.with_columns(period_at=pl.col("recalled_at").dt.truncate(PERIODS[period]))


def measured(calls: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``MEASURES_SCHEMA`` of each group, in the order of the group; none for no calls.

    Args:
        calls: ``CALLS_SCHEMA`` with the columns to group by.
        by: Columns; empty for all calls together.
    """
    known, is_context = pl.col("is_known"), pl.col("budget_tokens").is_not_null()
    filled = pl.col("tokens") / pl.col("budget_tokens")
    told = {
        "calls": pl.len(),
        "misses": (pl.col("returned") == 0).sum(),
        "answered_ratio": (pl.col("returned") > 0).mean(),
        "known_calls": known.sum(),
        "hit_ratio": (pl.col("used") > 0).filter(known).mean(),
        "returned_rows": pl.col("returned").sum(),
        "used_ratio": share(pl.col("used").filter(known).sum(), pl.col("returned").filter(known).sum()),
        "timed_calls": pl.col("seconds").count(),
        **{f"seconds_p{q}": nearest_rank(pl.col("seconds"), q) for q in (50, 95, 99)},
        "contexts": is_context.sum(),
        "filled_ratio": filled.filter(is_context).mean(),
        "packed_used_ratio": share(
            pl.col("packed_used").filter(known).sum(), pl.col("packed").filter(known).sum()
        ),
    }
    return grouped(calls, by, told, MEASURES_SCHEMA)


def grouped(
    rows: pl.DataFrame, by: Sequence[str], told: dict[str, pl.Expr], schema: pl.Schema
) -> pl.DataFrame:
    """Aggregates of each group in its order; of no rows none, whatever is grouped by."""
    if rows.is_empty():
        return pl.DataFrame(schema={**{name: rows.schema[name] for name in by}, **schema})
    found = rows.group_by(by).agg(**told).sort(by) if by else rows.select(**told)
    return found.with_columns(pl.col(name).cast(dtype) for name, dtype in schema.items())


def nearest_rank(values: pl.Expr, percent: int, *, is_sorted: bool = False) -> pl.Expr:
    """The least value that so many percent of the known ones do not exceed; null where none is known.

    Args:
        values: Of a group.
        percent: 0 to 100.
        is_sorted: The rows are in the order of the values.
    """
    held = values.drop_nulls() if is_sorted else values.drop_nulls().sort()
    place = (held.len().cast(pl.Int64) * percent + 99) // 100 - 1
    return held.get(place.clip(lower_bound=0), null_on_oob=True)


def share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """``part / whole``, null where there is nothing."""
    return pl.when(whole > 0).then(part / whole)
