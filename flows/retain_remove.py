"""Taking rows out of tables: whole files without reading them, others rewritten, a portion at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from flows.job import Job
from flows.retain_journal import Counts, Journal, key_of
from lake import tables
from lake.data_files import bucket_of
from lake.rights.subjects import salt, tenant_hash
from lake.row_counts import row_counts
from lake.vectors import whole_rows
from transforms.schemas import INSTANT, RETENTION_TIERS, VECTORS, Table

REWRITE_ROWS = 50_000
"""Rows of a partition read and written again at once, about: some 100 MB of vectors, made twice."""
COMMIT_ROWS = 1_000_000
"""Rows written again by one commit, about: what a run that is killed does again, and leaves on the disk."""


@dataclass(frozen=True)
class _File:
    """A data file that holds rows that go."""

    name: str
    rows: int
    hits: pl.DataFrame
    """The match columns of those rows."""

    @property
    def folder(self) -> str:
        """Its partition."""
        return self.name.rpartition("/")[0]

    @property
    def is_whole(self) -> bool:
        """Whether all of it goes."""
        return self.rows == self.hits.height


def remove(
    job: Job,
    journal: Journal,
    table: Table,
    buckets: Sequence[int],
    going: pl.DataFrame,
    match: Sequence[str],
) -> int:
    """Take rows out of buckets of a table.

    Args:
        job: The run.
        journal: Where each commit's counts are noted before it.
        table: Which.
        buckets: Which.
        going: ``tenant_id``, ``tenant_bucket``, ``tier``, ``reason``, ``due_at``, ``known_at`` and the match
            columns; of a revisioned table once a key, and all revisions of it go.
        match: Columns that name a row, or a key, of a bucket.

    Returns:
        How many rows, or keys, went.
    """
    if going.is_empty():
        return 0
    match = [*match, *(["tenant_bucket"] if "tenant_bucket" not in match else [])]
    wanted = going.select(match).unique().partition_by("tenant_bucket", as_dict=True)
    files = sorted(tables.data_files(job.lake, table, buckets=buckets))
    names = [name for name in files if (bucket_of(name),) in wanted and _may_hold(name, table, going)]
    looked = _looked_at(job, table, names, wanted, match)
    touched = sorted(looked, key=lambda file: (bucket_of(file.name), file.name))
    gone = 0
    for portion in _portions(touched, is_revisioned="revision" in table.names):
        gone += _rewrite(job, journal, table, portion, going, match)
    return gone


def _may_hold(name: str, table: Table, going: pl.DataFrame) -> bool:
    """Whether a file's month is one of those that something goes from."""
    if "month" not in table.names or "month" not in going.columns:
        return True
    return name.split("/")[1].removeprefix("month=") in set(going["month"].unique())


def _looked_at(
    job: Job,
    table: Table,
    names: Sequence[str],
    wanted: Mapping[tuple[object, ...], pl.DataFrame],
    match: Sequence[str],
) -> list[_File]:
    """Those of the files that hold a wanted row; all are looked through at once, where that can be."""
    counts = row_counts(job.lake, table)
    is_sealed = job.lake.encryption is not None and bool(table.free_text)
    if is_sealed or any(counts.get(name) is None for name in names):
        each = (_in_file(job, table, name, wanted[bucket_of(name),], match) for name in names)
        return [file for file in each if file.hits.height]
    if not names:
        return []
    # Rows come in the order of the names, so that the number of a row tells its file.
    rows = tables.scan(job.lake, table, files=names).select(match).with_row_index("row")
    every = pl.concat(wanted.values()).lazy()
    found = rows.join(every, on=list(match), how="semi").collect(engine="streaming")
    ends = pl.Series([counts[name] for name in names], dtype=pl.UInt32).cum_sum()
    placed = found.with_columns(file=ends.search_sorted(found["row"], side="right")).drop("row")
    parts = placed.partition_by("file", as_dict=True, include_key=False) if found.height else {}
    return [_File(names[place], counts[names[place]] or 0, hits) for (place,), hits in parts.items()]


def _in_file(job: Job, table: Table, name: str, wanted: pl.DataFrame, match: Sequence[str]) -> _File:
    held = tables.scan(job.lake, table, files=[name]).select(match).collect()
    return _File(name, held.height, held.join(wanted, on=list(match), how="semi"))


