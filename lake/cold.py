"""Cold storage: episodes kept apart, strongly compressed, out of the index, readable on request."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from lake import tables
from lake.lake import Lake
from transforms import ids
from transforms.memories import TIER
from transforms.schemas import COLD, EPISODES, FORGOTTEN, INSTANT, RECALLS, Table
from transforms.subjects import Subject


def cool(lake: Lake, bucket: int, episodes: pl.DataFrame, at: datetime) -> int:
    """Copy episodes of a bucket to cold storage; taking them out of the table is the caller's next step.

    Args:
        lake: Where.
        bucket: Which.
        episodes: ``episode_id`` and ``month`` of rows that stand; those that are cold already are passed
            over, as after a kill between copy and removal.
        at: When.

    Returns:
        How many were copied.
    """
    if episodes.is_empty():
        return 0
    held = tables.scan(lake, COLD, buckets=[bucket]).select("episode_id").collect()
    wanted = episodes.join(held, on="episode_id", how="anti")
    copied = 0
    for (month,), part in wanted.group_by("month"):
        names = part.lazy().select("episode_id")
        rows = tables.scan(lake, EPISODES, buckets=[bucket], months=[str(month)])
        found = rows.join(names, on="episode_id", how="semi").collect()
        tables.append(lake, COLD, found.with_columns(cooled_at=pl.lit(at).cast(INSTANT)))
        copied += found.height
    return copied


def cold_rows(lake: Lake, subject: Subject) -> pl.DataFrame:
    """Cold episodes of a subject, by user and time.

    Returns:
        ``schemas.COLD``.
    """
    return _of(lake, COLD, subject).collect().sort(COLD.sort_by)


def restore(lake: Lake, subject: Subject, at: datetime) -> int:
    """Bring cold episodes of a subject back among the others.

    They count as recalled at this instant, or the next night would send them back. Killed midway and run
    again, it comes to the same rows. One that an edit has replaced meanwhile was marked where it lay
    (``flows.versions``), and comes back as replaced.

    Returns:
        How many came back.
    """
    rows = cold_rows(lake, subject)
    if rows.is_empty():
        return 0
    bucket = lake.bucket(subject.tenant)
    tables.append(lake, RECALLS, _without_held(lake, RECALLS, bucket, _as_recalled(rows, at)))
    back = rows.select(EPISODES.names)
    tables.append(lake, EPISODES, _without_held(lake, EPISODES, bucket, back))
    take_off(lake, FORGOTTEN, bucket, rows)
    take_off(lake, COLD, bucket, rows)
    return rows.height


def _of(lake: Lake, table: Table, subject: Subject) -> pl.LazyFrame:
    rows = tables.scan(lake, table, buckets=[lake.bucket(subject.tenant)])
    if subject.memory is None:
        return rows.filter(subject.owns())
    return rows.filter(pl.col("tenant_id") == subject.tenant, pl.col("episode_id") == subject.memory)


def _without_held(lake: Lake, table: Table, bucket: int, rows: pl.DataFrame) -> pl.DataFrame:
    key = list(table.key)
    held = tables.scan(lake, table, buckets=[bucket]).select(key)
    wanted = held.join(rows.lazy().select(key), on=key, how="semi").collect()
    return rows.join(wanted, on=key, how="anti", maintain_order="left")


def _as_recalled(rows: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """One recall of each row, without a query or a score: somebody asked for it."""
    factors = ("score", "relevance", "recency", "frequency", "type", "closeness")
    moment = pl.lit(at).cast(INSTANT)
    shaped = rows.with_columns(
        *(pl.lit(0.0, pl.Float64).alias(name) for name in factors),
        *(pl.lit(None, pl.Float64).alias(name) for name in ("cosine", "word_match")),
        call_id=pl.lit(ids.row_id("restore", at.isoformat())),
        memory_id="episode_id",
        tier=pl.lit(TIER),
        query=pl.lit(""),
        verb=pl.lit("restore"),
        route=pl.lit(""),
        weighting=pl.lit(""),
        policy_hash=pl.lit(""),
        seconds=pl.lit(None, pl.Float64),
        budget_tokens=pl.lit(None, pl.Int32),
        generation=pl.lit(None, pl.String),
        memory_importance=pl.col("importance").cast(pl.Float64),
        importance=pl.lit(0.0, pl.Float64),
        access_count=pl.lit(0, pl.Int64),
        last_accessed_at="event_at",
        is_returned=pl.lit(True),
        rank=pl.lit(1, pl.Int32),
        tokens=pl.lit(None, pl.Int32),
        is_packed=pl.lit(False),
        is_used=pl.lit(True),
        recalled_at=moment,
        month=moment.dt.strftime("%Y-%m"),
    )
    return shaped.select(RECALLS.names)


def take_off(lake: Lake, table: Table, bucket: int, rows: pl.DataFrame) -> None:
    """Rewrite the files of a bucket that hold some of the episodes (``episode_id``), without them."""
    for name in sorted(tables.data_files(lake, table, buckets=[bucket])):
        held = tables.scan(lake, table, files=[name]).collect()
        kept = held.join(rows.select("episode_id"), on="episode_id", how="anti", maintain_order="left")
        if kept.height < held.height:
            tables.rewrite(lake, table, [name], kept)
