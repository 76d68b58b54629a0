"""Memories of a replay from the tables of the lake: what decides how long each lives, and texts of a few."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from lake import revisions, tables
from lake.lake import Lake
from transforms.embedding import DERIVED_TEXTS
from transforms.replay.memory_rows import LIGHT, MEMORY_SCHEMA, memory_rows
from transforms.schemas import COLD, EPISODES, FACTS, FORGOTTEN, PROCEDURES, SUMMARIES, Table

REVISED = (FACTS, SUMMARIES, PROCEDURES)


def memories_of(lake: Lake, tenants: Collection[str], scope: Sequence[pl.Expr] = ()) -> pl.DataFrame:
    """All memories of tenants, of episodes and of what was derived of them.

    Args:
        lake: Where.
        tenants: Whose.
        scope: Further conditions on ``user_id`` and ``agent_id``.

    Returns:
        ``memory_rows.MEMORY_SCHEMA``, each memory once, in no order: what is there goes before what went.
    """
    parts = []
    for table in (EPISODES, *REVISED):
        names = LIGHT[table.name]
        if table in REVISED:
            held = _of(lake, table, tenants, scope).select(*names, *revisions.REVISION).collect()
            rows = revisions.alive(revisions.newest(table, held))
        else:
            rows = _of(lake, table, tenants, scope).select(names).collect()
        parts.append(memory_rows(table.name, rows))
    cold = _of(lake, COLD, tenants, scope).select(*LIGHT[EPISODES.name], "cooled_at").collect()
    parts.append(memory_rows(EPISODES.name, cold, stored_in=COLD.name))
    gone = _of(lake, FORGOTTEN, tenants, scope).select(LIGHT[FORGOTTEN.name]).collect()
    parts.append(memory_rows(FORGOTTEN.name, gone))
    found = pl.concat(parts) if parts else pl.DataFrame(schema=MEMORY_SCHEMA)
    return found.unique(["tenant_id", "memory_id"], keep="first", maintain_order=True)


def texts_of(lake: Lake, wanted: pl.DataFrame) -> pl.DataFrame:
    """Texts of memories, as far as the lake holds them.

    Args:
        lake: Where.
        wanted: ``tenant_id`` and ``memory_id``.

    Returns:
        ``tenant_id``, ``memory_id``, ``text`` and ``source_refs``; a row a memory.
    """
    pairs = wanted.select("tenant_id", "memory_id").unique()
    tenants = sorted(pairs["tenant_id"].unique())
    parts = []
    for table in (EPISODES, COLD, *REVISED):
        key, text = table.key[0], DERIVED_TEXTS.get(table.name, "content")
        names = ("tenant_id", pl.col(key).alias("memory_id"), pl.col(text).alias("text"))
        asked = pairs.lazy().rename({"memory_id": key})
        rows = _of(lake, table, tenants).join(asked, on=["tenant_id", key], how="semi")
        if table in REVISED:
            held = rows.select("tenant_id", key, text, "source_refs", *revisions.REVISION).collect()
            parts.append(revisions.alive(revisions.newest(table, held)).select(*names, "source_refs"))
        else:
            refs = pl.concat_list(key).alias("source_refs")
            parts.append(rows.select(*names, refs).collect())
    return pl.concat(parts).unique(["tenant_id", "memory_id"], keep="first", maintain_order=True)


def _of(lake: Lake, table: Table, tenants: Collection[str], scope: Sequence[pl.Expr] = ()) -> pl.LazyFrame:
    """Rows of tenants; the tenant is in the predicate of the read."""
    buckets = sorted({lake.bucket(tenant) for tenant in tenants})
    rows = tables.scan(lake, table, buckets=buckets)
    return rows.filter(pl.col("tenant_id").is_in(sorted(tenants)), *scope)
