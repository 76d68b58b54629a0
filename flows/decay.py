"""Decay: the retention score of every memory at an instant, and what would be forgotten and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from flows import retain_state
from flows.job import Job, StepResult, step
from flows.retain_plan import Instructions, Plan, plan_bucket
from lake import tables
from lake.faults import wrapped
from transforms.forgetting.score import frequency_expr, priority_expr, recency_expr
from transforms.forgetting.verdicts import KEYS
from transforms.schemas import EPISODES, FACTS, PROCEDURES, SUMMARIES
from transforms.subjects import Subject

SCORED = (EPISODES, FACTS, SUMMARIES, PROCEDURES)
"""Tables whose rows have a retention score."""
BINS = 10
"""Bars of a kind's distribution of scores, of equal width from 0 to 1."""
_COLUMNS = (
    "table",
    "id",
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "kind",
    "importance",
    "access_count",
    "event_at",
    "last_accessed_at",
    "recency",
    "frequency",
    "priority",
    "score",
    "is_pinned",
    "reason",
    "due_at",
    "state",
)

_COUNTED = ("kind", "score", "reason", "state", "is_pinned")


def run_decay(
    job: Job, *, subject: Subject | None = None, out: str | None = None, is_complete: bool = False
) -> StepResult:
    """Score every memory; nothing of the lake is written, and no score is kept.

    Args:
        job: The run.
        subject: Only memories of it; None is all.
        out: File to write the scored memories to, Parquet.
        is_complete: Look at every memory, also where nothing can be due since the last retain.

    Returns:
        rows_in: memories scored; rows_out: those that the policy lets go. The detail has, by kind, rows,
        the distribution of scores, and what would be forgotten by reason. ``unchanged`` where all is to
        be looked at only as far as needed, and nothing is due that was not at the last retain.

    Raises:
        StorageError: The file cannot be written.
    """
    with step(job, "decay") as result, tables.held_open():
        told = Instructions(retain_state.instructions_of(job))
        is_complete = is_complete or subject is not None or out is not None
        buckets = _buckets(job, told, subject, is_complete=is_complete)
        if not buckets:
            result.state = "unchanged"
            return result
        columns = _COLUMNS if out else _COUNTED  # a lake's memories with all factors would fill the memory
        frames = [_memories(job, plan, subject).select(columns) for plan in _plans(job, told, buckets)]
        found = pl.concat(frames)
        result.rows_in = found.height
        result.rows_out = found.filter(pl.col("reason").is_not_null()).height
        result.detail = {"kinds": by_kind(found)}
        if not (result.rows_out or is_complete):
            result.state = "unchanged"
        if out is not None:
            with wrapped(f"writing {Path(out).name}"):
                found.sort("tenant_id", "table", "id").write_parquet(out)
            result.detail["out"] = out
    return result


def _buckets(job: Job, told: Instructions, subject: Subject | None, *, is_complete: bool) -> list[int]:
    if subject is not None:
        return [job.lake.bucket(subject.tenant)]
    if is_complete:
        return list(range(job.lake.buckets))
    seen = retain_state.load(job, retain_state.method_of(job, told.all))
    files = retain_state.files_by_bucket(job)
    return [bucket for bucket, name in files.items() if not seen.is_settled(bucket, name, job.as_of)]


def _plans(job: Job, told: Instructions, buckets: list[int]) -> Iterator[Plan]:
    with job.progress.task("decay", len(buckets)) as advance:
        for bucket in buckets:
            yield plan_bucket(job, told, bucket)
            advance(1)


def _memories(job: Job, plan: Plan, subject: Subject | None) -> pl.DataFrame:
    """Scored rows of a bucket with each factor."""
    decay, parts = job.policy.decay, []
    for table in SCORED:
        rows = plan.verdicts[table.name]
        if table is EPISODES:
            rows = rows.filter(~pl.col("is_injected"))
        mine = rows if subject is None else rows.filter(subject.owns())
        factors = mine.with_columns(
            recency_expr(decay, job.as_of),
            frequency_expr(decay),
            priority_expr(decay, job.as_of),
            table=pl.lit(table.name),
            id=pl.col(KEYS[table.name]),
        )
        parts.append(factors.select(_COLUMNS))
    return pl.concat(parts)


def by_kind(memories: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows, distribution of scores and reasons of each kind, by name.

    Args:
        memories: ``kind``, ``score``, ``reason`` and ``state``.
    """
    found = []
    for (kind,), rows in sorted(memories.group_by("kind"), key=lambda part: str(part[0][0])):
        places = (rows["score"] * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)
        counts = dict(places.value_counts().iter_rows())
        quantiles = {f"p{q}": _rounded(rows["score"].quantile(q / 100, "nearest")) for q in (10, 50, 90)}
        reasons = rows.filter(pl.col("reason").is_not_null()).group_by("reason").len().sort("reason")
        states = rows.filter(pl.col("state").is_in(["held", "waiting"])).group_by("state").len()
        found.append(
            {
                "kind": kind,
                "rows": rows.height,
                **quantiles,
                "histogram": [counts.get(place, 0) for place in range(BINS)],
                "forgotten": dict(reasons.iter_rows()),
                "held": 0,
                "waiting": 0,
                **dict(states.iter_rows()),
                "pinned": int(rows["is_pinned"].sum()),
            }
        )
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
