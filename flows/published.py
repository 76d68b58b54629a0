"""What a generation is made of: the live rows of the lake, in the order and portions an index is built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import polars as pl

from flows.job import Job
from flows.portions import in_part
from lake import lineage, revisions, tables
from lake.crypto import shelf
from lake.index import scope_hash
from lake.rights import standing
from lake.rights.subjects import salt
from lake.vectors import vectors_of
from transforms import retention
from transforms.derived_memories import PUBLISHED, derived_memories, hashed, live_rows
from transforms.embedding import with_text_hash
from transforms.forgetting.access import fold
from transforms.forgetting.due import Wishes
from transforms.memories import live, memories
from transforms.schemas import EPISODES, MEMORIES, RECALLS, SUMMARIES, VECTORS, Table
from transforms.scoring_record import FORM
from transforms.standing import periods, pins
from transforms.summaries.summarise import dropped

SLICE_ROWS = 100_000
SLICE_CHARS = 100_000_000
"""A bucket above either is read in slices of whole users, to bound memory."""
_USER = ["tenant_id", "user_id"]
_SOURCES: tuple[Table, ...] = (EPISODES, VECTORS, *PUBLISHED, RECALLS)


def inputs_of(job: Job) -> dict[str, Any]:
    """What a generation depends on; the same inputs need no new one."""
    sections = ("retention", "decay", "embed", "publish", "summaries")
    policy = {name: getattr(job.policy, name).model_dump(mode="json") for name in sections}
    marks = {table.name: lineage.mark(job.lake, table) for table in _SOURCES}
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
    """Retention periods and pins that stand."""
    told = standing.load_all(job.lake)
    return Wishes(periods(told), pins(told))


def _digest(job: Job) -> str:
    """A salted hash of what people asked for and publishing heeds; empty where nobody did."""
    wishes = wishes_of(job)
    rows = [frame.rows() for frame in (wishes.periods, wishes.pins) if frame is not None]
    return blake2b(repr(rows).encode(), key=salt(job.lake), digest_size=16).hexdigest() if any(rows) else ""


def versions_in(inputs: dict[str, Any]) -> dict[str, int]:
    """Version of each table that a generation was built from."""
    return {table.name: inputs[table.name] for table in _SOURCES}


def large_scopes(job: Job) -> list[str]:
    """Hashes of the scopes that get a table of their own."""
    scopes = tables.scan(job.lake, EPISODES).group_by("tenant_id", "user_id").len()
    large = scopes.filter(pl.col("len") > job.policy.publish.large_scope_rows).collect()
    return sorted(scope_hash(tenant, user) for tenant, user, _ in large.iter_rows())


def served_counts(job: Job) -> dict[str, int]:
    """Rows that must be served, are expired, injected or dropped for their summary.

    Counted without the code that builds them.
    """
    wishes = wishes_of(job)
    expiry = retention.expiry_expr(job.policy.retention, wishes.periods, wishes.pins)
    columns = ["episode_id", "tenant_id", "user_id", "kind", "is_injected", "retention_tier", "expires_at",
               "event_at"]  # fmt: skip
    rows = tables.scan(job.lake, EPISODES).select(columns)
    is_injected, is_live = pl.col("is_injected"), retention.is_live(job.as_of)
    is_dropped = pl.col("episode_id").is_in(_dropped(job, None)["episode_id"].implode())
    counts = rows.with_columns(expires_at=expiry).select(
        live=(~is_injected & is_live & ~is_dropped).sum(),
        expired=(~is_injected & ~is_live).sum(),
        injected=is_injected.sum(),
        dropped=(~is_injected & is_live & is_dropped).sum(),
    )
    found = {name: int(count) for name, count in counts.collect().row(0, named=True).items()}
    for table in PUBLISHED:
        stood = revisions.standing(job.lake, table)
        found[table.name] = live_rows(stood, table, job.policy, job.as_of, wishes).height
    return found


def _dropped(job: Job, bucket: int | None) -> pl.DataFrame:
    """Episodes that are no longer served because a committed summary covers them."""
    if job.policy.summaries.detail != "drop_after_summary":  # then there is nothing to look for
        return pl.DataFrame(schema={"episode_id": pl.String})
    stood = revisions.standing(job.lake, SUMMARIES, buckets=None if bucket is None else [bucket])
    # One that is past its expiry stands for none.
    served = live_rows(stood, SUMMARIES, job.policy, job.as_of, wishes_of(job))
    return dropped(served, job.policy).to_frame("episode_id")


def frames(job: Job, advance: Callable[[int], None]) -> Iterator[pl.DataFrame]:
    """Memories of the lake in order of bucket, tenant, user and time; each frame holds whole users."""
    wishes = wishes_of(job)
    for bucket in range(job.lake.buckets):
        held = tables.scan(job.lake, EPISODES, buckets=[bucket])
        rows, chars = held.select(pl.len(), pl.col("content_chars").sum()).collect().row(0)
        parts = max(-(-rows // SLICE_ROWS), -(-chars // SLICE_CHARS), 1)
        dropped, access = _dropped(job, bucket), access_of(job, bucket)
        derived = {t.name: revisions.standing(job.lake, t, buckets=[bucket]) for t in PUBLISHED}
        for part in range(parts):
            episodes = held.filter(in_part(_USER, part, parts)).collect()
            episodes = episodes.join(dropped, on="episode_id", how="anti", maintain_order="left")
            mine = {name: rows.filter(in_part(_USER, part, parts)) for name, rows in derived.items()}
            frame = memories_of(job, bucket, episodes, mine, access, wishes)
            advance(frame.height)
            if frame.height:
                yield from frame.iter_slices(20_000)


def memories_of(
    job: Job,
    bucket: int,
    episodes: pl.DataFrame,
    derived: dict[str, pl.DataFrame],
    access: pl.DataFrame,
    wishes: Wishes,
) -> pl.DataFrame:
    """Memories of whole users of a bucket, sorted."""
    served = live(episodes, job.policy, job.as_of, wishes)
    texts = with_text_hash(served, job.policy.embed.max_text_chars).drop("embedding_text")
    more = {
        table.name: hashed(
            live_rows(derived[table.name], table, job.policy, job.as_of, wishes), table, job.policy
        )
        for table in PUBLISHED
    }
    wanted = pl.concat([texts.select("text_hash"), *(frame.select("text_hash") for frame in more.values())])
    vectors = vectors_of(job.lake, [bucket], job.space, wanted)
    found = [memories(texts, vectors, job.policy, job.as_of, access, wishes)]
    found += [derived_memories(more[table.name], vectors, table, access, episodes) for table in PUBLISHED]
    return pl.concat(found).sort(MEMORIES.sort_by)


def access_of(job: Job, bucket: int) -> pl.DataFrame:
    """Recalls of a bucket folded in, until the job's instant."""
    recalls = tables.scan(job.lake, RECALLS, buckets=[bucket])
    return fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming")
