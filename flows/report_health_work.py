"""Checks of the work that is owed: what waits for a night, erasures, files to merge, the audit chain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

import polars as pl

from flows import report_read
from flows.job import Job
from flows.notes import hint
from flows.report_health_read import Sources
from lake import hints, landing, queries, recall_segments, tables
from lake.index_build import generations
from lake.index_probe import probed
from lake.index_record import is_generation, load_manifest, read_pointer, readable_pointer
from lake.opened import open_table
from lake.waiting import Waiting, waiting
from transforms.errors import LakeError
from transforms.health.checks_rows import hours_since
from transforms.health.remedies import MEASURES
from transforms.health.thresholds import Measure
from transforms.retention import instant
from transforms.schemas import EPISODES, STORED, Table

_LANDED_AT = ("ingested_at", "quarantined_at")
_BACKLOG = tuple(name for name, kind in MEASURES.items() if kind.check == "backlog")
_PART = re.compile(r"[^/]+\Z")


def index(sources: Sources) -> list[Measure]:
    """Whether what readers open can be opened and searched, as ``slowwave doctor`` looks at it."""
    lake, name = sources.job.lake, "damaged_generations"
    try:
        pointer = read_pointer(lake)
    except LakeError as error:
        return [Measure(name, 1, error.message)]
    if pointer is None:
        return [Measure(name, 0, "nothing is published")]
    faults = []
    for generation in pointer.live():
        try:
            probed(lake, generation)
        except LakeError as error:
            faults.append(error.message)
    return [Measure(name, len(faults), "; ".join(faults) or f"of {len(pointer.live())} live")]


def backlog(sources: Sources) -> list[Measure]:
    """What landed, and has not been ingested, embedded, consolidated or published."""
    job, landed = sources.job, landing_segments(sources)
    if job.lake.pins:  # what jobs have been through is known of now only
        return [Measure(name, None, "told of the lake as it is now, not as of the past") for name in _BACKLOG]
    pointer = readable_pointer(job.lake)
    published = load_manifest(job.lake, pointer.generation).inputs if pointer else {}
    embedded = [
        hint(job, e.key) for e in job.lake.storage.entries("state") if e.key.startswith(hints.EMBEDDED)
    ]
    seen = {
        "unembedded_hours": max((_version(r, "tables", "version") for r in embedded), default=-1),
        "unconsolidated_hours": _version(hint(job, hints.CONSOLIDATED), "marks", 0),
        "unpublished_hours": int(published.get(EPISODES.name, -1)),
    }
    oldest = {name: _oldest_after(job, version) for name, version in seen.items()}
    told = [hours_since("landed_hours", landed.oldest_at, job.as_of)]
    told += [hours_since(name, at, job.as_of) for name, at in oldest.items()]
    is_waited = bool(landed.segments) or any(oldest.values())
    return [*told, _since_the_last_night(sources, is_waited=is_waited)]


def landing_segments(sources: Sources) -> Waiting:
    """Segments of landed rows."""
    return waiting(sources.job.lake, landing.PREFIX, _LANDED_AT)


def _version(record: object, part: str, place: str | int) -> int:
    """Up to which version of the episodes a hint says that its job has been; -1 where it does not."""
    try:
        return int(record[part][EPISODES.name][place])  # type: ignore[index]
    except (KeyError, TypeError, ValueError, IndexError):
        return -1


def _oldest_after(job: Job, version: int) -> datetime | None:
    """When the oldest episode came that is only in files written after a version."""
    settled = hints.settled_version(job.lake, EPISODES, version)
    files = tables.added_files(job.lake, EPISODES, settled)
    if not files:
        return None
    rows = tables.scan(job.lake, EPISODES, files=files).filter(pl.col("ingested_at") <= instant(job.as_of))
    first = rows.select(pl.col("ingested_at").min()).collect().item()
    return first if isinstance(first, datetime) else None


def _since_the_last_night(sources: Sources, *, is_waited: bool) -> Measure:
    """A whole night ends with publishing; where nothing comes it leaves no trace, and none is needed."""
    last = sources.runs.filter(pl.col("step") == "publish")["last_done_at"].max()
    if not isinstance(last, datetime):
        return Measure("night_hours", None, "no whole night is on record")
    if not is_waited:
        return Measure("night_hours", 0.0, f"nothing waits; the last one {last:%Y-%m-%d %H:%M} UTC")
    return hours_since("night_hours", last, sources.job.as_of)


def erasure(sources: Sources) -> list[Measure]:
    """Erasures that failed, are late or open, and certificates that do not hold."""
    found = report_read.certificates(sources.job)
    bad = found.filter(pl.col("fault").is_not_null() | (pl.col("leaks") > 0))
    return [
        *open_erasures(sources),
        Measure("bad_certificates", bad.height, f"of {found.height:,} certificates"),
    ]


def open_erasures(sources: Sources) -> list[Measure]:
    """Erasures that failed, are late or open, by the log of requests alone."""
    job = sources.job
    rows = queries.query(job.lake, "requests_standing", {"as_of": job.as_of}).filter(
        pl.col("kind") == "erase"
    )
    unfinished = rows.filter(~pl.col("state").is_in(["done", "held"]))
    oldest = unfinished["requested_at"].min()
    days = (job.as_of - oldest).total_seconds() / 86_400 if isinstance(oldest, datetime) else 0.0
    return [
        Measure("failed_erasures", unfinished.filter(pl.col("state") == "failed").height),
        Measure("overdue_erasures", unfinished.filter("is_late").height),
        Measure("open_erasure_days", max(days, 0.0), f"{unfinished.height:,} are not done"),
    ]


def audit(sources: Sources) -> list[Measure]:
    """Whether the audit chain holds, against every event that a request or certificate names."""
    found = sources.audited
    told = found.broken or f"{found.length:,} events hold together"
    return [Measure("broken_links", int(found.broken is not None), told)]


def compaction(sources: Sources) -> list[Measure]:
    """Files to be merged, removed or taken up."""
    job, health, sizes = sources.job, sources.job.policy.health, sources.sizes
    small, where = _small_files(job, health.small_file_bytes)
    needed = int(sizes["size_bytes"].sum())
    left = max(_bytes_on_disk(job) - needed, 0)
    ratio = left / needed if needed and left > health.free_bytes else 0.0
    return [
        _files_ratio(job),
        Measure("partition_files", small, where),
        Measure("superseded_ratio", ratio, f"{left:,} bytes, {needed:,} are in use"),
        Measure("landing_segments", landing_segments(sources).segments),
        Measure("recall_log_bytes", recall_segments.waiting_bytes(job.lake)),
        _strays(job),
    ]  # fmt: skip


def _files_ratio(job: Job) -> Measure:
    """Files of the table that has most for its partitions, against what is merged at the latest."""
    found = []
    for table in STORED:
        names = tables.data_files(job.lake, table)
        partitions = len({_PART.sub("", name) for name in names})
        if names:
            allowed = partitions * job.policy.upkeep.step_files
            found.append((len(names) / allowed, table.name, len(names), partitions))
    ratio, name, files, partitions = max(found, default=(0.0, "", 0, 0))
    told = f"{name}: {files:,} files in {partitions:,} partitions" if name else ""
    return Measure("files_ratio", ratio, told)


def _small_files(job: Job, small_bytes: int) -> tuple[int, str]:
    """Files below a size in the partition that has most of them, and which table it is of."""
    worst = [(count, table.name) for table in STORED for count in _by_partition(job, table, small_bytes)]
    count, name = max(worst, key=lambda one: (one[0], one[1]), default=(0, ""))
    return count, f"table {name}" if name else ""


def _by_partition(job: Job, table: Table, small_bytes: int) -> Iterable[int]:
    state = open_table(job.lake, table)
    files = state.sizes if state is not None else {}
    return Counter(_PART.sub("", name) for name, size in files.items() if size < small_bytes).values()


def _bytes_on_disk(job: Job) -> int:
    """Bytes of all data files below the tables, superseded ones among them, the logs left out."""
    entries = job.lake.storage.entries("tables")
    return sum(
        entry.size_bytes
        for entry in entries
        if entry.key.endswith(".parquet") and "/_delta_log/" not in entry.key
    )


def _strays(job: Job) -> Measure:
    """Generations on disk that the pointer does not name."""
    held = {name for name in generations(job.lake) if is_generation(name)}
    pointer = readable_pointer(job.lake)
    kept = pointer.kept() if pointer else frozenset()
    back = {pointer.rolled_back} if pointer and pointer.rolled_back else set()
    strays = held - kept - back
    return Measure("stray_generations", len(strays), f"{len(held):,} on disk, {len(kept & held):,} kept")
