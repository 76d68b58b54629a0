"""Time to live: when a row stops being served, exact to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from transforms.errors import UsageError
from transforms.policy_retention import RetentionPolicy
from transforms.schemas import INSTANT


def instant(as_of: datetime) -> pl.Expr:
    """The as-of as a literal UTC instant.

    Raises:
        UsageError: It has no time zone.
    """
    if as_of.tzinfo is None:
        raise UsageError("the as-of has no time zone", "Give it with an offset, such as +00:00.")
    return pl.lit(as_of.astimezone(UTC), dtype=INSTANT)


def expiry_expr(policy: RetentionPolicy) -> pl.Expr:
    """First instant at which a row is no longer served, null for never; also for lazy frames.

    The earlier of the row's own ``expires_at`` and ``event_at`` plus the TTL of its
    ``retention_tier``. A tier the policy does not know takes the TTL of the default tier: a
    misspelt tier must not live for ever.
    """
    seconds = policy.ttl_seconds()
    ttl = {t: None if s is None else timedelta(seconds=s) for t, s in seconds.items()}
    by_tier = pl.col("retention_tier").replace_strict(
        list(ttl), list(ttl.values()), default=ttl[policy.default_tier], return_dtype=pl.Duration("us")
    )
    due = pl.min_horizontal("expires_at", pl.col("event_at") + by_tier)
    return due.cast(INSTANT).alias("expires_at")


def expiry(frame: pl.DataFrame, policy: RetentionPolicy) -> pl.Series:
    """``expiry_expr`` of each row.

    Args:
        frame: Columns ``expires_at``, ``event_at`` and ``retention_tier`` of ``schemas.EPISODES``.
        policy: TTL by tier, in seconds, and the user's cap.

    Returns:
        UTC instants in row order, named ``expires_at``; null is never.
    """
    return frame.select(expiry_expr(policy)).to_series()


def is_live(as_of: datetime) -> pl.Expr:
    """Whether ``expires_at`` is null or after the as-of; a row is gone exactly at its expiry.

    Raises:
        UsageError: The as-of has no time zone.
    """
    due = pl.col("expires_at")
    return (due.is_null() | (due > instant(as_of))).alias("is_live")
