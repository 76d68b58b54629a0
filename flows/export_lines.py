"""Episodes as JSON lines, which ``ingest`` takes back as the rows they are."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl

from flows.export_rows import HeldRows
from flows.export_schema import shown_columns
from flows.export_zip import ROWS_A_WRITE, publish, require_place
from flows.job import Job
from lake import tables
from lake.faults import wrapped
from lake.rights import audit
from lake.rights.subjects import salt, subject_hash
from transforms.errors import UsageError
from transforms.schemas import COLD, EPISODES, Table
from transforms.subjects import Subject

PLACES = (EPISODES, COLD)


def run_export_lines(job: Job, subject: Subject, out: Path, *, is_forced: bool = False) -> dict[str, Any]:
    """Write a file of episodes, those kept cold among them, oldest first; the audit gets their number.

    Rows that wait in landed segments are not in it: ingest first.

    Args:
        job: On which lake; the lake's lock is held by the caller.
        subject: A user, an agent without a user, a session of one of them, or a tenant.
        out: The file.
        is_forced: Replace the file that is there.

    Returns:
        ``file``, ``counts`` by table and ``sha256``.

    Raises:
        UsageError: The subject is none of these, or the file may not be written there.
        StorageError: The disk is full; nothing is left.
    """
    frames = _frames(job, subject)
    require_place(job.lake, out, is_forced=is_forced)
    temporary = out.parent / f".{out.name}.{secrets.token_hex(6)}.partial"
    counts, digest = dict.fromkeys((table.name for table in PLACES), 0), sha256()
    with wrapped(f"writing {out.name}"):
        try:
            # Only its owner may read it: whoever runs the export hands it on.
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for table, frame in frames:
                    lines = _lines(frame)
                    file.write(lines)
                    digest.update(lines)
                    counts[table.name] += frame.height
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    publish(temporary, out, is_forced=is_forced)
    told: dict[str, int | str] = {"rows": sum(counts.values()), "file_sha256": digest.hexdigest()}
    hashed = subject_hash(salt(job.lake), subject)
    audit.append(job.lake, "episodes_exported", at=datetime.now(UTC), subject_hash=hashed, counts=told)
    return {"file": str(out), "counts": counts, "sha256": digest.hexdigest()}


def _frames(job: Job, subject: Subject) -> Iterator[tuple[Table, pl.DataFrame]]:
    """Rows a month at a time, in portions."""
    if subject.memory is not None:
        raise UsageError("one memory is no export", "Name a tenant, a user or an agent.")
    is_tenant = not (subject.user or subject.agent or subject.session)
    held = None if is_tenant else HeldRows(job.lake, subject)
    bucket = job.lake.bucket(subject.tenant)

    def found() -> Iterator[tuple[Table, pl.DataFrame]]:
        for table in PLACES:
            names = tables.data_files(job.lake, table, buckets=[bucket])
            for month in sorted({name.split("month=")[1].split("/")[0] for name in names}):
                if held is not None:
                    rows = held.month(table, month)
                else:
                    every = tables.scan(job.lake, table, buckets=[bucket], months=[month])
                    rows = every.filter(pl.col("tenant_id") == subject.tenant).collect()
                for portion in rows.sort("event_at", "episode_id").iter_slices(ROWS_A_WRITE):
                    yield table, portion

    return found()


def _lines(frame: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.select(column.name for column in shown_columns(EPISODES)).write_ndjson(sink)
    return sink.getvalue()
