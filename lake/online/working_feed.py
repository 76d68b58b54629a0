"""Rows into the windows of open sessions: those that land from now on, and those that had landed before.

A session that somebody has opened has a file; landing adds each row of it to that file, whoever landed it.
So a window is read from one small file, however much has landed beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from lake.lake import Lake
from lake.online import working_file, working_log
from lake.online.working_file import PREFIX, Write
from lake.online.working_log import Log, SessionName
from lake.rights.admission import admission
from lake.storage import LocalStorage
from transforms.errors import SlowwaveError, StorageError
from transforms.policy import Policy
from transforms.schemas import EPISODES

_LANDING = "landing"
_MOST_BYTES = 1_000_000
"""A file that nobody has read for so long that it is larger keeps its newest rows only."""
_NEWEST_KEPT = 100


def deliver(lake: Lake, rows: Sequence[dict[str, Any]], lines: Sequence[bytes]) -> None:
    """Add rows that have landed to the sessions that are open.

    Args:
        lake: Where.
        rows: ``schemas.EPISODES`` rows as plain values, with their text.
        lines: The line of each, as it landed.

    Raises:
        StorageError: A session's file could not be written; the rows have landed all the same.
    """
    named = [
        (row, line) for row, line in zip(rows, lines, strict=True) if row["session_id"] and row["agent_id"]
    ]
    if not named or not _has_sessions(lake):
        return
    for key, mine in _by_session(lake, named).items():
        if isinstance(lake.storage, LocalStorage) and not lake.storage.path(key).exists():
            continue
        try:
            _add(lake, key, mine)
        except SlowwaveError as error:
            raise StorageError(
                f"the rows have landed, but an open session does not show them: {error.message}",
                "Do not add them again; make room or look at the disk, then close the session.",
            ) from error


def _has_sessions(lake: Lake) -> bool:
    return not isinstance(lake.storage, LocalStorage) or lake.storage.path(PREFIX).is_dir()


def _by_session(
    lake: Lake, named: Iterable[tuple[dict[str, Any], bytes]]
) -> dict[str, list[tuple[dict[str, Any], bytes]]]:
    """Rows by the files that they belong to: of their user, and of nobody in particular."""
    keys: dict[tuple[str | None, ...], str] = {}
    found: dict[str, list[tuple[dict[str, Any], bytes]]] = {}
    for row, line in named:
        for user in {row["user_id"], None}:
            scope = (row["tenant_id"], row["agent_id"], row["session_id"], user)
            if scope not in keys:
                keys[scope] = SessionName(*scope).key(lake)
            found.setdefault(keys[scope], []).append((row, line))
    return found


def _add(lake: Lake, key: str, rows: Sequence[tuple[dict[str, Any], bytes]]) -> None:
    def step(held: bytes) -> Write | None:
        if not held:
            return None
        # Looked up under the file's lock: an erasure places its tombstone before it comes for the file.
        admitted = admission(lake)
        fresh = [
            line
            for row, line in rows
            if not working_log.holds(held, row["episode_id"]) and admitted.reason(row) is None
        ]
        if not fresh:
            return None
        if len(held) > _MOST_BYTES:
            return Write(_newest(held) + b"".join(fresh), is_all=True)
        return Write(b"".join(fresh), is_synced=False)  # they are on disk where they landed

    working_file.change(lake, key, step)


def _newest(held: bytes) -> bytes:
    """A file's lines without its oldest rows."""
    lines = held.splitlines(keepends=True)
    rows = [place for place, line in enumerate(lines) if line.startswith(working_log.ROW)]
    gone = set(rows[:-_NEWEST_KEPT])
    return b"".join(line for place, line in enumerate(lines) if place not in gone)


