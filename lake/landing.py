"""Rows that agents write online: durable when ``append`` returns, recalled at once, ingested later.

A process appends to one open segment a tenant bucket, under the kernel's file lock, and syncs it
before returning. Ingest seals a segment by renaming it under the same lock, so no writer adds to a
sealed one. On an object store every append is one object. Rows are validated, redacted and tagged
before they touch the disk.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from lake.lake import Lake, as_lake
from lake.storage import LocalStorage, sync_directory, wrapped
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.quarantine import quarantined
from transforms.readers.row_shape import ALIASES
from transforms.readers.rows import rows_batch
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.validate import Defaults

SOURCE = "landing"
PREFIX = "landing"
SEGMENT_BYTES = 8_000_000
"""A fuller segment is left for ingest and a new one is begun."""


@dataclass(frozen=True)
class Refused:
    """One row that may not land: its position in the call, and why."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Receipt:
    """What ``append`` did: ids of the rows that landed, in input order, and what was refused.

    Refused rows are kept too; they reach quarantine with the next ingest.
    """

    landed: list[str]
    refused: list[Refused] = field(default_factory=list)


def append(
    lake: Lake | str,
    rows: Sequence[Mapping[str, Any]],
    *,
    policy: Policy | None = None,
    now: datetime | None = None,
    **scope: str,
) -> Receipt:
    """Land rows. Durable when it returns: killed or powered off afterwards, they are still there.

    Args:
        lake: A lake or its address.
        rows: Mappings in the documented row shape (``content``, ``role``, ``tenant_id``,
            ``user_id``, ``agent_id``, ``session_id``, ``event_at``, ...). A row without
            ``event_at`` happened now.
        policy: Limits and redaction; the default policy where None.
        now: The instant of landing; the clock where None.
        **scope: Defaults for rows that name none: ``tenant_id``, ``user_id``, ``agent_id``,
            ``session_id``, ``timezone``.

    Returns:
        Ids and refusals.

    Raises:
        StorageError: The disk is full; none of the call's rows of that bucket landed.
        LakeError: There is no lake, or it cannot be written.
    """
    lake, policy, now = as_lake(lake), policy or Policy(), now or datetime.now(UTC)
    timed = [row if _has_time(row) else {**row, "event_at": now.isoformat()} for row in rows]
    numbers = range(1, len(timed) + 1)
    batch = rows_batch(timed, numbers, lambda i: orjson.dumps(timed[i], default=str).decode(), SOURCE)
    result = normalise(
        batch.drafts,
        source=SOURCE,
        defaults=Defaults(**scope),
        policy=policy,
        as_of=now,
        buckets=lake.buckets,
    )
    refusals = pl.concat([result.refusals, batch.refusals])
    refused = quarantined(refusals, source=SOURCE, policy=policy.redact, as_of=now, buckets=lake.buckets)
    for bucket, data in _lines(result.episodes, refused).items():
        _write(lake, bucket, data)
    order = result.episodes.sort("source_line")["episode_id"].to_list()
    told = [Refused((r["source_line"] or 1) - 1, r["reason"], r["detail"] or "") for r in refusals.to_dicts()]
    return Receipt(order, sorted(told, key=lambda r: r.index))


def _has_time(row: Mapping[str, Any]) -> bool:
    return any(row.get(name) is not None for name in ALIASES["event_at"])


def _lines(episodes: pl.DataFrame, refused: pl.DataFrame) -> dict[int, bytes]:
    """JSON lines by tenant bucket."""
    parts: dict[int, list[bytes]] = {}
    for table, frame in ((EPISODES, episodes), (QUARANTINE, refused)):
        for row in frame.to_dicts():
            line = orjson.dumps({table.name: row}, option=orjson.OPT_APPEND_NEWLINE)
            parts.setdefault(row["tenant_bucket"], []).append(line)
    return {bucket: b"".join(lines) for bucket, lines in parts.items()}


