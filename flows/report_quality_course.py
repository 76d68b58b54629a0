"""Measures of memory over time, by day or week: one table of all, and those split by kind or reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from flows import metrics
from flows import metrics_read as read
from flows.job import Job
from flows.metrics_read import Window
from lake import queries, tables
from lake.rights.subjects import salt, tenant_hash
from transforms.health import audit, measures
from transforms.health import crowding as near
from transforms.health import served as given
from transforms.health.metric_rows import UNITS
from transforms.retention import instant
from transforms.schemas import INSTANT, METRICS

MOST_DAYS = 45
"""Up to this length a window is told by day, a longer one by week."""
PERIOD = "period_at"
_NIGHT = ("as_of_at", "name", "part", "value", "unit", "window_days")


def period_of(window: Window) -> str:
    """Name of the period that a window is told by."""
    return "day" if window.days <= MOST_DAYS else "week"


def course(job: Job, window: Window, looked: metrics.Looked) -> dict[str, pl.DataFrame]:
    """Tables of a window of calls.

    ``course``: a row a period with calls or removals, and every measure of it. ``whole``: the same of all
    calls together, one row. ``kinds`` and ``ages``: what is served by kind, of all; ``course_kinds``: the
    same by period. ``removed``: rows that retention took out, by period and reason. ``latency``: by verb.

    Args:
        job: On which lake.
        window: The calls.
        looked: What was read of them.
    """
    period = period_of(window)
    timed = replace(looked, **{
        name: measures.with_period(getattr(looked, name), period)
        for name in ("calls", "served", "facts", "judged", "answers")
    })  # fmt: skip
    removed = _removed(job, window, period)
    return {
        "course": _joined([*_parts(timed, [PERIOD]), _flow(job, window, removed, period)]),
        "whole": _whole(looked),
        "latency": measures.measured(looked.calls, ["verb"]).select(
            "verb", "timed_calls", "seconds_p50", "seconds_p95", "seconds_p99"
        ),
        "kinds": given.kinds(looked.served, []),
        "ages": given.ages(looked.served, []),
        "course_kinds": given.kinds(timed.served, [PERIOD]),
        "removed": removed,
    }


def _parts(looked: metrics.Looked, by: Sequence[str]) -> list[pl.DataFrame]:
    """The measures that a group has one of."""
    ages = given.ages(looked.served, by).filter(pl.col("kind") == given.ALL).drop("kind", "rows")
    return [
        measures.measured(looked.calls, by),
        ages,
        given.staleness(looked.facts, by),
        given.expired(looked.judged, by),
        near.crowding(looked.answers, by),
    ]


def _joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables by period side by side, in its order; counts that a period lacks are 0."""
    found = parts[0]
    for part in parts[1:]:
        found = found.join(part, on=PERIOD, how="full", coalesce=True)
    counts = [name for name, dtype in found.schema.items() if dtype.is_integer()]
    return found.with_columns(pl.col(counts).fill_null(0)).sort(PERIOD)


def _whole(looked: metrics.Looked) -> pl.DataFrame:
    """One row of all calls; without a call, none."""
    parts = _parts(looked, [])
    filled = [part if part.height else _nothing(part) for part in parts]
    return pl.concat(filled, how="horizontal")


def _nothing(part: pl.DataFrame) -> pl.DataFrame:
    zeros = {n: 0 if t.is_integer() else None for n, t in part.schema.items()}
    return pl.DataFrame([zeros], schema=part.schema)


def activity(calls: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Measures of some calls by period.

    Args:
        calls: ``measures.CALLS_SCHEMA``.
        window: That they were made in.
    """
    return measures.measured(measures.with_period(calls, period_of(window)), [PERIOD])


def by_tenant(looked: metrics.Looked) -> pl.DataFrame:
    """``tenant`` and its measures, those with the most calls first."""
    found = measures.measured(looked.calls, ["tenant_id"])
    for part in _parts(looked, ["tenant_id"])[1:]:
        found = found.join(part, on="tenant_id", how="left", maintain_order="left")
    return found.rename({"tenant_id": "tenant"}).sort("calls", "tenant", descending=[True, False])


def _removed(job: Job, window: Window, period: str) -> pl.DataFrame:
    """``period_at``, ``reason``, ``removed``: memories that retention took out."""
    span = {"from_at": window.since, "until_at": window.until}
    rows = queries.query(job.lake, "removed_by_day", span)
    if window.tenant is not None:
        rows = rows.filter(pl.col("tenant_hash") == tenant_hash(salt(job.lake), window.tenant))
    dated = rows.with_columns(_truncated(period))
    summed = dated.group_by(PERIOD, "reason").agg(pl.col("removed").sum().cast(pl.Int64))
    return summed.sort(PERIOD, "reason")


def _flow(job: Job, window: Window, removed: pl.DataFrame, period: str) -> pl.DataFrame:
    """``period_at``, ``removed_rows`` and, of a whole lake, ``landed_rows``."""
    gone = removed.group_by(PERIOD).agg(removed_rows=pl.col("removed").sum()).sort(PERIOD)
    if window.tenant is not None:
        return gone
    span = {"from_at": window.since, "until_at": window.until}
    came = queries.query(job.lake, "landed_by_day", span).with_columns(_truncated(period))
    landed = came.group_by(PERIOD).agg(landed_rows=pl.col("landed").sum().cast(pl.Int64))
    return gone.join(landed, on=PERIOD, how="full", coalesce=True).sort(PERIOD)


def _truncated(period: str) -> pl.Expr:
    return pl.col("day_at").cast(INSTANT).dt.truncate(measures.PERIODS[period]).alias(PERIOD)


def scores(job: Job, window: Window) -> pl.DataFrame:
    """How the retention scores of the memories in the window's scope are spread: ``audit.SPREAD_SCHEMA``."""
    rows = pl.concat([metrics.scored(job, [bucket], 1.0) for bucket in read.buckets_of(job, window)])
    if window.tenant is not None:
        rows = rows.filter(pl.col("tenant_id") == window.tenant)
    return audit.spread(rows, "score")


def nights(job: Job, window: Window) -> pl.DataFrame:
    """What nights in the window measured, of the lake or of its tenant, by night, name and part."""
    who = "" if window.tenant is None else tenant_hash(salt(job.lake), window.tenant)
    rows = tables.scan(job.lake, METRICS).filter(
        pl.col("name").is_in(list(UNITS)),  # the table holds the measures of health, too
        pl.col("tenant_hash") == who,
        pl.col("as_of_at") <= instant(window.until),
        pl.col("as_of_at") > instant(window.since),
    )
    return rows.select(_NIGHT).collect().sort("as_of_at", "name", "part")
