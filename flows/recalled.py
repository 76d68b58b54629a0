"""The recall log into the table of recalls: each call once, with what was used of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows.commit import COMMIT_LOCK, COMMIT_WAIT_SECONDS, tidy
from flows.job import Job
from flows.notes import hint
from lake import landed_lines, locks, recall_segments, segments, tables
from lake.lake import Lake
from lake.recall_segments import Lines
from lake.rights import tombstones
from transforms.errors import LakeError
from transforms.ids import tenant_bucket
from transforms.recall_rows import USES_SCHEMA, marked, recall_rows, use_rows, used_rows
from transforms.schemas import RECALLS

JOURNAL = "state/recalls-folding.json"
"""Segments whose rows are being committed: of these alone, rows may be in the table already."""
PORTION_BYTES = 64_000_000
_KEY = list(RECALLS.key)
_FAULTS = (LakeError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, OverflowError)


@dataclass
class Folded:
    """What became of the log: rows, marks of use, and what was left out by why."""

    rows: int = 0
    used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints; empty where there was nothing to fold."""
        told = {"recalls": self.rows, "used": self.used, "left_out": dict(sorted(self.left_out.items()))}
        return {name: value for name, value in told.items() if value}


def fold_recalls(job: Job) -> Folded:
    """Fold every segment of the recall log, a portion at a time.

    Killed anywhere and run again, the table comes to the same rows: a segment goes after its rows are
    committed, and the rows of one that is met again are looked for in the table first.
    """
    folded, waiting, held = Folded(), list[str](), 0
    keys = recall_segments.seal(job.lake)
    known = hint(job, JOURNAL).get("segments")
    begun = set(map(str, known)) if isinstance(known, list) else set[str]()
    sizes = {entry.key: entry.size_bytes for entry in job.lake.storage.entries(recall_segments.PREFIX)}
    with job.progress.task("fold recalls", len(keys), "segments") as advance:
        for key in keys:
            waiting.append(key)
            held += sizes.get(key, 0)
            if held >= PORTION_BYTES:
                _fold(job, waiting, begun, folded)
                waiting, held = [], 0
            advance(1)
        _fold(job, waiting, begun, folded)
    job.lake.storage.delete(JOURNAL)
    if folded.rows or folded.used:
        tidy(job, RECALLS)
    return folded


def waiting_recalls(lake: Lake, bucket: int) -> pl.DataFrame:
    """Rows of a tenant bucket that no night has folded yet, with what is said to be used of them.

    Returns:
        ``schemas.RECALLS``.
    """
    lines = Lines()
    for entry in lake.storage.entries(f"{recall_segments.PREFIX}/{bucket:03d}"):
        raw = lake.storage.read(entry.key) or b""
        lines.add(recall_segments.parsed(lake, landed_lines.lines_of(raw, is_sealed=False)))
    folded = Folded()
    rows, uses = _parsed(lake, lines.calls, folded), _uses(lines.uses, folded)
    return marked(rows, used_rows(uses, rows.lazy())) if uses.height else rows