def _write(lake: Lake, bucket: int, data: bytes) -> None:
    if isinstance(lake.storage, LocalStorage):
        with wrapped("landing rows"):
            _segment(lake.storage.root, bucket).append(data)
    else:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        lake.storage.write(f"{PREFIX}/{bucket:03d}/sealed-{stamp}-{secrets.token_hex(6)}.jsonl", data)


class _Segment:
    """This process's open segment of one bucket."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._file = -1

    def append(self, data: bytes) -> None:
        with self._lock:
            file = self._locked_file()
            try:
                start = os.fstat(file).st_size
                try:
                    _write_all(file, data)
                    os.fdatasync(file)
                except OSError:
                    os.ftruncate(file, start)
                    raise
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def _locked_file(self) -> int:
        """Descriptor of a segment that is open, not sealed, not full, and locked."""
        while True:
            if self._file < 0:
                self._begin()
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if self._is_current():
                return self._file
            os.close(self._file)
            self._file = -1

    def _is_current(self) -> bool:
        here = os.fstat(self._file)
        try:
            there = self._path.stat() if self._path else None
        except FileNotFoundError:
            return False
        return there is not None and there.st_ino == here.st_ino and here.st_size < SEGMENT_BYTES

    def _begin(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        name = f"open-{os.getpid()}-{secrets.token_hex(6)}.jsonl"
        self._path = self._directory / name
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        sync_directory(self._directory)


_segments: dict[tuple[int, str, int], _Segment] = {}
_segments_lock = threading.Lock()


def _segment(root: Path, bucket: int) -> _Segment:
    """The segment of this process (a forked child gets its own) for a bucket of a lake."""
    key = (os.getpid(), str(root), bucket)
    with _segments_lock:
        if key not in _segments:
            _segments[key] = _Segment(root / PREFIX / f"{bucket:03d}")
        return _segments[key]


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def seal(lake: Lake) -> list[str]:
    """Close every open segment to its writers. Returns the keys of all sealed ones, by name."""
    if isinstance(lake.storage, LocalStorage):
        for entry in lake.storage.entries(PREFIX):
            if "/open-" in entry.key:
                with wrapped("sealing landed rows"):
                    _seal_file(lake.storage.path(entry.key))
    return [e.key for e in lake.storage.entries(PREFIX) if "/sealed-" in e.key]


def _seal_file(path: Path) -> None:
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # another ingest sealed it
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        path.rename(path.with_name(path.name.replace("open-", "sealed-", 1)))
    except FileNotFoundError:
        return
    finally:
        os.close(file)


def remove(lake: Lake, keys: Sequence[str]) -> None:
    """Remove sealed segments whose rows are committed and on disk."""
    for key in keys:
        lake.storage.delete(key)


def segment_rows(lines: Sequence[bytes], table: Table) -> tuple[pl.DataFrame, list[bytes]]:
    """Rows of one table among landed lines, and the lines that are not JSON (torn by a crash)."""
    rows, torn = [], []
    for line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            torn.append(line)
            continue
        if isinstance(record, dict) and table.name in record:
            rows.append(record[table.name])
    return _frame(rows, table), torn


def _frame(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    instants = [name for name, dtype in table.polars.items() if isinstance(dtype, pl.Datetime)]
    loose = pl.Schema({n: pl.String if n in instants else d for n, d in table.polars.items()})
    frame = pl.DataFrame(rows, schema=loose, orient="row") if rows else pl.DataFrame(schema=loose)
    return frame.with_columns(
        pl.col(n).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", time_zone="UTC")
        for n in instants
    ).select(table.names)


def lines_of(data: bytes, *, is_sealed: bool) -> list[bytes]:
    """Complete lines of a segment; an open one's unfinished last line is not yet there."""
    if not is_sealed and not data.endswith(b"\n"):
        data = data[: data.rfind(b"\n") + 1]
    return [line for line in data.split(b"\n") if line]
