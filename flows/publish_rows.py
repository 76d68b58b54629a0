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

PART_ROWS = 25_000
"""Rows that are looked at at once, about 5 KB each: each part costs a dozen reads, however few they are."""
Wanted = Sequence[tuple[tuple[int, ...], pl.Series]]
"""``memory_id`` by group of buckets."""


def changed_frames(job: Job, space: str, wanted: Wanted, came: Since) -> Iterator[pl.DataFrame]:
    """Memories that are served now, by bucket and sorted.

    Args:
        job: The run.
        space: Vector space.
        wanted: What to look at, in the order of the buckets.
        came: What came to the lake since: vectors are looked for there first.
    """
    wishes = wishes_of(job)
    find = _finder(job, space, came)
    for buckets, ids in _parts(wanted):
        frame = current(job, buckets, ids, wishes, find)
        if frame.height:
            yield _by_bucket(job, frame)


def _parts(wanted: Wanted) -> Iterator[tuple[tuple[int, ...], pl.Series]]:
    """Groups that are small go together; of a large one the buckets apart."""
    held: list[tuple[tuple[int, ...], pl.Series]] = []
    for buckets, ids in wanted:
        if held and sum(len(one) for _, one in held) + len(ids) > PART_ROWS:
            yield _joined(held)
            held = []
        if len(ids) > PART_ROWS:
            yield from (((bucket,), ids) for bucket in buckets)
        elif len(ids):
            held.append((buckets, ids))
    if held:
        yield _joined(held)


def _joined(held: Wanted) -> tuple[tuple[int, ...], pl.Series]:
    return tuple(bucket for buckets, _ in held for bucket in buckets), pl.concat([ids for _, ids in held])


def _by_bucket(job: Job, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their buckets, and inside one as they are."""
    place = {tenant: job.lake.bucket(tenant) for tenant in frame["tenant_id"].unique()}
    if len(set(place.values())) == 1:
        return frame
    places = frame["tenant_id"].replace_strict(place, return_dtype=pl.Int32).alias("bucket")
    return frame.with_columns(places).sort("bucket", maintain_order=True).drop("bucket")


def current(
    job: Job, buckets: Sequence[int], ids: pl.Series, wishes: Wishes, find: Finder | None = None
) -> pl.DataFrame:
    """Memories of some ids that are served now.

    Args:
        job: The run.
        buckets: Where they lie.
        ids: ``memory_id``; those that are not there, or not served, are left out.
        wishes: Periods and pins.
        find: Finds vectors; None: those of the job's own space.
    """
    named = ids.implode()
    held = tables.scan(job.lake, EPISODES, buckets=buckets)
    episodes = held.filter(pl.col("episode_id").is_in(named)).collect(engine="streaming")
    dropped = dropped_episodes(job, buckets, wishes)
    episodes = episodes.join(dropped, on="episode_id", how="anti", maintain_order="left")
    derived = {
        table.name: revisions.alive(
            revisions.latest(job.lake, table, buckets=buckets, where=pl.col(table.key[0]).is_in(named))
        )
        for table in PUBLISHED
    }
    recalls = tables.scan(job.lake, RECALLS, buckets=buckets).filter(pl.col("memory_id").is_in(named))
    access = fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming")
    spans = derived[FACTS.name]["span_episode_id"].unique()
    said = held.select("episode_id", "speaker").filter(pl.col("episode_id").is_in(spans.implode()))
    speakers = said.collect(engine="streaming").join(dropped, on="episode_id", how="anti")
    return memories_of(job, buckets, episodes, derived, access, wishes, find=find, speakers=speakers)


def _finder(job: Job, space: str, came: Since) -> Finder:
    """Finds vectors among those that came, and only what is not there among all."""

    def find(buckets: Sequence[int], texts: pl.DataFrame) -> pl.DataFrame:
        wanted = texts.select("text_hash").unique()
        found = vectors_of(job.lake, buckets, space, wanted, came.files[VECTORS.name].of(buckets).came)
        missing = wanted.join(found, on="text_hash", how="anti")
        if missing.is_empty():
            return found
        return pl.concat([found, vectors_of(job.lake, buckets, space, missing)])

    return find