def _portions(files: Iterable[_File], *, is_revisioned: bool) -> Iterator[list[_File]]:
    """Files of one commit: of about ``COMMIT_ROWS`` that stay; those that go whole cost nothing.

    Of a revisioned table a bucket is one: an older revision must not stand while the newer is gone.
    """
    held, bucket = list[_File](), -1
    for file in files:
        is_bound = is_revisioned and bucket_of(file.name) == bucket
        if not is_bound and _to_write([*held, file]) > COMMIT_ROWS and _to_write(held):
            yield held
            held = []
        held.append(file)
        bucket = bucket_of(file.name)
    if held:
        yield held


def _to_write(files: Iterable[_File]) -> int:
    return sum(file.rows for file in files if not file.is_whole)


def _pieces(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Files of a commit that are read and written at once: of one partition, of about ``REWRITE_ROWS``."""
    held = list[_File]()
    for file in files:
        if held and (file.folder != held[0].folder or _to_write([*held, file]) > REWRITE_ROWS):
            yield held
            held = []
        held.append(file)
    if held:
        yield held


def _rewrite(
    job: Job, journal: Journal, table: Table, files: list[_File], going: pl.DataFrame, match: Sequence[str]
) -> int:
    """One commit."""
    names = [file.name for file in files]
    hits = pl.concat([file.hits for file in files]).unique()
    here = going.join(hits, on=list(match), how="semi")
    pieces = _pieces(file for file in files if not file.is_whole)
    remaining = (pl.concat([_remaining(job, table, f, match) for f in piece]) for piece in pieces)
    counts = counted(job, table, here)
    journal.begin(table, names, counts)
    tables.rewrite(job.lake, table, names, remaining)
    journal.committed(counts)
    return here.height


def _remaining(job: Job, table: Table, file: _File, match: Sequence[str]) -> pl.DataFrame:
    """What stays of a file, in its order: rows that are in order need no sorting to be written."""
    gone = file.hits.select(match).unique()
    if table is VECTORS:
        return _remaining_vectors(job, file, gone)
    rows = tables.scan(job.lake, table, files=[file.name]).collect()
    return rows.join(gone, on=list(match), how="anti", maintain_order="left")


def _remaining_vectors(job: Job, file: _File, gone: pl.DataFrame) -> pl.DataFrame:
    """As ``_remaining``: the most bytes of a night, for a row in forty that goes; so none is decoded."""
    names = tables.scan(job.lake, VECTORS, files=[file.name]).select(gone.columns).with_row_index("row")
    stays = names.collect().join(gone, on=gone.columns, how="anti", maintain_order="left")
    return whole_rows(job.lake, file.name, stays["row"].to_numpy().astype(np.int64))


def counted(job: Job, table: Table, rows: pl.DataFrame) -> dict[str, Counts]:
    """Rows by line of the ledger, those late among them, and when the first of them was due."""
    return {key: counts for _, key, counts in counts_by(job, table, rows)}


def counts_by(
    job: Job, table: Table, rows: pl.DataFrame, by: Sequence[str] = ()
) -> Iterator[tuple[tuple[Any, ...], str, Counts]]:
    """``counted`` by values of some columns: these, the line of the ledger, and its counts.

    Only a lifetime can be overrun: what goes for want of room, or because it is stale, is not late.
    """
    if rows.is_empty():
        return
    late_after = timedelta(seconds=job.policy.rights.late_after_seconds)
    since = pl.max_horizontal("due_at", "known_at")  # nothing can go before it came
    is_late = (pl.col("reason") == "expired") & (pl.lit(job.as_of) - since > late_after)
    grouped = rows.group_by(*by, "tenant_id", "tier", "reason").agg(
        rows=pl.len(), late=is_late.sum(), due_at=pl.col("due_at").min()
    )
    key = salt(job.lake)
    for *values, tenant, tier, reason, count, late, due in grouped.iter_rows():
        name = key_of(tenant_hash(key, tenant) if tenant else "", table.name, tier, reason)
        yield tuple(values), name, {"rows": count, "late": late, "due_at": due.isoformat() if due else None}


def known_expr(columns: Iterable[str]) -> pl.Expr:
    """When the lake got a row, where its table knows; null where it does not."""
    times = [name for name in ("known_at", "ingested_at", "recorded_at") if name in columns]
    return (pl.col(times[0]) if times else pl.lit(None, INSTANT)).alias("known_at")


def tier_expr(columns: Iterable[str]) -> pl.Expr:
    """The tier by which a row is counted; empty where its table has none, the default's name is not taken."""
    if "retention_tier" not in columns:
        return pl.lit("").alias("tier")
    known = pl.col("retention_tier").is_in(RETENTION_TIERS)
    return pl.when(known).then("retention_tier").otherwise(pl.lit("")).alias("tier")
