"""Retain as work units: one tenant bucket judged, and what goes taken out of it.

A bucket's rows, files and journal are its own, so units run beside each other and in any order. One that
died is run again: what it had taken out is in its journal, what it had not is still due.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import polars as pl

from flows import retain_state
from flows.engine.units import Unit
from flows.job import Job
from flows.retain_around import (
    orphaned_vectors,
    remember_forgotten,
    send_to_cold,
    unneeded_forgotten,
    unneeded_topics,
)
from flows.retain_journal import Journal, place_of, resumed
from flows.retain_judged import Judged, judge
from flows.retain_plan import Instructions, Plan, match_of
from flows.retain_remove import remove
from lake import tables
from lake.row_counts import rows_by_bucket
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
SESSION = ["tenant_id", "owner", "session_id"]
_TABLES = {table.name: table for table in STORED}


def units(job: Job, due: Iterable[int], run_id: str, told: Instructions, bases: dict[int, str]) -> list[Unit]:
    """A unit a bucket.

    Args:
        job: The run.
        due: Buckets.
        run_id: Of the run.
        told: What people asked for, and when retention looked last.
        bases: ``retain_judged.basis_of`` each bucket.
    """
    rows = rows_by_bucket(job.lake, EPISODES)
    looked_at = told.looked_at.isoformat() if told.looked_at else None
    shared = {"run_id": run_id, "looked_at": looked_at}
    return [
        Unit(
            "retain",
            f"bucket {bucket}",
            (bucket,),
            {"bucket": bucket, "basis": bases.get(bucket), **shared},
            rows.get(bucket, 0),
        )
        for bucket in due
    ]


def retain_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Judge a bucket and take out what goes.

    Args:
        job: The run.
        payload: As ``units`` makes it.

    Returns:
        ``rows`` judged, ``next_at`` (ISO 8601 or null) and ``lines`` (``Lines.as_json``). What went stands
        in the bucket's journal.
    """
    bucket, run_id = int(payload["bucket"]), str(payload["run_id"])
    with tables.held_open(is_shared=True):
        told = instructions(job, payload["looked_at"])
        if job.is_dry:
            judged = judge(job, told, bucket)
        else:
            journal = resumed(job, run_id, place_of(bucket))
            judged = _known(job, bucket, payload["basis"]) or judge(job, told, bucket)
            if judged.plan is not None:
                _remove(job, journal, bucket, told, judged.plan)
            judged.lines.going.clear()
    next_at = judged.next_at.isoformat() if judged.next_at else None
    return {"rows": judged.rows, "next_at": next_at, "lines": judged.lines.as_json()}


def instructions(job: Job, looked_at: str | None) -> Instructions:
    """What stands, with when retention looked last."""
    moment = datetime.fromisoformat(looked_at) if looked_at else None
    return Instructions(retain_state.instructions_of(job), moment)


def _known(job: Job, bucket: int, basis: str | None) -> Judged | None:
    """What decay has found in this process, on the same basis."""
    judged = job.judged.pop(bucket, None)
    is_known = judged is not None and judged.plan is not None and judged.basis == basis
    return judged if is_known else None


def _remove(job: Job, journal: Journal, bucket: int, told: Instructions, plan: Plan) -> None:
    """What is about to go is listed, copied and unembedded before it goes."""
    remember_forgotten(job, bucket, plan)
    send_to_cold(job, bucket, plan)
    _gone(job, journal, VECTORS, bucket, orphaned_vectors(job, bucket, plan))
    journal.rebuilt += [who for who in _banned(plan) if who not in journal.rebuilt]
    for table in ORDER:
        _gone(job, journal, table, bucket, plan.going(table))
    holds = told.wishes.holds
    _gone(job, journal, FORGOTTEN, bucket, unneeded_forgotten(job, bucket, holds))
    for name, going in unneeded_topics(job, bucket, holds).items():
        _gone(job, journal, _TABLES[name], bucket, going)
    if journal.is_begun:
        journal.settle()


def _banned(plan: Plan) -> list[list[str | None]]:
    """Tenant, owner and session of what goes for a forbidden topic: what rested on it is derived anew."""
    found = []
    for table in (EPISODES, FACTS, CLAIMS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS):
        rows = plan.going(table).filter(pl.col("reason") == "forbidden_topic")
        found.append(rows.select(SESSION))
    return [list(who) for who in pl.concat(found).unique().sort(SESSION).iter_rows()]


def _gone(job: Job, journal: Journal, table: Table, bucket: int, going: pl.DataFrame) -> None:
    if going.height:
        remove(job, journal, table, bucket, going, match_of(table))
