"""What a generation is made of: the live rows of the lake, in the order and portions an index is built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import polars as pl

from flows.job import Job
from flows.portions import in_part
from lake import lineage, revisions, tables
from lake.crypto import shelf
from lake.rights import standing
from lake.rights.subjects import salt
from lake.vectors import vectors_of
from transforms.derived_memories import PUBLISHED, derived_memories, hashed, live_rows
from transforms.embedding import with_text_hash
from transforms.forgetting.access import fold
from transforms.forgetting.due import Wishes
from transforms.memories import live, memories
from transforms.schemas import EPISODES, MEMORIES, RECALLS, SUMMARIES, VECTORS, Table
from transforms.scoring_record import FORM
from transforms.summaries.summarise import dropped

SLICE_ROWS = 100_000
SLICE_CHARS = 100_000_000
"""A bucket above either is read in slices of whole users, to bound memory."""
FRAME_ROWS = 10_000
"""Rows of a frame, about 3 KB each with their vector."""
_USER = ["tenant_id", "user_id"]
SOURCES: tuple[Table, ...] = (EPISODES, VECTORS, *PUBLISHED, RECALLS)
"""What a generation is made of."""
Finder = Callable[[Sequence[int], pl.DataFrame], pl.DataFrame]
"""From buckets and a column ``text_hash`` to ``text_hash`` and ``vector``, each hash once."""


def inputs_of(job: Job) -> dict[str, Any]:
    """What a generation depends on; the same inputs need no new one."""
    sections = ("retention", "decay", "embed", "publish", "summaries")
    policy = {name: getattr(job.policy, name).model_dump(mode="json") for name in sections}
    marks = {table.name: lineage.mark(job.lake, table) for table in SOURCES}
    destroyed = shelf.destroyed_mark(job.lake.keys.storage) if job.lake.keys is not None else ""
    return {
        **({"keys": destroyed} if destroyed else {}),
        **{name: mark[0] for name, mark in marks.items()},
        "marks": [mark[1] for mark in marks.values()],
        "space": job.space,
        "form": FORM,
        "policy": policy,
        "wishes": _digest(job),
    }


def wishes_of(job: Job) -> Wishes:
    """Retention periods, pins and holds that stand."""
    return Wishes.of(standing.load_all(job.lake))


def _digest(job: Job) -> str:
    """A salted hash of what people asked for and publishing heeds; empty where nobody did."""
    wishes = wishes_of(job)
    rows = [frame.rows() for frame in (wishes.periods, wishes.pins) if frame is not None]
    return blake2b(repr(rows).encode(), key=salt(job.lake), digest_size=16).hexdigest() if any(rows) else ""


def versions_in(inputs: dict[str, Any]) -> dict[str, int]:
    """Version of each table that a generation was built from."""
    return {table.name: inputs[table.name] for table in SOURCES}


def dropped_episodes(job: Job, buckets: Sequence[int], wishes: Wishes) -> pl.DataFrame:
    """Episodes that are no longer served because a committed summary covers them."""
    if job.policy.summaries.detail != "drop_after_summary":  # then there is nothing to look for
        return pl.DataFrame(schema={"episode_id": pl.String})
    stood = revisions.standing(job.lake, SUMMARIES, buckets=buckets)
    # One that is past its expiry stands for none.
    served = live_rows(stood, SUMMARIES, job.policy, job.as_of, wishes)
    return dropped(served, job.policy).to_frame("episode_id")


def frames(
    job: Job, buckets: Sequence[int] | None = None, find: Finder | None = None
) -> Iterator[pl.DataFrame]:
    """Memories of the lake in order of bucket, tenant, user and time; each frame holds whole users.

    Args:
        job: The run.
        buckets: Tenant buckets, ascending; None is all.
        find: Finds vectors; None: those of the job's own space.
    """
    wishes = wishes_of(job)
    for bucket in range(job.lake.buckets) if buckets is None else buckets:
        held = tables.scan(job.lake, EPISODES, buckets=[bucket])
        rows, chars = held.select(pl.len(), pl.col("content_chars").sum()).collect().row(0)
        parts = max(-(-rows // SLICE_ROWS), -(-chars // SLICE_CHARS), 1)
        dropped, access = dropped_episodes(job, [bucket], wishes), access_of(job, bucket)
        derived = {t.name: revisions.standing(job.lake, t, buckets=[bucket]) for t in PUBLISHED}
        for part in range(parts):
            episodes = held.filter(in_part(_USER, part, parts)).collect()
            episodes = episodes.join(dropped, on="episode_id", how="anti", maintain_order="left")
            mine = {name: rows.filter(in_part(_USER, part, parts)) for name, rows in derived.items()}
            found = _found(job, [bucket], episodes, mine, access, wishes, find, episodes)
            del episodes, mine
            yield from found.frames(FRAME_ROWS)


def memories_of(
    job: Job,
    buckets: Sequence[int],
    episodes: pl.DataFrame,
    derived: dict[str, pl.DataFrame],
    access: pl.DataFrame,
    wishes: Wishes,
    *,
    find: Finder | None = None,
    speakers: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Memories of some buckets, sorted.

    Args:
        job: The run.
        buckets: Which.
        episodes: ``schemas.EPISODES`` that may be served.
        derived: What stands of each of ``PUBLISHED``, by name.
        access: ``access.ACCESS_SCHEMA``.
        wishes: Periods and pins.
        find: Finds vectors; None: those of the job's own space.
        speakers: ``episode_id`` and ``speaker`` of the episodes behind facts; None: of ``episodes``.
    """
    said_by = episodes if speakers is None else speakers
    found = _found(job, buckets, episodes, derived, access, wishes, find, said_by)
    return next(found.frames(max(found.rows.height, 1)), MEMORIES.empty())


