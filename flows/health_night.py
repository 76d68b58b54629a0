"""The health of a lake at the end of a night: every check, its measures kept, and a line to be told.

Health never fails a night. A night that changed something takes every measure and keeps it in the table of
measures, for the trend, and in ``state/health.json``. One that changed nothing writes nothing: what was
measured last is judged again by the thresholds in force, and only what time alone can worsen is measured.

Of the audit chain a night reads what came since the event up to which the night before found it whole: that
event's number and hash are kept, too. ``slowwave doctor`` and ``slowwave report health`` read all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from flows.job import Job
from flows.notes import hint
from lake import lineage, tables
from lake.index_record import readable_pointer
from transforms import ids
from transforms.errors import SlowwaveError
from transforms.health.checks import Check, check_of
from transforms.health.remedies import MEASURES, TITLES
from transforms.health.thresholds import CODES, UNKNOWN, Limit, Measure, as_counts, limits
from transforms.schemas import EPISODES, FACTS, METRICS

if TYPE_CHECKING:
    from flows.report_health_read import Sources

STATE = "state/health.json"


def night_health(job: Job, *, is_changed: bool) -> dict[str, Any] | None:
    """The health of the lake after a night; see the module.

    Args:
        job: The night.
        is_changed: Whether a step changed anything.

    Returns:
        ``thresholds.as_counts``, with a ``reason`` where something broke off; None for a trial night.
    """
    if job.is_dry or job.has_diff:
        return None
    from flows.report_health import BREAKS, counts_of

    try:
        sources = _sources(job)
        checks = _measured(sources) if is_changed else _remembered(job, sources)
        told = counts_of(checks)
        reasons = [f"{check.name}: {check.reason}" for check in checks if check.reason]
        if is_changed:
            reasons += _kept(sources, checks)
    except SlowwaveError as error:
        return {**as_counts({}), "reason": str(error)}
    except BREAKS as error:
        return {**as_counts({}), "reason": f"unexpected {type(error).__name__}"}
    return {**told, "reason": "; ".join(reasons)} if reasons else told


def _sources(job: Job) -> Sources:
    from flows.report_health_read import Sources

    held = hint(job, STATE).get("audited")
    try:
        checkpoint = (int(held["seq"]), str(held["hash"])) if isinstance(held, Mapping) else None
    except (KeyError, TypeError, ValueError):
        checkpoint = None
    return Sources(job, job.policy.health.window_days, checkpoint)


def _measured(sources: Sources) -> tuple[Check, ...]:
    from flows.report_health import taken

    return taken(sources)


def _remembered(job: Job, sources: Sources) -> tuple[Check, ...]:
    """What the last night that changed something measured, and what gets worse by itself as it is now."""
    from flows.report_health import taken
    from flows.report_health_work import backlog, open_erasures

    record = hint(job, STATE)
    held = record.get("checks")
    if not isinstance(held, Mapping) or record.get("seen") != _seen(job):
        return _measured(sources)
    if not all(isinstance(held.get(name), Mapping) for name in TITLES):  # what broke off is tried again
        return _measured(sources)
    known = limits(job.policy.health)
    now = {one.name: one for one in taken(sources, {"backlog": backlog, "erasure": open_erasures})}
    return tuple(_judged(name, held[name], now.get(name), known) for name in TITLES)


def _seen(job: Job) -> dict[str, Any]:
    """What was measured: another job, or a night that was killed, may have left other rows since."""
    pointer = readable_pointer(job.lake)
    versions = {table.name: lineage.mark(job.lake, table)[0] for table in (EPISODES, FACTS)}
    return {**versions, "generation": pointer.generation if pointer else None}


def _judged(name: str, held: Mapping[str, Any], now: Check | None, known: Mapping[str, Limit]) -> Check:
    """A check of measures that were kept, those that were taken now in their place."""
    if now is not None and now.reason:
        return now
    fresh = {one.measure: one.value for one in now.findings} if now else {}
    values = {**held, **fresh}
    measures = [
        Measure(measure, float(value) if isinstance(value, int | float) else None)
        for measure, value in values.items()
        if measure in MEASURES and MEASURES[measure].check == name
    ]
    return check_of(name, measures, known)


def _kept(sources: Sources, checks: Sequence[Check]) -> list[str]:
    """Keep the measures of a night. Returns what could not be kept, and why."""
    from flows.report_health import BREAKS

    job = sources.job
    writes: dict[str, Callable[[], None]] = {
        "measures": lambda: _append(job, health_rows(job, checks)),
        "memory metrics": lambda: _append(job, _memory_metrics(job)),
        "state": lambda: _remember(sources, checks),
    }
    faults = []
    for name, write in writes.items():
        try:
            write()
        except SlowwaveError as error:
            faults.append(f"{name}: {error}")
        except BREAKS as error:
            faults.append(f"{name}: unexpected {type(error).__name__}")
    return faults


def _remember(sources: Sources, checks: Iterable[Check]) -> None:
    """Leave the measures for the next night that changes nothing, and how far the audit chain is whole."""
    job, chain = sources.job, sources.audited
    is_whole = chain.broken is None and chain.head is not None
    audited = {"seq": chain.head.seq, "hash": chain.head.hash} if is_whole and chain.head else None
    held = {c.name: {one.measure: one.value for one in c.findings} for c in checks if not c.reason}
    record = {"checks": held, "seen": _seen(job), "audited": audited}
    job.lake.storage.write(STATE, json.dumps(record, sort_keys=True).encode())


def _memory_metrics(job: Job) -> pl.DataFrame:
    from flows.metrics import measure_night

    return measure_night(job)


def _append(job: Job, rows: pl.DataFrame) -> None:
    """Append measures that the table does not hold yet: a night run again at one as-of measures once."""
    from flows.metrics import unrecorded

    tables.append(job.lake, METRICS, unrecorded(job, rows))


def health_rows(job: Job, checks: Iterable[Check]) -> pl.DataFrame:
    """Measures and states of checks as ``schemas.METRICS``; what is not known has no row.

    A measure is ``health.<check>``, its own name as part; a state is ``health.state``, the check as part.
    """
    from flows.report_health_read import PREFIX, STATE_NAME

    days = job.policy.health.window_days
    found: list[tuple[str, str, float, str, float | None]] = []
    for check in checks:
        found += [
            (f"{PREFIX}{check.name}", one.measure, float(one.value), one.unit,
             days if MEASURES[one.measure].is_windowed else None)
            for one in check.findings
            if one.value is not None
        ]  # fmt: skip
        if check.state != UNKNOWN:
            found.append((STATE_NAME, check.name, CODES[check.state], "state", None))
    at = job.as_of.isoformat()
    rows = [
        {
            "metric_id": ids.row_id(at, "", name, part),
            "tenant_hash": "",
            "name": name,
            "part": part,
            "value": value,
            "unit": unit,
            "window_days": span,
            "as_of_at": job.as_of,
            "measured_at": datetime.now(UTC),
        }
        for name, part, value, unit, span in found
    ]
    return pl.DataFrame(rows, schema=METRICS.polars)
