"""Which episodes retention takes out at an instant, why, and when the next one will be due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import polars as pl

from transforms import retention
from transforms.forgetting.access import with_access
from transforms.forgetting.capacity import over_capacity, over_size
from transforms.forgetting.score import is_forgotten, scored
from transforms.owners import owner_expr
from transforms.policy import Policy
from transforms.schemas import INSTANT
from transforms.standing import Standing, held, is_held, periods, pins
from transforms.subjects import Subject

LIGHT = (
    "episode_id",
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "kind",
    "importance",
    "is_injected",
    "retention_tier",
    "expires_at",
    "event_at",
    "content_chars",
)
"""Columns of an episode that decide on it."""
_BUDGETED = ("episode_id", "tenant_id", "owner", "score", "is_pinned", "event_at", "content_chars")
"""Columns that decide what a budget evicts."""
WAITING = ("stale", "decayed")
"""Reasons that let an episode go only once a summary covers it."""


@dataclass(frozen=True)
class Wishes:
    """What people asked for that retention heeds.

    Args:
        periods: ``standing.PERIODS_SCHEMA``.
        pins: ``standing.PINS_SCHEMA``.
        holds: Subjects under legal hold.
    """

    periods: pl.DataFrame | None = None
    pins: pl.DataFrame | None = None
    holds: list[Subject] = field(default_factory=list)

    @classmethod
    def of(cls, told: Iterable[Standing]) -> Self:
        """Those among standing instructions."""
        told = list(told)
        return cls(periods(told), pins(told), held(told))


def judged(
    episodes: pl.LazyFrame,
    access: pl.LazyFrame | None,
    policy: Policy,
    as_of: datetime,
    wishes: Wishes | None = None,
    forbidden: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Each episode with what becomes of it at an instant; capacity and summaries are not looked at yet.

    The first reason that applies counts: forbidden_topic, expired, stale, decayed, cold. Pinned rows
    are exempt from the last three.

    Args:
        episodes: ``LIGHT`` of ``schemas.EPISODES``.
        access: ``access.ACCESS_SCHEMA``; None where nothing was recalled.
        policy: Sections retention, decay, staleness and cold.
        as_of: The instant.
        wishes: What people asked for.
        forbidden: ``episode_id`` of those that mention a topic their person has forbidden.

    Returns:
        ``LIGHT`` with ``owner``, ``access_count``, ``last_accessed_at``, ``score``, ``is_pinned``,
        ``is_held``, ``reason`` (null: stays), ``due_at`` (when the reason began to apply) and ``next_at``
        (the first later instant at which one will, null for never).
    """
    wishes = wishes or Wishes()
    expires = retention.expiry_expr(policy.retention, wishes.periods, wishes.pins)
    rows = scored(with_access(episodes, access, "episode_id"), policy.decay, as_of)
    pinned = retention.is_pinned(wishes.pins, "episode_id")
    rows = rows.with_columns(
        owner_expr(),
        expires_at=expires,
        is_pinned=pinned,
        is_held=is_held(wishes.holds, "episode_id"),
        stale_at=stale_at(policy),
        cold_at=cold_at(policy),
    )
    fades = ("stale_at", "forgotten_at", "cold_at")
    rows = rows.with_columns(pl.when(~pl.col("is_pinned")).then(pl.col(name)).alias(name) for name in fades)
    names = [] if forbidden is None else forbidden["episode_id"].to_list()
    is_forbidden = pl.col("episode_id").is_in(names) if names else pl.lit(False)
    reasoned = rows.with_columns(_reason(policy, as_of, is_forbidden))
    dated = reasoned.with_columns(_due_at(as_of), _next_at(as_of))
    return dated.drop("stale_at", "cold_at", "forgotten_at").collect(engine="streaming")


