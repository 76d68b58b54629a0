"""The landed part of ingest: segments that online writers left, into the tables, then removed.

On an object store every call that landed rows is a segment of its own, often of one row. So segments are
read and parsed many at once; what is wrong with a line is still told of the segment that holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import orjson
import polars as pl

from flows.commit import Buffer, Tally, commit, to_quarantine
from flows.job import Job
from lake import landed_lines, landing, landing_rows
from transforms import ids
from transforms.readers.batch import refusals_frame

SEGMENTS = 10_000
"""Most segments of one commit: what a kill between the commit and the removal of the last of them makes
ingest read again."""
_AT_ONCE = 1_000
"""Segments read before they are parsed together; one that is full holds a thousand times a row's bytes."""
_AT_ONCE_BYTES = 32_000_000


def ingest_landed(job: Job, tally: Tally) -> None:
    """Compact landed segments into the tables, then remove them."""
    keys = landing.seal(job.lake)
    buffer, done = Buffer(), list[str]()
    with job.progress.task("ingest landed rows", len(keys), "segments") as advance:
        for some in _read(job, keys):
            _take(job, buffer, some, tally)
            done += [key for key, _ in some]
            if len(done) >= SEGMENTS or buffer.is_full(job.policy.ingest):
                _settle(job, buffer, done, tally)
            advance(len(some))
        _settle(job, buffer, done, tally)


def _settle(job: Job, buffer: Buffer, done: list[str], tally: Tally) -> None:
    """Commit, and only then remove the segments."""
    if not done:
        return
    commit(job, buffer, tally)
    landing.remove(job.lake, done)
    done.clear()


def _read(job: Job, keys: Sequence[str]) -> Iterator[list[tuple[str, list[bytes]]]]:
    """Keys and lines of segments, in order, in portions that are parsed at once; none of one that is gone."""
    held: list[tuple[str, list[bytes]]] = []
    held_bytes = rows = 0
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        for key, data in zip(some, landing.read(job.lake, some), strict=True):
            lines = landed_lines.lines_of(data, is_sealed=True) if data is not None else []
            held.append((key, lines))
            held_bytes += len(data or b"")
            rows += len(lines)
            if len(held) >= _AT_ONCE or held_bytes >= _AT_ONCE_BYTES or rows >= job.policy.ingest.commit_rows:
                yield held
                held, held_bytes, rows = [], 0, 0
    if held:
        yield held


def _take(job: Job, buffer: Buffer, segments: Sequence[tuple[str, list[bytes]]], tally: Tally) -> None:
    """Rows of sealed segments into the buffer, and lines that are none into its quarantine."""
    lines = [line for _, held in segments for line in held]
    episodes, refused, odd = landed_lines.rows_of(lines, job.lake)
    tally.rows_in += len(lines)
    if shredded := len(lines) - episodes.height - refused.height - len(odd):
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
    if odd:
        rows = list(_refusals(segments, odd))
        buffer.quarantine.append(to_quarantine(job, refusals_frame(rows), landing_rows.SOURCE))


def _refusals(
    segments: Sequence[tuple[str, list[bytes]]], odd: Sequence[bytes]
) -> Iterator[dict[str, object]]:
    """A refusal for each line that is no row, with the segment it lies in."""
    waiting = Counter(odd)
    for key, held in segments:
        for line in held:
            if waiting[line]:
                waiting[line] -= 1
                yield _odd(line, key)


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
