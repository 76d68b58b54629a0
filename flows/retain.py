"""Retain: what is past its time, stale, decayed, over the budget or unwanted leaves the lake."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from flows import retain_state
from flows.commit import tidy
from flows.consolidate import run_consolidate
from flows.job import Job, StepResult, record, step
from flows.retain_around import (
    orphaned_vectors,
    remember_forgotten,
    send_to_cold,
    unneeded_forgotten,
    unneeded_topics,
)
from flows.retain_ledger import Lines, close_run
from flows.retain_plan import Instructions, Plan, match_of, plan_bucket
from flows.retain_remove import remove
from flows.retain_state import Journal, Seen
from flows.retain_working import retain_working
from lake import hints, tables, upkeep
from lake.crypto.leftovers import drop_leftovers
from lake.opened import forget
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    STORED,
    SUMMARIES,
    VECTORS,
    Table,
)

ORDER: tuple[Table, ...] = (
    EPISODES, LINEAGE, DECISIONS, CLAIMS, FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS, COLD,
    QUARANTINE, RECALLS, MODEL_RESULTS,
)  # fmt: skip
"""In the order of their commits: what names a row goes before the row, so that a kill leaves it due."""


_SESSION = ["tenant_id", "owner", "session_id"]


@dataclass
class _Run:
    """One run of retain."""

    job: Job
    told: Instructions
    journal: Journal
    lines: Lines = field(default_factory=Lines)
    rows: int = 0
    touched: set[str] = field(default_factory=set)


def run_retain(job: Job) -> StepResult:
    """Take out of the lake what the policy, a person's own period or a forbidden topic lets go.

    Args:
        job: The run; where ``job.is_dry``, nothing is written, and the detail lists what would go.

    Returns:
        rows_in: rows judged; rows_out: rows that went (dry: would go). ``unchanged`` where nothing can
        be due: no file of a bucket changed since the last run, and nothing in it was due by now. The
        detail counts ``removed`` by table and reason, ``held``, ``waiting`` and ``late``, and what went of
        ``working`` memory.

    Raises:
        LakeError: An instruction is damaged: nothing is removed against it.
    """
    with step(job, "retain") as result, tables.held_open():
        told = Instructions(retain_state.instructions_of(job))
        method = retain_state.method_of(job, told.all)
        seen = retain_state.load(job, method)
        told = Instructions(told.all, seen.looked_at)
        seen = Seen() if job.is_dry else seen
        due = _due(job, seen)
        is_resumed = not job.is_dry and job.lake.storage.read(retain_state.JOURNAL) is not None
        working = retain_working(job)
        if not (due or is_resumed or _vacuumable(job, seen) or working):
            result.state = "unchanged"
            return result
        run = _begun(job, told)
        with job.progress.task("retain", len(due)) as advance:
            for bucket in due:
                seen.buckets[bucket] = _retained(run, bucket)
                advance(1)
        result.rows_in = run.rows
        if not job.is_dry:
            _finished(run, method, seen)
        _tell(run, result)
        if working:
            result.detail["working"] = working.as_dict()
    if not job.is_dry:
        written = {name: tables.version(job.lake, _TABLES[name]) for name in run.touched}
        record(job, result, read=run.journal.versions, written=written)
    return result


_TABLES = {table.name: table for table in STORED}


def _due(job: Job, seen: Seen) -> list[int]:
    """Buckets in which something may be due."""
    files = retain_state.files_by_bucket(job)
    return [bucket for bucket, name in files.items() if not seen.is_settled(bucket, name, job.as_of)]


def _begun(job: Job, told: Instructions) -> _Run:
    # Later runs have greater ids: of two at one as-of the ledger tells which was the later.
    run_id = f"{time.time_ns() // 1_000:016x}{secrets.token_hex(8)}"
    journal = Journal(job, run_id) if job.is_dry else retain_state.resumed(job, run_id)
    return _Run(job, told, journal)


def _retained(run: _Run, bucket: int) -> dict[str, Any]:
    """Judge a bucket and take out what goes. Returns what is remembered of it."""
    plan = plan_bucket(run.job, run.told, bucket)
    run.rows += plan.rows
    run.lines.add(run.job, plan)
    if not run.job.is_dry:
        _remove(run, bucket, plan)
    next_at = plan.next_at
    return {"files": "", "next_at": next_at.isoformat() if next_at else None}


def _remove(run: _Run, bucket: int, plan: Plan) -> None:
    """What is about to go is listed, copied and unembedded before it goes."""
    job = run.job
    remember_forgotten(job, bucket, plan)
    send_to_cold(job, bucket, plan)
    _gone(run, VECTORS, bucket, orphaned_vectors(job, bucket, plan))
    run.journal.rebuilt += _banned(plan)
    _gone(run, EPISODES, bucket, plan.going(EPISODES))
    for table in ORDER[1:]:
        _gone(run, table, bucket, plan.going(table))
    holds = run.told.wishes.holds
    _gone(run, FORGOTTEN, bucket, unneeded_forgotten(job, bucket, holds))
    for name, going in unneeded_topics(job, bucket, holds).items():
        _gone(run, _TABLES[name], bucket, going)


def _banned(plan: Plan) -> list[list[str | None]]:
    """Tenant, owner and session of what goes for a forbidden topic: what rested on it is derived anew."""
    found = []
    for table in (EPISODES, FACTS, CLAIMS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS):
        rows = plan.going(table).filter(pl.col("reason") == "forbidden_topic")
        found.append(rows.select(_SESSION))
    return [list(who) for who in pl.concat(found).unique().sort(_SESSION).iter_rows()]


def _gone(run: _Run, table: Table, bucket: int, going: pl.DataFrame) -> None:
    if going.is_empty():
        return
    if remove(run.job, run.journal, table, bucket, going, match_of(table)):
        run.touched.add(table.name)


def _finished(run: _Run, method: str, seen: Seen) -> None:
    """Derive anew what rested on a forbidden topic, close the ledger, tidy up, and remember."""
    job = run.job
    hints.carry_over(job.lake)  # first: what follows must not read again what was only written anew
    if run.journal.rebuilt:
        schema = dict.fromkeys(_SESSION, pl.String())
        banned = pl.DataFrame(run.journal.rebuilt, schema=schema, orient="row").unique()
        owned = banned.filter(pl.col("owner").is_not_null())
        sessions = owned.filter(pl.col("session_id").is_not_null())
        run_consolidate(job, owners=owned.select("tenant_id", "owner").unique(), erased=sessions)
        for table in STORED:  # it has written beside what this block holds open
            forget(job.lake, table)
    close_run(job, run.journal, run.lines)
    run.touched |= drop_leftovers(job.lake).keys()  # of an encrypted lake that was put back from a backup
    now = datetime.now(UTC)
    for name in _vacuumable(job, seen):
        upkeep.vacuum(job.lake, _TABLES[name], job.policy.ingest.vacuum_after_hours)
        del seen.superseded[name]
    seen.superseded |= dict.fromkeys(run.touched, now.isoformat())
    tidy(job, *(_TABLES[name] for name in sorted(run.touched)))
    hints.carry_over(job.lake)
    files = retain_state.files_by_bucket(job)
    for bucket, held in seen.buckets.items():
        if not held["files"]:
            held["files"] = files[bucket]
    retain_state.save(job, method, seen)


def _vacuumable(job: Job, seen: Seen) -> list[str]:
    """Tables whose superseded files may go from the disk by now."""
    hours = timedelta(hours=job.policy.ingest.vacuum_after_hours)
    now = datetime.now(UTC)
    return sorted(n for n, at in seen.superseded.items() if datetime.fromisoformat(at) + hours <= now)


def _tell(run: _Run, result: StepResult) -> None:
    told = run.lines.told(run.journal, is_dry=run.job.is_dry)
    result.rows_out = sum(sum(reasons.values()) for reasons in told["removed"].values())
    result.detail = told
    kept = Counter(told["held"]).total() + Counter(told["waiting"]).total()
    if not (result.rows_out or kept or run.job.is_dry):
        result.state = "unchanged"