def _fold(job: Job, keys: Sequence[str], begun: set[str], folded: Folded) -> None:
    """One portion; ``begun`` are segments that a killed run may have committed."""
    if not keys:
        return
    with locks.hold(job.lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        job.lake.storage.write(JOURNAL, json.dumps({"segments": sorted({*begun, *keys})}).encode())
        lines = Lines()
        for data in segments.read_all(job.lake.storage, keys):
            raw = landed_lines.lines_of(data or b"", is_sealed=True)
            lines.add(recall_segments.parsed(job.lake, raw))
        folded.left_out.update({"torn": lines.torn, "key_destroyed": lines.shredded})
        rows, uses = _rows(job, lines.calls, folded), _uses(lines.uses, folded)
        if not begun.isdisjoint(keys):
            rows = _unknown(job, rows)
        _commit(job, rows, uses, folded)
        segments.delete_all(job.lake.storage, keys)
    folded.left_out = +folded.left_out


def _rows(job: Job, calls: Sequence[dict[str, Any]], folded: Folded) -> pl.DataFrame:
    """Rows of calls; of erased and opted-out subjects, and of tombstoned memories, none."""
    rows = _parsed(job.lake, calls, folded)
    refusing = tombstones.load(job.lake)
    if not refusing:
        return rows
    asked = rows.select("tenant_id", "user_id", "agent_id", "session_id", "memory_id", event_at="recalled_at")
    is_refused = refusing.is_refused(asked)
    folded.left_out["refused"] += int(is_refused.sum())
    return rows.filter(~is_refused)


def _parsed(lake: Lake, calls: Sequence[dict[str, Any]], folded: Folded) -> pl.DataFrame:
    """Rows of calls; one by one where one of them is none of ours."""
    try:
        return recall_rows(calls, lake.buckets)
    except _FAULTS:
        kept = [RECALLS.empty()]
    for call in calls:
        try:
            kept.append(recall_rows([call], lake.buckets))
        except _FAULTS:
            folded.left_out["torn"] += 1
    return pl.concat(kept).unique(_KEY, keep="first", maintain_order=True)


def _uses(uses: Sequence[dict[str, Any]], folded: Folded) -> pl.DataFrame:
    try:
        return use_rows(uses)
    except _FAULTS:
        kept = []
        for use in uses:
            try:
                kept.append(use_rows([use]))
            except _FAULTS:
                folded.left_out["torn"] += 1
        numbered = [rows.with_columns(use=pl.lit(i, pl.UInt32)) for i, rows in enumerate(kept)]
        return pl.concat(numbered) if numbered else pl.DataFrame(schema=USES_SCHEMA)


def _unknown(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that are not in the table yet."""
    held = tables.scan(job.lake, RECALLS, buckets=_buckets(rows), months=rows["month"].unique().to_list())
    here = held.select(_KEY).join(rows.lazy().select(_KEY), on=_KEY, how="semi").collect()
    return rows.join(here, on=_KEY, how="anti", maintain_order="left")


def _buckets(rows: pl.DataFrame) -> list[int]:
    return sorted(rows["tenant_bucket"].unique().to_list())


def _commit(job: Job, rows: pl.DataFrame, uses: pl.DataFrame, folded: Folded) -> None:
    """Append the rows, with what was used of them, and mark rows of earlier calls file by file."""
    if uses.height:
        mine = used_rows(uses, rows.lazy())
        rows = marked(rows, mine)
        folded.used += mine.height
        late = uses.join(mine, on=["use", "memory_id"], how="anti")
        marks = _mark_held(job, late) if late.height else 0
        folded.used += marks
        folded.left_out["used_unknown"] += late.height - marks
    tables.append(job.lake, RECALLS, rows)
    folded.rows += rows.height


def _mark_held(job: Job, uses: pl.DataFrame) -> int:
    """Mark rows of the table; returns how many uses met one."""
    count = 0
    for tenant in uses["tenant_id"].unique().sort():
        bucket = tenant_bucket(tenant, job.lake.buckets)
        mine = uses.filter(pl.col("tenant_id") == tenant)
        held = tables.scan(job.lake, RECALLS, buckets=[bucket]).filter(pl.col("tenant_id") == tenant)
        met = used_rows(mine, held)
        count += met.height
        keys = met.select(_KEY).unique()
        for name in sorted(tables.data_files(job.lake, RECALLS, buckets=[bucket])) if met.height else ():
            here = tables.scan(job.lake, RECALLS, files=[name])
            of_calls = here.select(*_KEY, "is_used").join(keys.lazy(), on=_KEY, how="semi").collect()
            if of_calls.filter(~pl.col("is_used").fill_null(False)).height:
                tables.rewrite(job.lake, RECALLS, [name], marked(here.collect(), keys))
    return count
