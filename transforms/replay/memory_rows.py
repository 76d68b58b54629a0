"""Memories as a replay needs them: what decides how long each lives, never its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.declarations import INSTANT
from transforms.derived import FACTS, PROCEDURES, SUMMARIES
from transforms.rights_tables import FORGOTTEN
from transforms.schemas import EPISODES

MEMORY_SCHEMA = pl.Schema(
    {
        "memory_id": pl.String(),
        "tenant_id": pl.String(),
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "session_id": pl.String(),
        "stored_in": pl.String(),
        "kind": pl.String(),
        "tier": pl.String(),
        "importance": pl.Float32(),
        "is_injected": pl.Boolean(),
        "is_pinned": pl.Boolean(),
        "retention_tier": pl.String(),
        "expires_at": INSTANT,
        "event_at": INSTANT,
        "known_at": INSTANT,
        "ended_at": INSTANT,
        "content_chars": pl.Int64(),
    }
)
"""One memory.

``stored_in`` is its table (episodes, facts, summaries, procedures; ``forgotten`` where retention took it out;
``traces`` where nothing but its recalls is known). ``expires_at`` is what its source asked for, and of a fact
the end of its validity if that is earlier; lifetimes by ``retention_tier`` are the policy's to add.
``known_at`` is when the lake first held it, ``ended_at`` when it left the lake or stopped to hold (null: not
yet). Nulls: a part of the scope that the row does not have; ``retention_tier``, ``known_at`` and
``content_chars`` where they are not known.
"""
LIGHT: Mapping[str, tuple[str, ...]] = {
    EPISODES.name: (
        "episode_id", "tenant_id", "user_id", "agent_id", "session_id", "kind", "importance", "is_injected",
        "retention_tier", "expires_at", "event_at", "ingested_at", "content_chars",
    ),
    FACTS.name: (
        "fact_id", "tenant_id", "user_id", "agent_id", "kind", "importance", "is_pinned", "retention_tier",
        "expires_at", "valid_until", "last_confirmed_at", "recorded_at", "retired_at", "fact",
    ),
    SUMMARIES.name: (
        "summary_id", "tenant_id", "user_id", "agent_id", "importance", "retention_tier", "expires_at",
        "last_event_at", "recorded_at", "text",
    ),
    PROCEDURES.name: (
        "procedure_id", "tenant_id", "user_id", "agent_id", "kind", "importance", "is_suggested",
        "retention_tier", "last_event_at", "policy",
    ),
    FORGOTTEN.name: (
        "episode_id", "tenant_id", "user_id", "agent_id", "session_id", "retention_tier", "event_at",
        "removed_at",
    ),
}  # fmt: skip
"""Columns that are read of each table; of derived tables the text too, for its length."""
_TIER = {FACTS.name: "semantic", SUMMARIES.name: "episodic", PROCEDURES.name: "procedural"}
_SHAPES: Mapping[str, Mapping[str, pl.Expr]] = {
    EPISODES.name: {"memory_id": pl.col("episode_id"), "known_at": pl.col("ingested_at")},
    FACTS.name: {
        "memory_id": pl.col("fact_id"),
        "expires_at": pl.min_horizontal("expires_at", "valid_until"),
        "event_at": pl.col("last_confirmed_at"),
        "known_at": pl.col("recorded_at"),
        "ended_at": pl.col("retired_at"),
        "content_chars": pl.col("fact").str.len_chars(),
    },
    SUMMARIES.name: {
        "memory_id": pl.col("summary_id"),
        "kind": pl.lit("summary"),
        "event_at": pl.col("last_event_at"),
        "known_at": pl.col("recorded_at"),
        "content_chars": pl.col("text").str.len_chars(),
    },
    PROCEDURES.name: {
        "memory_id": pl.col("procedure_id"),
        "event_at": pl.col("last_event_at"),
        "content_chars": pl.col("policy").str.len_chars(),
    },
    FORGOTTEN.name: {"memory_id": pl.col("episode_id"), "ended_at": pl.col("removed_at")},
}


def memory_rows(table: str, rows: pl.DataFrame, *, stored_in: str | None = None) -> pl.DataFrame:
    """Rows of a table of the lake as ``MEMORY_SCHEMA``.

    Args:
        table: One of ``LIGHT``.
        rows: Those columns of it; of a revisioned table what stands. ``cooled_at`` of cold episodes is
            when they ended.
        stored_in: Where they lie, if not in that table.
    """
    shape: dict[str, Any] = {"tier": pl.lit(_TIER.get(table, "episodic")), **_SHAPES[table]}
    if table == PROCEDURES.name:
        rows = rows.filter((pl.col("kind") != "procedure") | pl.col("is_suggested"))
    if "cooled_at" in rows.columns:
        shape |= {"ended_at": pl.col("cooled_at")}
    given = {*rows.columns, *shape, "stored_in"}
    missing = {n: pl.lit(None, dtype) for n, dtype in MEMORY_SCHEMA.items() if n not in given}
    no = {str(n): pl.lit(False) for n in ("is_injected", "is_pinned") if n in missing}
    named: dict[str, pl.Expr] = {**missing, **no, **shape, "stored_in": pl.lit(stored_in or table)}
    shaped = rows.with_columns(**named)
    return shaped.select(pl.col(n).cast(dtype) for n, dtype in MEMORY_SCHEMA.items())


def completed(memories: pl.DataFrame, recalls: pl.DataFrame) -> pl.DataFrame:
    """Memories with what recalls tell of those that the lake no longer holds, or holds no more than an id of.

    Args:
        memories: ``MEMORY_SCHEMA``, each memory once.
        recalls: ``schemas.RECALLS``.

    Returns:
        ``MEMORY_SCHEMA`` by tenant and id: ``kind``, ``tier`` and ``importance`` filled in, and recalled
        memories that were not there with ``stored_in`` traces; their scope is that of their first call.
    """
    ordered = recalls.filter(pl.col("rank") > 0).sort("recalled_at", "call_id", "rank")
    names = ("tenant_id", "memory_id", "user_id", "agent_id", "kind", "tier", "event_at")
    seen = ordered.select(*names, importance=pl.col("memory_importance").cast(pl.Float32))
    first = seen.unique(["tenant_id", "memory_id"], keep="first", maintain_order=True)
    told = ("kind", "tier", "importance")
    known = memories.join(
        first.select("tenant_id", "memory_id", *(pl.col(n).alias(f"{n}_told") for n in told)),
        on=["tenant_id", "memory_id"], how="left",
    ).with_columns(pl.coalesce(n, f"{n}_told").alias(n) for n in told)  # fmt: skip
    lost = first.join(memories, on=["tenant_id", "memory_id"], how="anti")
    blank = {n: pl.lit(None, d) for n, d in MEMORY_SCHEMA.items() if n not in lost.columns}
    no = {"is_injected": pl.lit(False), "is_pinned": pl.lit(False), "stored_in": pl.lit("traces")}
    added = lost.with_columns(**{**blank, **no}).select(list(MEMORY_SCHEMA))
    return pl.concat([known.select(list(MEMORY_SCHEMA)), added]).sort("tenant_id", "memory_id")
