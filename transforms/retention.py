"""Time to live: when a row stops being served, exact to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from transforms.errors import UsageError
from transforms.ids import SEPARATOR
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


def expiry_expr(
    policy: RetentionPolicy,
    periods: pl.DataFrame | None = None,
    pins: pl.DataFrame | None = None,
    *,
    key: str = "episode_id",
) -> pl.Expr:
    """First instant at which a row is no longer served, null for never; also for lazy frames.

    The earliest of the row's own ``expires_at``, and of ``event_at`` plus the TTL of its
    ``retention_tier``, that of its ``kind`` where the policy names one, and the retention period of its
    person. A tier the policy does not know takes the TTL of the default tier: a misspelt tier must not
    live for ever. A pinned row takes the tier ``permanent``, and no kind bounds it.

    Args:
        policy: TTL by tier and kind, in seconds, and the period of whoever asked for none.
        periods: ``standing.PERIODS_SCHEMA``; needs ``tenant_id`` and ``user_id``.
        pins: ``standing.PINS_SCHEMA``; needs ``tenant_id`` and the key.
        key: Column with the row's own id.
    """
    tiers = policy.tier_seconds()
    tier = pl.col("retention_tier").replace_strict(
        list(tiers), _durations(tiers), default=_span(tiers[policy.default_tier]), return_dtype=_SPAN
    )
    if policy.by_kind_seconds:
        kinds = policy.by_kind_seconds
        kind = pl.col("kind").replace_strict(list(kinds), _durations(kinds), default=None, return_dtype=_SPAN)
        tier = pl.min_horizontal(tier, kind)
    if pins is not None and pins.height:
        forever = pl.lit(_span(tiers["permanent"]), dtype=_SPAN)
        tier = pl.when(is_pinned(pins, key)).then(forever).otherwise(tier)
    cap = pl.lit(_span(policy.user_cap_seconds), dtype=_SPAN)
    ttl = pl.min_horizontal(tier, _own_period(periods, cap))
    return pl.min_horizontal("expires_at", pl.col("event_at") + ttl).cast(INSTANT).alias("expires_at")


_SPAN = pl.Duration("us")


def _span(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def _durations(seconds: dict[str, int | None]) -> pl.Series:
    return pl.Series([_span(s) for s in seconds.values()], dtype=_SPAN)


def _own_period(periods: pl.DataFrame | None, cap: pl.Expr) -> pl.Expr:
    """The period of a row's person: the one asked for, else the policy's."""
    if periods is None or periods.is_empty():
        return cap
    who = periods.select(pl.concat_str("tenant_id", "user_id", separator=SEPARATOR)).to_series()
    spans = pl.Series([timedelta(seconds=s) for s in periods["period_seconds"]], dtype=_SPAN)
    mine = pl.concat_str("tenant_id", "user_id", separator=SEPARATOR)
    own = mine.replace_strict(who, spans, default=None, return_dtype=_SPAN)
    return pl.coalesce(own, cap)


def is_pinned(pins: pl.DataFrame | None, key: str) -> pl.Expr:
    """Whether a row with ``tenant_id`` and the key is pinned; never null.

    Args:
        pins: ``standing.PINS_SCHEMA``.
        key: Column with the row's own id.
    """
    if pins is None or pins.is_empty():
        return pl.lit(False)
    named = pins.select(pl.concat_str("tenant_id", "memory_id", separator=SEPARATOR)).to_series()
    return pl.concat_str("tenant_id", key, separator=SEPARATOR).is_in(named.implode()).fill_null(False)


def due_after(seconds: int | None, since: str, periods: pl.DataFrame | None = None) -> pl.Expr:
    """When a row that has no tier is due: a span after one of its instants, null for never.

    Args:
        seconds: The span; None is never.
        since: Column of the instant.
        periods: ``standing.PERIODS_SCHEMA``: a person's own period, where shorter, is the span.
    """
    span = pl.lit(_span(seconds), dtype=_SPAN)
    own = _own_period(periods, pl.lit(None, dtype=_SPAN))
    return (pl.col(since) + pl.min_horizontal(span, own)).cast(INSTANT)


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
