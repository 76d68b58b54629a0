"""After a complete consolidation: nothing is left of episodes that the lake no longer holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from flows.job import Job
from lake import revisions, tables
from transforms.claims.imported import is_memory
from transforms.schemas import CLAIMS, DERIVED, EPISODES, FORGOTTEN, LINEAGE, MODEL_RESULTS, Table
from transforms.versions import KIND as VERSION

_TOLD_BY = ("result_id", "claim_id", "episode_id", "source_refs")
"""Columns that tell whether a row stays; the others are read where one goes."""
_WITH_SOURCES = [t for t in DERIVED if "source_refs" in t.names and "revision" in t.names]


def reclaim(job: Job, buckets: Sequence[int] | None = None) -> int:
    """Remove claims and answers that rest on no episode, and make lineage what the standing rows say.

    A claim of an episode that retention took out stays, an answer that was given on one goes.

    Args:
        job: The run.
        buckets: Tenant buckets to look at; None is all.

    Returns:
        How many rows went or came.
    """
    changed = 0
    for bucket in range(job.lake.buckets) if buckets is None else buckets:
        files = {t.name: _files(job, t, bucket) for t in (CLAIMS, MODEL_RESULTS, LINEAGE, *_WITH_SOURCES)}
        if not any(files.values()):
            continue
        living = _ids(job, EPISODES, bucket)
        sources = pl.concat([living, _ids(job, FORGOTTEN, bucket)])
        changed += _keep(job, CLAIMS, files, partial(_of_episodes, sources))
        changed += _keep(job, MODEL_RESULTS, files, partial(_resting_on, living))
        changed += _renew_lineage(job, bucket, files[LINEAGE.name])
    return changed


def _files(job: Job, table: Table, bucket: int) -> list[str]:
    return sorted(tables.data_files(job.lake, table, buckets=[bucket]))


def _ids(job: Job, table: Table, bucket: int) -> pl.DataFrame:
    """Episodes that something may rest on: none that a newer version of it has replaced."""
    rows = tables.scan(job.lake, table, buckets=[bucket])
    if table is EPISODES:
        rows = rows.filter(~pl.col("is_injected") | is_memory())
    return rows.select("episode_id").collect()


def _of_episodes(episodes: pl.DataFrame, claims: pl.DataFrame) -> pl.DataFrame:
    return claims.join(episodes, on="episode_id", how="semi")


def _resting_on(living: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Answers whose every source lives."""
    refs = answers.select("result_id", episode_id="source_refs").explode("episode_id")
    lost = refs.join(living, on="episode_id", how="anti")
    return answers.join(lost, on="result_id", how="anti")


def _keep(
    job: Job, table: Table, files: dict[str, list[str]], kept_of: Callable[[pl.DataFrame], pl.DataFrame]
) -> int:
    """Rewrite the bucket's files of a table without the rows that are not kept."""
    mine = files[table.name]
    if not mine:
        return 0
    told = tables.scan(job.lake, table, files=mine).select(n for n in _TOLD_BY if n in table.names).collect()
    if kept_of(told).height == told.height:
        return 0
    rows = tables.scan(job.lake, table, files=mine).collect()
    kept = kept_of(rows)
    if kept.height < rows.height:
        tables.rewrite(job.lake, table, mine, kept)
    return rows.height - kept.height


def _renew_lineage(job: Job, bucket: int, files: list[str]) -> int:
    """Write the bucket's lineage anew where it is not that of the rows that stand, each pair once.

    A run that broke off between lineage and the rows that it is of has its lineage written twice.
    """
    stood = [
        revisions.lineage_of(t, t.empty(), _latest(job, t, bucket).filter(~pl.col("is_removed")))
        for t in _WITH_SOURCES
    ]
    held = tables.scan(job.lake, LINEAGE, files=files).collect() if files else LINEAGE.empty()
    held = held.select(LINEAGE.names).sort(LINEAGE.sort_by)
    stood.append(held.filter(pl.col("derived_kind") == VERSION))
    wanted = pl.concat(stood).unique().sort(LINEAGE.sort_by)
    if held.equals(wanted):
        return 0
    tables.rewrite(job.lake, LINEAGE, files, wanted.select(LINEAGE.names))
    return abs(held.height - wanted.height)


def _latest(job: Job, table: Table, bucket: int) -> pl.DataFrame:
    """``revisions.latest`` without what lineage does not need."""
    columns = [*table.key, "tenant_id", "tenant_bucket", "source_refs", *revisions.REVISION]
    rows = tables.scan(job.lake, table, buckets=[bucket]).select(columns)
    return revisions.newest(table, rows.collect())
