"""Recalls folded into access: how often a memory was asked for, and when last."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from transforms import retention
from transforms.policy_retention import DecayPolicy
from transforms.schemas import INSTANT

ACCESS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "memory_id": pl.String(),
        "access_count": pl.Int32(),
        "last_accessed_at": INSTANT,
    }
)
_SESSION = ("user_id", "agent_id", "session_id")


def fold(recalls: pl.LazyFrame, decay: DecayPolicy, as_of: datetime) -> pl.LazyFrame:
    """Accesses of each memory until an instant.

    Within one session the first recall counts and no other: an agent that asks again in a loop makes no
    memory young or popular. A call outside any session is a session of its own. A candidate that was not
    given to the caller was not accessed.

    Args:
        recalls: ``schemas.RECALLS``.
        decay: Which recalls count.
        as_of: Later recalls are not known yet.

    Returns:
        ``ACCESS_SCHEMA``, one row a memory that was accessed, in no order.

    Raises:
        UsageError: The as-of has no time zone.
    """
    known = recalls.filter(pl.col("recalled_at") <= retention.instant(as_of), "is_returned")
    if decay.refresh == "used":
        known = known.filter(pl.col("is_used").fill_null(False))
    alone = pl.when(pl.col("session_id").is_null()).then("call_id")
    sessions = known.group_by("tenant_id", "memory_id", *_SESSION, call=alone).agg(
        pl.col("recalled_at").min()
    )
    return sessions.group_by("tenant_id", "memory_id").agg(
        access_count=pl.len().cast(pl.Int32), last_accessed_at=pl.col("recalled_at").max()
    )


def with_access(rows: pl.LazyFrame, access: pl.LazyFrame | None, key: str) -> pl.LazyFrame:
    """Rows with ``access_count`` and ``last_accessed_at``; of one never accessed 0 and ``event_at``.

    Args:
        rows: ``tenant_id``, ``event_at`` and the key.
        access: From ``fold``; None where nothing was ever recalled.
        key: Column with the row's own id.
    """
    if access is None:
        return rows.with_columns(access_count=pl.lit(0, pl.Int32), last_accessed_at="event_at")
    found = access.rename({"memory_id": key})
    return rows.join(found, on=["tenant_id", key], how="left", maintain_order="left").with_columns(
        pl.col("access_count").fill_null(0), pl.coalesce("last_accessed_at", "event_at")
    )
