"""Was every lifetime kept: what was due, what became of it, and what is still there past its time."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from transforms.schemas import INSTANT

COUNTS = ("due", "done", "late", "waiting", "held", "pending", "overdue")
"""due = done + waiting + held + pending + overdue; ``late`` is a part of ``done``."""
_Types = dict[str, pl.DataType | type[pl.DataType]]
_KEPT: _Types = {
    "tenant": pl.String,
    "is_erased": pl.Boolean,
    "table": pl.String,
    "tier": pl.String,
    "due": pl.Int64,
    "done": pl.Int64,
    "late": pl.Int64,
    "waiting": pl.Int64,
    "held": pl.Int64,
    "pending": pl.Int64,
    "overdue": pl.Int64,
    "kept_ratio": pl.Float64,
    "oldest_due_at": INSTANT,
}
KEPT_SCHEMA = pl.Schema(_KEPT)
_PRESENT: _Types = {
    "tenant_id": pl.String,
    "table": pl.String,
    "tier": pl.String,
    "held": pl.Int64,
    "pending": pl.Int64,
    "overdue": pl.Int64,
    "oldest_due_at": INSTANT,
}
PRESENT_SCHEMA = pl.Schema(_PRESENT)
NO_TENANT = "(no tenant)"
"""What rows of no known tenant are counted under; their hash is empty."""
ERASED = "erased:"
"""What a tenant that is no longer in the lake is called, before its hash."""
_KEY = ("tenant_hash", "table", "tier")


def present(rows: pl.LazyFrame, table: str, as_of: pl.Expr, grace_seconds: int) -> pl.LazyFrame:
    """Rows of a table that are past their time, counted.

    Args:
        rows: ``tenant_id``, ``tier``, ``due_at`` (null: never), ``known_at`` (when the lake got the row:
            nothing can go before it came; null where that is not known) and ``is_held``.
        table: Its name.
        as_of: The instant.
        grace_seconds: A row that is due for less long goes with the next run.

    Returns:
        ``PRESENT_SCHEMA``.
    """
    since = pl.max_horizontal("due_at", "known_at")
    is_overdue = (as_of - since) > pl.duration(seconds=grace_seconds)
    is_free = ~pl.col("is_held")
    found = rows.filter(pl.col("due_at") <= as_of).group_by(pl.col("tenant_id").fill_null(""), "tier")
    return found.agg(
        held=pl.col("is_held").sum().cast(pl.Int64),
        pending=(is_free & ~is_overdue).sum().cast(pl.Int64),
        overdue=(is_free & is_overdue).sum().cast(pl.Int64),
        oldest_due_at=pl.col("due_at").min(),
        table=pl.lit(table),
    ).select(PRESENT_SCHEMA.names())


def kept(removed: pl.DataFrame, still: pl.DataFrame, hashes: Mapping[str, str]) -> pl.DataFrame:
    """Each tenant, table and tier with what was due and what became of it.

    Args:
        removed: ``sql/removals_by_tier.sql``.
        still: ``PRESENT_SCHEMA``.
        hashes: Salted hash of each tenant in the lake, by id.

    Returns:
        ``KEPT_SCHEMA``, by tenant, table and tier. A tenant in the lake is called by its id, one that is
        not by ``ERASED`` and its hash. ``kept_ratio`` is the share that went in time of all that had to
        be gone; null where nothing had to.
    """
    schema = {"tenant_id": pl.String, "tenant_hash": pl.String}
    known = pl.DataFrame([*hashes.items(), ("", "")], schema=schema, orient="row")
    now = still.join(known, on="tenant_id", how="left").drop("tenant_id")
    both = removed.rename({"removed": "done"}).join(now, on=_KEY, how="full", coalesce=True)
    filled = both.with_columns(pl.col(n).fill_null(0) for n in COUNTS if n != "due")
    named = filled.join(known, on="tenant_hash", how="left")
    is_erased = pl.col("tenant_id").is_null()
    # Of who is not in the lake nothing waits any more, whatever waited at the last look.
    rows = named.with_columns(pl.when(~is_erased).then("waiting").otherwise(0).alias("waiting")).with_columns(
        tenant=pl.when(pl.col("tenant_id") == "")
        .then(pl.lit(NO_TENANT))
        .otherwise(pl.coalesce("tenant_id", pl.lit(ERASED) + pl.col("tenant_hash"))),
        is_erased=is_erased,
        due=pl.sum_horizontal("done", "waiting", "held", "pending", "overdue"),
    )
    return with_ratio(rows).select(KEPT_SCHEMA.names()).cast(KEPT_SCHEMA).sort("tenant", "table", "tier")


def with_ratio(rows: pl.DataFrame) -> pl.DataFrame:
    """``kept_ratio``: of what had to be gone, the share that went in time; null where nothing had to."""
    had_to_go = pl.col("done") + pl.col("overdue")
    ratio = (pl.col("done") - pl.col("late")) / had_to_go
    return rows.with_columns(kept_ratio=pl.when(had_to_go > 0).then(ratio))


def summed(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    """``kept`` rows summed over what is not named; without a name, in one row."""
    sums = [pl.col(name).sum() for name in COUNTS]
    totals = rows.group_by(by).agg(sums).sort(by) if by else rows.select(sums)
    return with_ratio(totals)
