"""The memories of some ids as the lake has them now: what an updated generation gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from flows.job import Job
from flows.publish_changes import Since
from flows.published import Finder, dropped_episodes, memories_of, wishes_of
from lake import revisions, tables
from lake.vectors import vectors_of
from transforms.derived_memories import PUBLISHED
from transforms.forgetting.access import fold
from transforms.forgetting.due import Wishes
from transforms.schemas import EPISODES, FACTS, RECALLS, VECTORS


def changed_frames(
    job: Job, space: str, wanted: Sequence[tuple[tuple[int, ...], pl.Series]], came: Since
) -> Iterator[pl.DataFrame]:
    """Memories that are served now, bucket by bucket, sorted.

    Args:
        job: The run.
        space: Vector space.
        wanted: ``memory_id`` by group of buckets.
        came: What came to the lake since: vectors are looked for there first.
    """
    wishes = wishes_of(job)
    find = _finder(job, space, came)
    for buckets, ids in wanted:
        for bucket in buckets if ids.len() else ():
            frame = current(job, bucket, ids, wishes, find)
            if frame.height:
                yield frame


def current(
    job: Job, bucket: int, ids: pl.Series, wishes: Wishes, find: Finder | None = None
) -> pl.DataFrame:
    """Memories of some ids that are served now.

    Args:
        job: The run.
        bucket: Where they lie.
        ids: ``memory_id``; those that are not there, or not served, are left out.
        wishes: Periods and pins.
        find: Finds vectors; None: those of the job's own space.
    """
    named = ids.implode()
    held = tables.scan(job.lake, EPISODES, buckets=[bucket])
    episodes = held.filter(pl.col("episode_id").is_in(named)).collect(engine="streaming")
    dropped = dropped_episodes(job, [bucket], wishes)
    episodes = episodes.join(dropped, on="episode_id", how="anti", maintain_order="left")
    derived = {
        table.name: revisions.standing(job.lake, table, buckets=[bucket], keys=ids.to_frame(table.key[0]))
        for table in PUBLISHED
    }
    recalls = tables.scan(job.lake, RECALLS, buckets=[bucket]).filter(pl.col("memory_id").is_in(named))
    access = fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming")
    spans = derived[FACTS.name]["span_episode_id"].unique()
    said = held.select("episode_id", "speaker").filter(pl.col("episode_id").is_in(spans.implode()))
    speakers = said.collect(engine="streaming").join(dropped, on="episode_id", how="anti")
    return memories_of(job, bucket, episodes, derived, access, wishes, find=find, speakers=speakers)


def _finder(job: Job, space: str, came: Since) -> Finder:
    """Finds vectors among those that came, and only what is not there among all."""

    def find(bucket: int, texts: pl.DataFrame) -> pl.DataFrame:
        files = came.files[VECTORS.name].of([bucket]).came
        rows = tables.scan(job.lake, VECTORS, files=files).filter(pl.col("model_key") == space)
        wanted = texts.select("text_hash").unique()
        mine = rows.select("text_hash", "vector").join(wanted.lazy(), on="text_hash", how="semi")
        found = mine.collect(engine="streaming").unique("text_hash")
        missing = wanted.join(found, on="text_hash", how="anti")
        if missing.is_empty():
            return found
        return pl.concat([found, vectors_of(job.lake, [bucket], space, missing)])

    return find
