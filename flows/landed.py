"""The landed part of ingest: segments that online writers left, into the tables, then removed."""

from __future__ import annotations

from collections import Counter

from flows.commit import Buffer, Tally, commit, to_quarantine
from flows.job import Job
from lake import landing
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
    landing.remove(job.lake, done)
    done.clear()


def _read_into(job: Job, buffer: Buffer, key: str, tally: Tally) -> None:
    """Rows of one sealed segment into the buffer, and lines that are none into its quarantine."""
    data = job.lake.storage.read(key)
    if data is None:  # another ingest had it
        return
    lines = landing.lines_of(data, is_sealed=True)
    episodes, odd = landing.segment_rows(lines, EPISODES)
    refused, odd_too = landing.segment_rows(lines, QUARANTINE)
    torn = (Counter(odd) | Counter(odd_too)).elements()
    tally.rows_in += len(lines)
    buffer.episodes.append(episodes)
    buffer.quarantine.append(refused)
    # Torn by a crash, it was never acknowledged; or it is no row of ours at all.
    rows: list[dict[str, object]] = [
        {
            "reason": "truncated_json",
            "detail": "A landed line is torn.",
            "raw": line.decode("utf-8", "replace"),
            "source_file": key,
        }
        for line in torn
    ]
    if rows:
        buffer.quarantine.append(to_quarantine(job, refusals_frame(rows), landing.SOURCE))
