"""Hints of other steps carried over a rewrite of ours: rows that were only moved are not new to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flows.consolidate import STATE
from flows.job import Job
from flows.notes import hint, mark_of
from lake import lineage, tables
from transforms.schemas import Table


@contextmanager
def carried(job: Job, table: Table) -> Iterator[None]:
    """Where consolidation had seen all of a table before the block, let it have seen all of it after.

    Without it, the next night would take every row of a rewritten file for a new one. Killed inside the
    block, that is what happens: it costs time and comes to the same rows.
    """
    before = lineage.mark(job.lake, table)
    yield
    if tables.version(job.lake, table) == before[0]:
        return
    _carry_embedded(job, table, before)
    record = hint(job, STATE)
    marks: Any = record.get("marks")
    try:
        had_seen_all = mark_of(marks[table.name]) == before
    except (KeyError, TypeError, ValueError):
        return
    if had_seen_all:
        marks[table.name] = lineage.mark(job.lake, table)
        job.lake.storage.write(STATE, json.dumps(record).encode())


def _carry_embedded(job: Job, table: Table, before: lineage.Mark) -> None:
    """The same for what each model has embedded; not where a refused text is to be looked for again."""
    for entry in job.lake.storage.entries("state"):
        if not entry.key.startswith("state/embedded-"):
            continue
        record = hint(job, entry.key)
        try:
            seen = record["tables"][table.name]
            is_whole = mark_of(seen["mark"]) == before and not seen["retry_files"]
        except (KeyError, TypeError, ValueError):
            continue
        if is_whole:
            mark = lineage.mark(job.lake, table)
            seen.update(version=mark[0], mark=mark)
            job.lake.storage.write(entry.key, json.dumps(record).encode())
