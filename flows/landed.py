"""The landed part of ingest: segments that online writers left, into the tables, then removed."""

from __future__ import annotations

import os

from flows.commit import Buffer, Tally, commit, to_quarantine
from flows.job import Job
from lake import landing
from lake.storage import LocalStorage
from transforms.readers.batch import refusals_frame
from transforms.schemas import EPISODES, QUARANTINE

SEGMENTS = 200
"""Most segments of one commit; on an object store each may hold a single row."""


def ingest_landed(job: Job, tally: Tally) -> None:
    """Compact landed segments into the tables, then remove them."""
    keys = landing.seal(job.lake)
    buffer, done = Buffer(), list[str]()
    with job.progress.task("ingest landed rows", len(keys) or None) as advance:
        for key in keys:
            _read_into(job, buffer, key, tally)
            done.append(key)
            if len(done) == SEGMENTS or buffer.is_full(job.policy.ingest):
                _settle(job, buffer, done, tally)
            advance(1)
        _settle(job, buffer, done, tally)


def _settle(job: Job, buffer: Buffer, done: list[str], tally: Tally) -> None:
    """Commit, and only then remove the segments."""
    if not done:
        return
    commit(job, buffer, tally)
    if isinstance(job.lake.storage, LocalStorage):
        # Landed rows were promised to survive a power cut; so must the files that replace them.
        os.sync()
    landing.remove(job.lake, done)
    done.clear()


def _read_into(job: Job, buffer: Buffer, key: str, tally: Tally) -> None:
    """Rows of one sealed segment into the buffer, and lines that are none into its quarantine."""
    data = job.lake.storage.read(key)
    if data is None:  # another ingest had it
        return
    lines = landing.lines_of(data, is_sealed=True)
    episodes, torn = landing.segment_rows(lines, EPISODES)
    refused, _ = landing.segment_rows(lines, QUARANTINE)
    tally.rows_in += len(lines)
    buffer.episodes.append(episodes)
    buffer.quarantine.append(refused)
    strange = [] if len(lines) == episodes.height + refused.height + len(torn) else _strange(lines)
    # A line torn by a crash was never acknowledged.
    faults = [("truncated_json", "A landed line is torn.", line) for line in torn]
    faults += [("unknown_record", "A landed line is of no known table.", line) for line in strange]
    rows: list[dict[str, object]] = [
        {"reason": reason, "detail": detail, "raw": line.decode("utf-8", "replace"), "source_file": key}
        for reason, detail, line in faults
    ]
    if rows:
        buffer.quarantine.append(to_quarantine(job, refusals_frame(rows), landing.SOURCE))


def _strange(lines: list[bytes]) -> list[bytes]:
    """Lines that are JSON, but no row of a landed table."""
    found = []
    for line in lines:
        episodes, torn = landing.segment_rows([line], EPISODES)
        refused, _ = landing.segment_rows([line], QUARANTINE)
        if not torn and episodes.height + refused.height == 0:
            found.append(line)
    return found
