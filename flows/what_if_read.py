"""What a what-if reads of a tenant bucket: verdicts, sizes, memories, and what callers were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from flows.job import Job
from flows.recalled import waiting_recalls
from flows.retain_plan import Instructions, match_of, plan_bucket
from flows.tune_memories import memories_of
from lake import revisions, tables
from lake.index_record import load_manifest, readable_pointer
from lake.lake import Lake
from lake.rights import tombstones
from transforms import retention
from transforms.declarations import TEXTS
from transforms.forgetting.verdicts import IS_SERVED
from transforms.forgetting.what_if import ROW_SCHEMA
from transforms.policy import Policy
from transforms.replay.lives import SEEN_SCHEMA, with_cover
from transforms.replay.memory_rows import completed
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    REMOVALS,
    SUMMARIES,
    Table,
)
from transforms.subjects import Subject

LOOKED_AT: tuple[Table, ...] = (
    EPISODES, COLD, FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS, CLAIMS, RECALLS, QUARANTINE,
    MODEL_RESULTS,
)  # fmt: skip
"""Tables whose rows are counted; decisions and lineage go with the rows they are of."""
_REVISED = (FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS)
_SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")


def sizes_in(job: Job, bucket: int) -> dict[str, pl.DataFrame]:
    """By table, ``key`` and ``content_bytes`` of each row that stands: UTF-8 bytes of its free text.

    The words of a call are counted once, with its first candidate.
    """
    return {table.name: _sizes(job.lake, table, bucket) for table in LOOKED_AT}


def _sizes(lake: Lake, table: Table, bucket: int) -> pl.DataFrame:
    texts = [_bytes(table, name) for name in table.free_text]
    size = pl.sum_horizontal(texts) if texts else pl.lit(0)
    if table is RECALLS:
        size = pl.when(pl.col("rank") <= 1).then(size).otherwise(0)
    rows = tables.scan(lake, table, buckets=[bucket])
    order = [*table.key, *revisions.REVISION] if table in _REVISED else []
    found = rows.select(*order, _key(table).alias("key"), size.cast(pl.Int64).alias("content_bytes"))
    held = found.collect(engine="streaming")
    stood = revisions.alive(revisions.newest(table, held)) if table in _REVISED else held
    return stood.select("key", "content_bytes").unique("key")


def _bytes(table: Table, name: str) -> pl.Expr:
    text = pl.col(name)
    is_list = table.polars[name] == TEXTS
    return (text.list.join("").str.len_bytes() if is_list else text.str.len_bytes()).fill_null(0)


def _key(table: Table) -> pl.Expr:
    """What names a row of a table, as one text."""
    return pl.concat_str(match_of(table), separator="\n", ignore_nulls=True)


def verdicts_in(
    job: Job, told: Instructions, policy: Policy, bucket: int, sizes: dict[str, pl.DataFrame],
    subject: Subject | None,
) -> pl.DataFrame:  # fmt: skip
    """What becomes of each row of a bucket now, under a policy.

    Args:
        job: The lake and the instant.
        told: What people asked for.
        policy: The policy to judge by.
        bucket: Which.
        sizes: From ``sizes_in``.
        subject: Only rows of it; None is all.

    Returns:
        ``what_if.ROW_SCHEMA`` and ``key``.
    """
    plan = plan_bucket(replace(job, policy=policy), told, bucket)
    parts = [_verdicts(plan.verdicts[table.name], table, sizes[table.name], subject) for table in LOOKED_AT]
    return pl.concat(parts)


def _verdicts(rows: pl.DataFrame, table: Table, sizes: pl.DataFrame, subject: Subject | None) -> pl.DataFrame:
    blank = {name: pl.lit(None, pl.String) for name in (*_SCOPE, "kind") if name not in rows.columns}
    shaped = rows.with_columns(**blank)
    mine = shaped if subject is None else shaped.filter(subject.owns())
    is_recalled = table in (EPISODES, FACTS, SUMMARIES, PROCEDURES)
    named = mine.select(
        pl.lit(table.name).alias("table"),
        _key(table).alias("key"),
        pl.col("kind").fill_null("") if table not in (CONVERSATIONS, ATTEMPTS) else pl.lit("").alias("kind"),
        "tier",
        pl.col("tenant_id").fill_null("").alias("tenant"),
        "state",
        "reason",
        (IS_SERVED.get(table.name, pl.lit(True)) if is_recalled else pl.lit(False)).alias("is_served"),
    )
    sized = named.join(sizes, on="key", how="left").with_columns(pl.col("content_bytes").fill_null(0))
    return sized.select("key", *(pl.col(name).cast(dtype) for name, dtype in ROW_SCHEMA.items()))


def tenants_in(lake: Lake, bucket: int, subject: Subject | None) -> list[str]:
    """Tenants of a bucket that recalls or memories are held of; of a subject, its own alone."""
    if subject is not None:
        return [subject.tenant] if lake.bucket(subject.tenant) == bucket else []
    found = set[str]()
    for table in (EPISODES, COLD, FACTS, SUMMARIES, PROCEDURES, RECALLS):
        rows = tables.scan(lake, table, buckets=[bucket]).select(pl.col("tenant_id").unique())
        found |= set(rows.collect(engine="streaming")["tenant_id"].drop_nulls())
    return sorted(found)


def recalls_in(job: Job, bucket: int, tenants: Sequence[str]) -> pl.DataFrame:
    """Recalls of tenants of a bucket until the as-of, those that nights have folded and those that wait.

    Returns:
        ``schemas.RECALLS``, each row once. Of erased and opted-out people there are none.
    """
    mine = [pl.col("tenant_id").is_in(tenants), pl.col("recalled_at") <= retention.instant(job.as_of)]
    folded = tables.scan(job.lake, RECALLS, buckets=[bucket]).filter(*mine).collect()
    waiting = waiting_recalls(job.lake, bucket).filter(*mine)
    found = pl.concat([folded, waiting]).unique(list(RECALLS.key), keep="first", maintain_order=True)
    refusing = tombstones.load(job.lake)
    if refusing and found.height:
        who = found.select(*_SCOPE, "memory_id", event_at="recalled_at")
        found = found.filter(~refusing.is_refused(who))
    return found


def given_in(recalls: pl.DataFrame, subject: Subject | None) -> pl.DataFrame:
    """What callers were given: ``lives.SEEN_SCHEMA`` with ``call_id`` and ``is_used``, by time.

    Args:
        recalls: From ``recalls_in``.
        subject: Only of calls of it; None is all.
    """
    asked = recalls.filter("is_returned", pl.col("rank") > 0, pl.col("verb") != "restore")
    mine = asked if subject is None else asked.filter(subject.owns())
    named = mine.rename({"recalled_at": "at"}).sort("at", "call_id", "rank", "memory_id")
    return named.select(*SEEN_SCHEMA.names(), "call_id", "is_used")


def memories_in(job: Job, tenants: Sequence[str], recalls: pl.DataFrame) -> pl.DataFrame:
    """Memories of tenants, and since when a summary covers each episode.

    Returns:
        ``memory_rows.MEMORY_SCHEMA`` and ``covered_at``.
    """
    held = completed(memories_of(job.lake, tenants), recalls)
    return with_cover(held, covered_in(job.lake, tenants), job.policy.summaries.after_seconds)


def covered_in(lake: Lake, tenants: Sequence[str]) -> pl.DataFrame:
    """``tenant_id`` and ``memory_id`` of the episodes that standing summaries of tenants cover."""
    buckets = sorted({lake.bucket(tenant) for tenant in tenants})
    rows = tables.scan(lake, SUMMARIES, buckets=buckets).filter(pl.col("tenant_id").is_in(tenants))
    columns = [*SUMMARIES.key, "tenant_id", "source_refs", *revisions.REVISION]
    stood = revisions.alive(revisions.newest(SUMMARIES, rows.select(columns).collect()))
    return stood.select("tenant_id", memory_id="source_refs").explode("memory_id").drop_nulls()


def index_of(lake: Lake) -> tuple[int, int] | None:
    """Rows and bytes of the live generation of the index; None where nothing is published."""
    pointer = readable_pointer(lake)
    if pointer is None:
        return None
    entries = lake.storage.entries(f"index/{pointer.generation}/")
    return load_manifest(lake, pointer.generation).rows, sum(entry.size_bytes for entry in entries)


def removed_before(job: Job) -> pl.DataFrame:
    """``table``, ``reason``, ``rows``: what retention has taken out until the as-of."""
    rows = tables.scan(job.lake, REMOVALS).filter(pl.col("as_of_at") <= retention.instant(job.as_of))
    counted = rows.group_by("table", "reason").agg(rows=pl.col("rows_removed").sum())
    return counted.collect().filter(pl.col("rows") > 0).sort("table", "reason")
