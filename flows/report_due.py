"""What stands in the lake past its time: counted by the one definition of when a row expires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from flows.job import Job
from flows.retain_groups import grouped
from lake import revisions, tables
from lake.rights.standing import load_all
from transforms.compliance.kept import PRESENT_SCHEMA, present
from transforms.forgetting.due import Wishes
from transforms.forgetting.verdicts import SINCE, dated
from transforms.retention import due_after, expiry_expr, instant
from transforms.schemas import (
    ATTEMPTS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    INSTANT,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    RETENTION_TIERS,
    SUMMARIES,
    Table,
)
from transforms.standing import is_held

SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
TRACES = {RECALLS.name: "recalled_at", QUARANTINE.name: "quarantined_at", MODEL_RESULTS.name: "answered_at"}
"""Instant from which a trace lives."""
LOOKED_AT: tuple[Table, ...] = (
    EPISODES, COLD, FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS, RECALLS, QUARANTINE, MODEL_RESULTS
)  # fmt: skip


def past_due(job: Job) -> pl.DataFrame:
    """Rows past their time by tenant, table and tier (``kept.PRESENT_SCHEMA``), some buckets at a time."""
    wishes = Wishes.of(load_all(job.lake))
    counts = [pl.DataFrame(schema=PRESENT_SCHEMA)]
    held = {table.name: _folders(job, table) for table in LOOKED_AT}
    with job.progress.task("expired rows", job.lake.buckets, "buckets") as advance:
        for group in grouped(job, range(job.lake.buckets)):
            folders = {f"tenant_bucket={bucket}" for bucket in group.buckets}
            here = [table for table in LOOKED_AT if folders & held[table.name]]
            counts += [rows.collect(engine="streaming") for rows in _group(job, here, group.buckets, wishes)]
            advance(len(group.buckets))
    # Rows of unknown tenants lie in one bucket, those of a tenant too: nothing has to be summed.
    return pl.concat([rows.cast(PRESENT_SCHEMA) for rows in counts])


def _folders(job: Job, table: Table) -> set[str]:
    """Folders of buckets that hold anything of a table: of most tables of a small lake few do."""
    return {name.partition("/")[0] for name in tables.data_files(job.lake, table)}


def _group(job: Job, here: Sequence[Table], buckets: Sequence[int], wishes: Wishes) -> Iterator[pl.LazyFrame]:
    for table in here:
        rows = _due(job, table, buckets, wishes)
        grace = job.policy.rights.late_after_seconds
        yield present(rows, table.name, instant(job.as_of), grace)


def _due(job: Job, table: Table, buckets: Sequence[int], wishes: Wishes) -> pl.LazyFrame:
    """Rows of buckets with ``tenant_id``, ``tier``, ``due_at``, ``known_at`` and ``is_held``."""
    policy = job.policy
    if table.name in TRACES:
        rows = _trace(job, table, buckets, wishes)
        key, known_at = "memory_id" if table is RECALLS else table.key[0], pl.lit(None, INSTANT)
    elif table in (EPISODES, COLD):
        columns = [
            "episode_id",
            *SCOPE,
            "kind",
            "retention_tier",
            "expires_at",
            "event_at",
            "ingested_at",
        ]
        rows = tables.scan(job.lake, table, buckets=buckets).select(columns)
        rows = rows.with_columns(expiry_expr(policy.retention, wishes.periods, wishes.pins))
        key, known_at = "episode_id", pl.col("ingested_at")
    else:
        rows = dated(_standing(job, table, buckets), table, policy, wishes).lazy()
        key = table.key[0]
        known_at = pl.col("recorded_at") if "recorded_at" in table.names else pl.lit(None, INSTANT)
    tier = pl.col("retention_tier") if table.name not in TRACES else pl.lit("")
    return rows.select(
        "tenant_id",
        tier=pl.when(tier.is_in(RETENTION_TIERS)).then(tier).otherwise(pl.lit("")),
        due_at=pl.col("expires_at"),
        known_at=known_at,
        is_held=is_held(wishes.holds, key),
    )


def _standing(job: Job, table: Table, buckets: Sequence[int]) -> pl.DataFrame:
    """What stands of a derived table, without its text: an encrypted lake is counted without its keys."""
    wanted = {*table.key, *SCOPE, *revisions.REVISION, SINCE[table.name]}
    wanted |= {"kind", "retention_tier", "expires_at", "recorded_at"}
    columns = [name for name in table.names if name in wanted]
    rows = tables.scan(job.lake, table, buckets=buckets).select(columns).collect(engine="streaming")
    return revisions.alive(revisions.newest_rows(table, rows))


def _trace(job: Job, table: Table, buckets: Sequence[int], wishes: Wishes) -> pl.LazyFrame:
    """Rows of a trace with ``expires_at``, and the scope columns that it lacks as nulls."""
    spans = job.policy.retention
    seconds = {
        RECALLS.name: spans.recalls_seconds,
        QUARANTINE.name: spans.quarantine_seconds,
        MODEL_RESULTS.name: spans.model_results_seconds,
    }[table.name]
    periods = wishes.periods if "user_id" in table.names else None
    key = "memory_id" if table is RECALLS else table.key[0]
    names = [name for name in SCOPE if name in table.names]
    rows = tables.scan(job.lake, table, buckets=buckets).select(*names, key, TRACES[table.name])
    missing = {name: pl.lit(None, pl.String) for name in SCOPE if name not in table.names}
    return rows.with_columns(expires_at=due_after(seconds, TRACES[table.name], periods), **missing)
