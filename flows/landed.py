"""The landed part of ingest: segments that online writers left, into the tables, then removed."""

from __future__ import annotations

from collections import Counter

import orjson
import polars as pl

from flows.commit import Buffer, Tally, commit, to_quarantine
from flows.job import Job
from lake import landed_lines, landing, landing_rows
from transforms import ids
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
    lines = landed_lines.lines_of(data, is_sealed=True)
    episodes, odd = landed_lines.segment_rows(lines, EPISODES, job.lake)
    refused, odd_too = landed_lines.segment_rows(lines, QUARANTINE, job.lake)
    torn = list((Counter(odd) | Counter(odd_too)).elements())
    tally.rows_in += len(lines)
    if shredded := len(lines) - episodes.height - refused.height - len(torn):
        tally.left_out["key_destroyed"] += shredded
    buckets = job.lake.buckets
    buffer.episodes.append(
        episodes.with_columns(
            tenant_bucket=ids.tenant_buckets(episodes["tenant_id"], buckets),
            month=pl.col("event_at").dt.strftime("%Y-%m"),
        )
    )
    tenants = refused["tenant_id"].fill_null("")
    buffer.quarantine.append(refused.with_columns(tenant_bucket=ids.tenant_buckets(tenants, buckets)))
    rows = [_odd(line, key) for line in torn]
    if rows:
        buffer.quarantine.append(to_quarantine(job, refusals_frame(rows), landing_rows.SOURCE))


def _odd(line: bytes, key: str) -> dict[str, object]:
    """The refusal of a landed line that is no row of ours.

    Torn by a crash, it was never acknowledged; whole, somebody else wrote it, or a value of it is
    against the table's rules.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        record, told = None, ("truncated_json", "A landed line is torn.")
    else:
        told = ("bad_value", "A landed line is no row of ours, or breaks the table's rules.")
    named = next(iter(record.values()), None) if isinstance(record, dict) else None
    scope = named if isinstance(named, dict) else {}
    known = {n: scope.get(n) for n in ("tenant_id", "user_id") if isinstance(scope.get(n), str)}
    raw = line.decode("utf-8", "replace")
    return {"reason": told[0], "detail": told[1], "raw": raw, "source_file": key, **known}
