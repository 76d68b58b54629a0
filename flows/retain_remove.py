"""Taking rows out of tables: whole files without reading them, others rewritten, a portion at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from flows.job import Job
from flows.retain_journal import Counts, Journal, key_of
from lake import tables
from lake.rights.subjects import salt, tenant_hash
from transforms.schemas import INSTANT, RETENTION_TIERS, Table

REWRITE_ROWS = 100_000
"""Rows read and written again by one commit, about; it bounds the memory: some 150 MB with what is sorted."""


@dataclass(frozen=True)
class _File:
    """A data file that holds rows that go."""

    name: str
    rows: int
    hits: pl.DataFrame
    """The match columns of those rows."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it goes."""
        return self.rows == self.hits.height


def remove(
    job: Job, journal: Journal, table: Table, bucket: int, going: pl.DataFrame, match: Sequence[str]
) -> int:
    """Take rows out of a bucket of a table.

    Args:
        job: The run.
        journal: Where each commit's counts are noted before it.
        table: Which.
        bucket: Which.
        going: ``tenant_id``, ``tier``, ``reason``, ``due_at``, ``known_at`` and the match columns; of a
            revisioned table once a key, and all revisions of it go.
        match: Columns that name a row, or a key.

    Returns:
        How many rows, or keys, went.
    """
    if going.is_empty():
        return 0
    files = sorted(tables.data_files(job.lake, table, buckets=[bucket]))
    names = [name for name in files if _may_hold(name, table, going)]
    wanted = going.select(match).unique()
    looked = (_looked_at(job, table, name, wanted, match) for name in names)
    touched = [file for file in looked if file.hits.height]
    is_revisioned = "revision" in table.names
    gone = 0
    for portion in [touched] if is_revisioned else _portions(touched):
        if portion:
            gone += _rewrite(job, journal, table, portion, going, match)
    return gone


def _may_hold(name: str, table: Table, going: pl.DataFrame) -> bool:
    """Whether a file's month is one of those that something goes from."""
    if "month" not in table.names or "month" not in going.columns:
        return True
    return name.split("/")[1].removeprefix("month=") in set(going["month"].unique())


def _looked_at(job: Job, table: Table, name: str, wanted: pl.DataFrame, match: Sequence[str]) -> _File:
    held = tables.scan(job.lake, table, files=[name]).select(match).collect()
    return _File(name, held.height, held.join(wanted, on=list(match), how="semi"))


def _portions(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Files of about ``REWRITE_ROWS`` that have to be read; those that go whole cost nothing."""
    held: list[_File] = []
    for file in files:
        rows = sum(one.rows for one in held if not one.is_whole)
        if held and not file.is_whole and rows + file.rows > REWRITE_ROWS:
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
    partly = [file.name for file in files if not file.is_whole]
    rows = tables.scan(job.lake, table, files=partly) if partly else table.empty().lazy()
    remaining = rows.join(hits.lazy(), on=list(match), how="anti").collect(engine="streaming")
    counts = counted(job, table, here)
    journal.begin(table, names, counts)
    tables.rewrite(job.lake, table, names, remaining)
    journal.committed(counts)
    return here.height


def counted(job: Job, table: Table, rows: pl.DataFrame) -> dict[str, Counts]:
    """Rows by line of the ledger, those late among them, and when the first of them was due.

    Only a lifetime can be overrun: what goes for want of room, or because it is stale, is not late.
    """
    found: dict[str, Counts] = {}
    if rows.is_empty():
        return found
    late_after = timedelta(seconds=job.policy.rights.late_after_seconds)
    since = pl.max_horizontal("due_at", "known_at")  # nothing can go before it came
    is_late = (pl.col("reason") == "expired") & (pl.lit(job.as_of) - since > late_after)
    grouped = rows.group_by("tenant_id", "tier", "reason").agg(
        rows=pl.len(), late=is_late.sum(), due_at=pl.col("due_at").min()
    )
    key = salt(job.lake)
    for tenant, tier, reason, count, late, due in grouped.iter_rows():
        name = key_of(tenant_hash(key, tenant) if tenant else "", table.name, tier, reason)
        found[name] = {"rows": count, "late": late, "due_at": due.isoformat() if due else None}
    return found


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
