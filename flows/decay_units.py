"""Decay as work units: the memories of tenant buckets scored, and counted by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from flows.job import Job
from flows.retain_judged import Judged, judge, keep, told_of
from flows.retain_plan import Plan
from flows.retain_units import instructions
from lake import tables
from transforms.forgetting import spread
from transforms.forgetting.score import frequency_expr, priority_expr, recency_expr
from transforms.forgetting.verdicts import KEYS
from transforms.schemas import EPISODES, FACTS, PROCEDURES, SUMMARIES
from transforms.subjects import Subject

SCORED = (EPISODES, FACTS, SUMMARIES, PROCEDURES)
"""Tables whose rows have a retention score."""
_NAMED = ("table", "id", "tenant_id", "user_id", "agent_id", "session_id")
COLUMNS = (
    *_NAMED, "kind", "importance", "access_count", "event_at", "last_accessed_at", "recency", "frequency",
    "priority", "score", "is_pinned", "reason", "due_at", "state",
)  # fmt: skip
"""Of a scored memory, with each factor of its score."""


def decay_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Score the memories of buckets.

    Args:
        job: At which instant, by which policy.
        payload: ``buckets``, ``looked_at`` (when retention looked last, ISO 8601 or null), ``bases`` of
            what is judged, by bucket (null: it is kept for nobody, and only ``kinds`` is told), and
            ``subject``, its parts, or null for all.

    Returns:
        ``kinds`` (``spread.spread`` by kind), and by bucket ``is_clear``, ``next_at`` and ``rows`` of the
        verdicts on all of it.
    """
    subject = Subject(**payload["subject"]) if payload["subject"] else None
    with tables.held_open(is_shared=True):
        found, judged = look(job, payload, subject)
    if payload["bases"] is not None:
        for bucket, one in judged.items():
            one.basis = payload["bases"][str(bucket)]
            keep(job, bucket, one)
    return {"kinds": found, "buckets": {str(bucket): told_of(one) for bucket, one in judged.items()}}


def look(
    job: Job,
    payload: dict[str, Any],
    subject: Subject | None,
    save: Callable[[pl.DataFrame], None] | None = None,
) -> tuple[dict[str, spread.Spread], dict[int, Judged]]:
    """Judge buckets and count their memories.

    Args:
        job: At which instant, by which policy.
        payload: As for ``decay_unit``.
        subject: Only memories of it are counted; None is all.
        save: Called with ``COLUMNS`` of the memories of each part.
    """
    counts: list[dict[str, spread.Spread]] = []

    def counted(plan: Plan) -> None:
        if save is None:
            parts = [_mine(plan, table.name, subject).select(spread.COUNTED) for table in SCORED]
            counts.append(spread.spread(pl.concat(parts)))
        else:
            rows = memories(job, plan, subject)
            counts.append(spread.spread(rows))
            save(rows)

    told, is_counted = instructions(job, payload["looked_at"]), payload["bases"] is not None
    judged = judge(job, told, payload["buckets"], counted, is_counted=is_counted)
    return spread.together(counts), judged


def _mine(plan: Plan, table: str, subject: Subject | None) -> pl.DataFrame:
    rows = plan.verdicts[table]
    if table == EPISODES.name:
        rows = rows.filter(~pl.col("is_injected"))
    return rows if subject is None else rows.filter(subject.owns())


def memories(job: Job, plan: Plan, subject: Subject | None) -> pl.DataFrame:
    """``COLUMNS`` of the scored rows of a plan, in the order of tenant, table and id."""
    decay, parts = job.policy.decay, []
    for table in SCORED:
        factors = _mine(plan, table.name, subject).with_columns(
            recency_expr(decay, job.as_of),
            frequency_expr(decay),
            priority_expr(decay, job.as_of),
            table=pl.lit(table.name),
            id=pl.col(KEYS[table.name]),
        )
        parts.append(factors.select(COLUMNS))
    return pl.concat(parts).sort("tenant_id", "table", "id")