def opened(lake: Lake, name: SessionName, policy: Policy, now: datetime) -> bool:
    """Make a session's file where there is none, with the rows of its window that are in the lake.

    Its name is written first, so that what lands meanwhile finds it, and a kill in between is made good by
    whoever opens it next. Nothing is written for a subject that is refused.

    Returns:
        Whether there is a file now.
    """
    key = name.key(lake)

    def begin(held: bytes) -> Write | None:
        if held or admission(lake).tombstones.mark_of(name.scope, now) is not None:
            return None
        return Write(working_log.header(name, now), is_synced=False)

    held = working_file.read(lake, key)
    if not held:
        working_file.change(lake, key, begin)
        held = working_file.read(lake, key)
    if held and working_log.pulled() not in held:
        lines = earlier(lake, name, now - policy.working.span, policy)
        working_file.change(lake, key, lambda there: _with_earlier(there, lines))
    return bool(held)


def unopened(lake: Lake, name: SessionName, policy: Policy, now: datetime) -> Log:
    """What a session that nobody has opened would show; nothing is written."""
    key = name.key(lake)
    lines = earlier(lake, name, now - policy.working.span, policy)
    return working_log.parsed(
        lake, key, b"".join([working_log.header(name, now), *(line for _, line in lines)])
    )


def _with_earlier(held: bytes, lines: Sequence[tuple[str, bytes]]) -> Write | None:
    if not held or working_log.pulled() in held:
        return None
    fresh = [line for row_id, line in lines if not working_log.holds(held, row_id)]
    return Write(b"".join([*fresh, working_log.pulled()]), is_synced=False)


def earlier(lake: Lake, name: SessionName, since: datetime, policy: Policy) -> list[tuple[str, bytes]]:
    """Id and line of the newest rows of a session that are in segments and tables, oldest first.

    A row on its way from a segment to the table is met at least once: segments are read first.
    """
    found = {row["episode_id"]: (row["event_at"], line) for row, line in _landed(lake, name)}
    for row, line in _ingested(lake, name, since):
        found.setdefault(row["episode_id"], (row["event_at"], line))
    from_then = since.isoformat()
    recent = sorted((at, row_id, line) for row_id, (at, line) in found.items() if at >= from_then)
    return [(row_id, line) for _, row_id, line in recent[-4 * policy.working.window_rows :]]


def _landed(lake: Lake, name: SessionName) -> Iterable[tuple[dict[str, Any], bytes]]:
    mark = b'"session_id":' + orjson.dumps(name.session)
    wanted = name.columns()
    for entry in lake.storage.entries(f"{_LANDING}/{lake.bucket(name.tenant):03d}"):
        data = lake.storage.read(entry.key) or b""
        at = data.find(mark)
        while at >= 0:
            start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
            if end < 0:  # not yet whole
                break
            row = _row(data[start:end])
            if row is not None and all(row.get(column) == value for column, value in wanted.items()):
                yield row, data[start : end + 1]
            at = data.find(mark, end)


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:  # ingest's to quarantine
        return None
    row = record.get(EPISODES.name) if isinstance(record, dict) else None
    return row if isinstance(row, dict) else None


def _ingested(lake: Lake, name: SessionName, since: datetime) -> Iterable[tuple[dict[str, Any], bytes]]:
    """Rows of the table, as they are stored: sealed text stays sealed."""
    from lake import tables

    mine = [pl.col(column) == value for column, value in name.columns().items()]
    held = tables.scan(
        lake, EPISODES, buckets=[lake.bucket(name.tenant)], months=_months(lake, since), as_stored=True
    )
    for row in held.filter(*mine, pl.col("event_at") >= since).collect().iter_rows(named=True):
        line = working_log.row_line(row)
        yield {**row, "event_at": row["event_at"].isoformat()}, line


def _months(lake: Lake, since: datetime) -> list[str]:
    """Months of the table that are not before an instant's."""
    from lake import tables

    names = (re.search(r"/month=(\d{4}-\d\d)/", name) for name in tables.data_files(lake, EPISODES))
    return sorted({found[1] for found in names if found and found[1] >= f"{since:%Y-%m}"})
