"""Upkeep at the end of a night: small files merged, superseded ones removed, logs cut off, for every table.

What stands is looked at by the versions of the tables: a table without a commit since the last upkeep, and
with nothing to be removed by now, costs a look at its version. A night that changed nothing writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flows import notes_kept
from flows.job import Job
from flows.notes import hint
from lake import tables, upkeep
from lake.log_entries import read_commit
from lake.migrations import backup
from lake.table_log import keep_log
from transforms.errors import BusyError
from transforms.schemas import STORED, Table

STATE = "state/upkeep.json"


@dataclass(frozen=True)
class Kept:
    """How upkeep left a table.

    Attributes:
        version: Its version then.
        superseded_at: When the oldest of its files was superseded that are still there, about; None: none.
    """

    version: int
    superseded_at: datetime | None = None


def keep(job: Job, *, now: datetime | None = None) -> None:
    """See the module; nothing on a trial night.

    Args:
        job: The night.
        now: The present, which ages of files are told by; the clock's where None.
    """
    if job.is_dry or job.has_diff:
        return
    at = now or datetime.now(UTC)
    before = _load(job)
    after = dict(before)
    due = [table for table in STORED if _is_due(job, table, before.get(table.name), at)]
    with job.progress.task("upkeep", len(due), "tables") as advance:
        for table in due:
            with suppress(BusyError):  # another run writes it: the next night sees to it
                after[table.name] = _kept(job, table, before.get(table.name), at)
            advance(1)
    backup.expire(job.lake, at, job.policy.ingest.vacuum_after_hours)
    notes_kept.expire(job.lake, at)
    after = {name: one for name, one in after.items() if one.version >= 0}
    if after != before:
        _remember(job, after)


def _is_due(job: Job, table: Table, held: Kept | None, at: datetime) -> bool:
    version = tables.version(job.lake, table)
    if held is None or held.version != version:
        return version >= 0
    return held.superseded_at is not None and held.superseded_at + _grace(job) <= at


def _grace(job: Job) -> timedelta:
    return timedelta(hours=job.policy.ingest.vacuum_after_hours)


def _kept(job: Job, table: Table, held: Kept | None, at: datetime) -> Kept:
    """Merge, remove and cut off what is due of a table."""
    lake, numbers = job.lake, job.policy.upkeep
    since = held.version if held else -1
    # The checkpoint comes first: below the last commit that changed a row the log can be cut off.
    keep_log(lake, table, numbers, at, least_hours=job.policy.ingest.vacuum_after_hours)
    upkeep.merge(lake, table, numbers)
    superseded_at = held.superseded_at if held else None
    if superseded_at is None and _has_removed(job, table, since):
        superseded_at = at
    if superseded_at is not None and superseded_at + _grace(job) <= at:
        upkeep.vacuum(lake, table, job.policy.ingest.vacuum_after_hours)
        is_all = _grace(job) <= timedelta(0) or not _has_removed(job, table, since)
        superseded_at = None if is_all else at
    return Kept(tables.version(lake, table), superseded_at)


def _has_removed(job: Job, table: Table, since: int) -> bool:
    """Whether a commit after a version took files out; yes where the log no longer tells."""
    for version in range(since + 1, tables.version(job.lake, table) + 1):
        commit = read_commit(job.lake.storage, table, version)
        if commit is None or commit.removed:
            return True
    return False


def _load(job: Job) -> dict[str, Kept]:
    """What the last upkeep left; nothing of tables that it is not known of."""
    record: Mapping[str, Any] = hint(job, STATE)
    found = {}
    for table in STORED:
        try:
            version, at = record[table.name]
            found[table.name] = Kept(int(version), datetime.fromisoformat(at) if at else None)
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _remember(job: Job, kept: Mapping[str, Kept]) -> None:
    record = {
        name: [one.version, one.superseded_at.isoformat() if one.superseded_at else None]
        for name, one in kept.items()
    }
    job.lake.storage.write(STATE, json.dumps(record, sort_keys=True).encode())