def with_capacity(rows: pl.DataFrame, covered: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """``judged`` rows with what the budget evicts, and who waits for a summary.

    Args:
        rows: From ``judged``, of whole owners.
        covered: ``episode_id`` of those that a standing summary covers.
        policy: Section capacity.
        as_of: The instant: when what is over the budget is due.

    Returns:
        The rows with ``state``: ``stays``, ``goes``, ``held`` (due, under legal hold) or ``waiting``
        (due, but no summary covers it yet).
    """
    waits = (pl.col("reason").is_in(WAITING) & ~pl.col("is_held")).fill_null(False)
    waiting = rows.filter(waits).select("episode_id").join(covered, on="episode_id", how="anti")
    rows = rows.with_columns(is_waiting=waits & pl.col("episode_id").is_in(waiting["episode_id"].implode()))
    stays = ~pl.col("is_injected") & (pl.col("reason").is_null() | pl.col("is_waiting") | pl.col("is_held"))
    remaining = rows.select(*_BUDGETED, "is_injected", "reason", "is_waiting", "is_held").filter(stays)
    many = over_capacity(remaining, policy.capacity.episodes, "episode_id")
    fewer = remaining.join(many, on="episode_id", how="anti") if many.height else remaining
    large = over_size(fewer, policy.capacity.content_chars, "content_chars", "episode_id")
    evicted = pl.concat([many["episode_id"], large["episode_id"]])
    over = pl.col("episode_id").is_in(evicted.implode()) & (pl.col("reason").is_null() | pl.col("is_waiting"))
    rows = rows.with_columns(
        reason=pl.when(over).then(pl.lit("over_capacity")).otherwise("reason"),
        due_at=pl.when(over).then(retention.instant(as_of)).otherwise("due_at"),
        is_waiting=pl.col("is_waiting") & ~over,
    )
    return rows.with_columns(
        state=pl.when(pl.col("reason").is_null())
        .then(pl.lit("stays"))
        .when("is_held")
        .then(pl.lit("held"))
        .when("is_waiting")
        .then(pl.lit("waiting"))
        .otherwise(pl.lit("goes"))
    ).drop("is_waiting")


def _reason(policy: Policy, as_of: datetime, is_forbidden: pl.Expr) -> pl.Expr:
    now = retention.instant(as_of)
    fades = ~pl.col("is_pinned")
    reasons = [
        ("forbidden_topic", is_forbidden),  # nothing may rest on it any more, be it expired as well
        ("expired", pl.col("expires_at") <= now),
        ("stale", fades & (pl.col("stale_at") <= now)),
        ("decayed", fades & is_forgotten(policy.decay)),
        ("cold", fades & (pl.col("cold_at") <= now)),
    ]
    return pl.coalesce(
        pl.when(applies.fill_null(False)).then(pl.lit(name)) for name, applies in reasons
    ).alias("reason")


def _due_at(as_of: datetime) -> pl.Expr:
    """When the reason began to apply, never after the as-of."""
    now = retention.instant(as_of)
    by_reason = {"expired": "expires_at", "stale": "stale_at", "decayed": "forgotten_at", "cold": "cold_at"}
    since = pl.coalesce(
        *(pl.when(pl.col("reason") == name).then(pl.col(column)) for name, column in by_reason.items()),
        pl.when(pl.col("reason").is_not_null()).then(now),
    )
    return pl.min_horizontal(since, pl.when(pl.col("reason").is_not_null()).then(now)).alias("due_at")


def _next_at(as_of: datetime) -> pl.Expr:
    now = retention.instant(as_of)
    moments = [pl.col(n) for n in ("expires_at", "stale_at", "forgotten_at", "cold_at")]
    return pl.min_horizontal([pl.when(moment > now).then(moment) for moment in moments]).alias("next_at")


def stale_at(policy: Policy) -> pl.Expr:
    """When a row with ``importance`` and ``last_accessed_at`` is stale if nobody asks again; null: never."""
    stale = policy.staleness
    if not stale.is_enabled:
        return pl.lit(None, INSTANT)
    is_slight = pl.col("importance").cast(pl.Float64) < stale.below_importance
    return pl.when(is_slight).then(pl.col("last_accessed_at") + _days(stale.after_days))


def cold_at(policy: Policy) -> pl.Expr:
    """When a row with ``last_accessed_at`` goes to cold storage if nobody asks again, null for never."""
    after = policy.cold.after_days
    return pl.lit(None, INSTANT) if after is None else pl.col("last_accessed_at") + _days(after)


def _days(days: float) -> pl.Expr:
    return pl.lit(round(days * 86_400_000_000), pl.Int64).cast(pl.Duration("us"))
