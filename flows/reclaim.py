"""After a complete consolidation: nothing is left of episodes that the lake no longer holds."""

from __future__ import annotations

import polars as pl

from flows.job import Job
from lake import revisions, tables
from transforms.schemas import CLAIMS, DERIVED, EPISODES, LINEAGE, MODEL_RESULTS, Table

_WITH_SOURCES = [t for t in DERIVED if "source_refs" in t.names and "revision" in t.names]


def reclaim(job: Job) -> int:
    """Remove claims and answers that rest on no episode, and make lineage what the standing rows say.

    Returns:
        How many rows went or came.
    """
    changed = 0
    for bucket in range(job.lake.buckets):
        files = {t.name: _files(job, t, bucket) for t in (CLAIMS, MODEL_RESULTS, LINEAGE, *_WITH_SOURCES)}
        if not any(files.values()):
            continue
        episodes = tables.scan(job.lake, EPISODES, buckets=[bucket]).select("episode_id").collect()
        living = episodes["episode_id"].implode()
        changed += _keep(job, CLAIMS, files, pl.col("episode_id").is_in(living))
        is_whole = pl.col("source_refs").list.set_difference(pl.lit(living.explode()).implode())
        changed += _keep(job, MODEL_RESULTS, files, is_whole.list.len() == 0)
        changed += _renew_lineage(job, bucket, files[LINEAGE.name])
    return changed


def _files(job: Job, table: Table, bucket: int) -> list[str]:
    return sorted(n for n in tables.data_files(job.lake, table) if f"tenant_bucket={bucket}/" in n)


def _keep(job: Job, table: Table, files: dict[str, list[str]], is_kept: pl.Expr) -> int:
    """Rewrite the bucket's files of a table without the rows that are not kept."""
    mine = files[table.name]
    rows = tables.scan(job.lake, table, files=mine).collect() if mine else table.empty()
    kept = rows.filter(is_kept)
    if kept.height < rows.height:
        tables.rewrite(job.lake, table, mine, kept)
    return rows.height - kept.height


def _renew_lineage(job: Job, bucket: int, files: list[str]) -> int:
    """Write the bucket's lineage anew where it is not that of the rows that stand."""
    stood = [
        revisions.lineage_of(t, t.empty(), _latest(job, t, bucket).filter(~pl.col("is_removed")))
        for t in _WITH_SOURCES
    ]
    wanted = pl.concat(stood).unique().sort(LINEAGE.sort_by)
    held = tables.scan(job.lake, LINEAGE, files=files).collect() if files else LINEAGE.empty()
    held = held.select(LINEAGE.names).sort(LINEAGE.sort_by)
    if held.unique(maintain_order=True).equals(wanted):
        return 0
    tables.rewrite(job.lake, LINEAGE, files, wanted.select(LINEAGE.names))
    return abs(held.height - wanted.height)


def _latest(job: Job, table: Table, bucket: int) -> pl.DataFrame:
    return revisions.latest(job.lake, table, buckets=[bucket])
