"""Retain as work units: tenant buckets judged, and what goes taken out of them.

A unit's rows, files and journal are its own, so units run beside each other and in any order. One that
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
from flows.retain_around import orphaned_vectors, remember_forgotten, send_to_cold
from flows.retain_groups import Group, grouped
from flows.retain_journal import Journal, place_of, resumed
from flows.retain_judged import Judged, joined, judge
from flows.retain_ledger import Lines
from flows.retain_plan import Instructions, Plan, match_of
from flows.retain_remove import remove
from lake import tables
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
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    VECTORS,
    Table,
)

ORDER: tuple[Table, ...] = (
    EPISODES, LINEAGE, DECISIONS, CLAIMS, FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS, COLD,
    QUARANTINE, RECALLS, MODEL_RESULTS, FORGOTTEN, TOPIC_MEMBERS, TOPICS,
)  # fmt: skip
"""In the order of their commits: what names a row goes before the row, so that a kill leaves it due."""
SESSION = ["tenant_id", "owner", "session_id"]


def units(job: Job, due: Iterable[int], run_id: str, told: Instructions, bases: dict[int, str]) -> list[Unit]:
    """A unit for each group of buckets; one for all of which decay has left here what goes.

    Args:
        job: The run.
        due: Buckets.
        run_id: Of the run.
        told: What people asked for, and when retention looked last.
        bases: ``retain_judged.basis_of`` each bucket.
    """
    looked_at = told.looked_at.isoformat() if told.looked_at else None
    known = [bucket for bucket in due if _is_known(job, bucket, bases.get(bucket))]
    groups = grouped(job, [bucket for bucket in due if bucket not in known], is_shared_out=True)
    if known:
        groups.append(Group(known, 1, sum(job.judged[bucket].rows for bucket in known)))
    return [
        Unit(
            "retain",
            group.name,
            tuple(group.buckets),
            {
                "run_id": run_id,
                "looked_at": looked_at,
                "buckets": group.buckets,
                "bases": {str(b): bases[b] for b in group.buckets if b in bases},
            },
            group.rows,
        )
        for group in groups
    ]


def retain_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Judge buckets and take out what goes.

    Args:
        job: The run.
        payload: As ``units`` makes it.

    Returns:
        ``rows`` judged, ``next_at`` of each bucket (ISO 8601 or null) and ``lines`` (``Lines.as_json``). What
        went stands in the journal of the first bucket.
    """
    buckets, run_id = [int(bucket) for bucket in payload["buckets"]], str(payload["run_id"])
    with tables.held_open(is_shared=True):
        told = instructions(job, payload["looked_at"])
        if job.is_dry:
            judged = judge(job, told, buckets)
        else:
            journal = resumed(job, run_id, place_of(buckets[0]))
            judged = _known(job, buckets, payload["bases"]) or judge(job, told, buckets)
            plan = joined([one.plan for one in judged.values() if one.plan is not None])
            _remove(job, journal, buckets, plan)
            for one in judged.values():
                one.lines.going.clear()
    lines = Lines()
    for one in judged.values():
        lines.take(one.lines)
    next_at = {str(b): one.next_at.isoformat() if one.next_at else None for b, one in judged.items()}
    rows = sum(one.rows for one in judged.values())
    return {"rows": rows, "next_at": next_at, "lines": lines.as_json()}


def instructions(job: Job, looked_at: str | None) -> Instructions:
    """What stands, with when retention looked last."""
    moment = datetime.fromisoformat(looked_at) if looked_at else None
    return Instructions(retain_state.instructions_of(job), moment)


def _is_known(job: Job, bucket: int, basis: str | None) -> bool:
    judged = job.judged.get(bucket)
    return judged is not None and judged.plan is not None and judged.basis == basis


def _known(job: Job, buckets: list[int], bases: dict[str, str]) -> dict[int, Judged]:
    """What decay has found in this process, on the same basis; nothing where one bucket is not known so."""
    is_known = all(_is_known(job, bucket, bases.get(str(bucket))) for bucket in buckets)
    judged = {bucket: job.judged.pop(bucket, None) for bucket in buckets}
    return {bucket: one for bucket, one in judged.items() if one is not None} if is_known else {}


def _remove(job: Job, journal: Journal, buckets: list[int], plan: Plan) -> None:
    """What is about to go is listed, copied and unembedded before it goes."""
    remember_forgotten(job, plan)
    send_to_cold(job, plan)
    _gone(job, journal, VECTORS, buckets, orphaned_vectors(job, buckets, plan))
    journal.rebuilt += [who for who in _banned(plan) if who not in journal.rebuilt]
    for table in ORDER:
        _gone(job, journal, table, buckets, plan.going(table))
    if journal.is_begun:
        journal.settle()


def _banned(plan: Plan) -> list[list[str | None]]:
    """Tenant, owner and session of what goes for a forbidden topic: what rested on it is derived anew."""
    found = []
    for table in (EPISODES, FACTS, CLAIMS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS):
        rows = plan.going(table).filter(pl.col("reason") == "forbidden_topic")
        found.append(rows.select(SESSION))
    return [list(who) for who in pl.concat(found).unique().sort(SESSION).iter_rows()]


def _gone(job: Job, journal: Journal, table: Table, buckets: list[int], going: pl.DataFrame) -> None:
    if going.height:
        remove(job, journal, table, buckets, going, match_of(table))