@dataclass(frozen=True)
class _Found:
    """Memories without their vectors: these are the most of a row, so they are put in slice by slice.

    Attributes:
        rows: ``schemas.MEMORIES`` with empty vectors, sorted.
        hashes: ``memory_id``, ``tenant_id`` and ``text_hash`` of them.
        vectors: ``text_hash`` and ``vector``.
    """

    rows: pl.DataFrame
    hashes: pl.DataFrame
    vectors: pl.DataFrame

    def frames(self, count: int) -> Iterator[pl.DataFrame]:
        """The rows whole, so many at once."""
        for rows in self.rows.iter_slices(count):
            named = rows.drop("vector").join(
                self.hashes, on=["tenant_id", "memory_id"], how="left", maintain_order="left"
            )
            whole = named.join(self.vectors, on="text_hash", how="left", maintain_order="left")
            nothing = pl.lit([], pl.List(pl.Float32))
            yield whole.with_columns(pl.col("vector").fill_null(nothing)).select(MEMORIES.names)


def _found(
    job: Job,
    buckets: Sequence[int],
    episodes: pl.DataFrame,
    derived: dict[str, pl.DataFrame],
    access: pl.DataFrame,
    wishes: Wishes,
    find: Finder | None,
    speakers: pl.DataFrame,
) -> _Found:
    served = live(episodes, job.policy, job.as_of, wishes)
    texts = with_text_hash(served, job.policy.embed.max_text_chars).drop("embedding_text")
    more = {
        table.name: hashed(
            live_rows(derived[table.name], table, job.policy, job.as_of, wishes), table, job.policy
        )
        for table in PUBLISHED
    }
    hashes = [_named(texts, "episode_id"), *(_named(more[t.name], t.key[0]) for t in PUBLISHED)]
    named = pl.concat(hashes).unique(["tenant_id", "memory_id"])
    vectors = (find or finder(job, job.space))(buckets, named.select("text_hash"))
    none = vectors.clear()
    found = [memories(texts, none, job.policy, job.as_of, access, wishes)]
    found += [derived_memories(more[table.name], none, table, access, speakers) for table in PUBLISHED]
    return _Found(pl.concat(found).sort(MEMORIES.sort_by), named, vectors)


def _named(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    return rows.select("tenant_id", "text_hash", memory_id=key)


def finder(job: Job, space: str) -> Finder:
    """Finds vectors of one space in the lake."""
    return lambda buckets, texts: vectors_of(job.lake, buckets, space, texts)


def access_of(job: Job, bucket: int) -> pl.DataFrame:
    """Recalls of a bucket folded in, until the job's instant."""
    recalls = tables.scan(job.lake, RECALLS, buckets=[bucket])
    return fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming")
