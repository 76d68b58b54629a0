"""What goes with episodes, and what stays of them: vectors, cold copies, the list of the forgotten."""

from __future__ import annotations

import polars as pl

from flows.job import Job
from flows.retain_plan import Plan
from lake import revisions, tables
from lake.cold import cool
from transforms.embedding import DERIVED_TEXTS, embedded_columns, hashed_texts
from transforms.retention import instant
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    PROCEDURES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    VECTORS,
    Table,
)
from transforms.standing import is_held
from transforms.subjects import Subject

_RESTING = (FACTS, SUMMARIES, PROCEDURES, ATTEMPTS)
_ROW = ("tenant_id", "text_hash")
_SCOPED = ("tenant_id", "user_id", "agent_id")


def remember_forgotten(job: Job, bucket: int, plan: Plan) -> None:
    """List the episodes that are about to go and that something derived rests on: it may stand on.

    One on a topic that its person has forbidden is not listed: nothing is to rest on it any more.
    """
    gone = plan.going(EPISODES).filter(pl.col("reason") != "forbidden_topic")
    if gone.is_empty():
        return
    held = tables.scan(job.lake, FORGOTTEN, buckets=[bucket]).select("episode_id").collect()
    fresh = gone.join(held, on="episode_id", how="anti", maintain_order="left")
    is_cold, rests = pl.col("reason") == "cold", pl.col("episode_id").is_in(_cited(job, bucket).implode())
    fresh = fresh.filter(is_cold | rests).with_columns(
        tenant_bucket=pl.lit(bucket, pl.Int32), removed_at=instant(job.as_of)
    )
    tier = pl.when(pl.col("tier") == "").then(pl.lit(job.policy.retention.default_tier)).otherwise("tier")
    tables.append(job.lake, FORGOTTEN, fresh.with_columns(retention_tier=tier).select(FORGOTTEN.names))


def send_to_cold(job: Job, bucket: int, plan: Plan) -> int:
    """Copy what goes to cold storage there."""
    gone = plan.going(EPISODES).filter(pl.col("reason") == "cold")
    return cool(job.lake, bucket, gone.select("episode_id", "month"), job.as_of)


def orphaned_vectors(job: Job, bucket: int, plan: Plan) -> pl.DataFrame:
    """Vectors that no text needs once the plan's rows are gone, as rows that go.

    Only texts of going rows are hashed, and of those that stay the few with the same content.
    """
    going = {t.name: plan.going(t) for t in (EPISODES, FACTS, SUMMARIES, PROCEDURES)}
    lost = [_hashes(job, table, bucket, going[table.name]) for table in (EPISODES, *_DERIVED)]
    candidates = pl.concat(lost).unique(_ROW)
    if candidates.is_empty():
        return candidates
    needed = [_needed_by_episodes(job, bucket, going[EPISODES.name])]
    needed += [_needed_by_derived(job, table, bucket, going[table.name]) for table in _DERIVED]
    free = candidates.join(pl.concat(needed), on=_ROW, how="anti")
    held = tables.scan(job.lake, VECTORS, buckets=[bucket]).select(_ROW)
    found = held.join(free.lazy(), on=_ROW, how="semi").unique().collect()
    moment = instant(job.as_of)
    return found.with_columns(tier=pl.lit(""), reason=pl.lit("orphaned"), due_at=moment, known_at=moment)


_DERIVED = (FACTS, SUMMARIES, PROCEDURES)


def _hashes(job: Job, table: Table, bucket: int, going: pl.DataFrame) -> pl.DataFrame:
    """``tenant_id`` and ``text_hash`` of the texts of going rows."""
    key = table.key[0]
    if table is EPISODES:
        rows = tables.scan(job.lake, EPISODES, buckets=[bucket], months=sorted(going["month"].unique()))
        columns = [key, *embedded_columns(EPISODES)]
        named = rows.select(columns).join(going.lazy().select(key), on=key, how="semi")
        texts = named.collect(engine="streaming")
    else:
        texts = going.select(key, "tenant_id", DERIVED_TEXTS[table.name])
    return hashed_texts(texts, table, job.policy.embed.max_text_chars).select(_ROW)


def _needed_by_episodes(job: Job, bucket: int, going: pl.DataFrame) -> pl.DataFrame:
    """Hashes of staying episodes that say word for word what a going one says."""
    columns = ["episode_id", "content_hash", *embedded_columns(EPISODES)]
    rows = tables.scan(job.lake, EPISODES, buckets=[bucket]).select(columns)
    names = going.lazy().select("episode_id")
    said = rows.join(names, on="episode_id", how="semi").select("content_hash").unique()
    alike = rows.join(said, on="content_hash", how="semi").join(names, on="episode_id", how="anti")
    staying = alike.collect(engine="streaming")
    return hashed_texts(staying, EPISODES, job.policy.embed.max_text_chars).select(_ROW)


def _needed_by_derived(job: Job, table: Table, bucket: int, going: pl.DataFrame) -> pl.DataFrame:
    stood = revisions.standing(job.lake, table, buckets=[bucket], columns=embedded_columns(table))
    staying = stood.join(going.select(table.key), on=list(table.key), how="anti")
    return hashed_texts(staying, table, job.policy.embed.max_text_chars).select(_ROW)


def unneeded_topics(job: Job, bucket: int, holds: list[Subject]) -> dict[str, pl.DataFrame]:
    """Memberships of episodes that are nowhere any more, and topics left without any, as rows that go.

    With each topic goes what was decided on it. One that a summary is of stays with it.
    """
    listed = [tables.scan(job.lake, t, buckets=[bucket]) for t in (EPISODES, COLD, FORGOTTEN)]
    known = pl.concat([rows.select("episode_id") for rows in listed]).collect()
    columns = ["tenant_id", "topic_id"]
    members = revisions.latest(job.lake, TOPIC_MEMBERS, buckets=[bucket], columns=columns)
    lost = members.join(known, on="episode_id", how="anti")
    left = members.join(known, on="episode_id", how="semi").filter(~pl.col("is_removed"))
    told = revisions.standing(job.lake, SUMMARIES, buckets=[bucket], columns=columns).select("topic_id")
    used = pl.concat([left.select("topic_id"), told])
    stood = revisions.latest(job.lake, TOPICS, buckets=[bucket], columns=_SCOPED)
    topics = stood.join(used, on="topic_id", how="anti")
    free = topics.with_columns(session_id=pl.lit(None, pl.String)).filter(~is_held(holds, "topic_id"))
    now = instant(job.as_of)
    why = {"tier": pl.lit(""), "reason": pl.lit("orphaned"), "due_at": now, "known_at": now}
    decided = revisions.latest(job.lake, DECISIONS, buckets=[bucket], columns=["item_id"]).select("item_id")
    named = free.select("tenant_id", item_id="topic_id", **why)
    return {
        TOPIC_MEMBERS.name: lost.select("episode_id", "tenant_id", **why),
        DECISIONS.name: named.join(decided, on="item_id", how="semi"),
        TOPICS.name: free.select("topic_id", "tenant_id", **why),
    }


def unneeded_forgotten(job: Job, bucket: int, holds: list[Subject]) -> pl.DataFrame:
    """Forgotten episodes that no derived row rests on any more, as rows that go."""
    listed = tables.scan(job.lake, FORGOTTEN, buckets=[bucket]).collect()
    if listed.is_empty():
        return listed
    cited = _cited(job, bucket).to_frame()
    free = listed.join(cited, on="episode_id", how="anti")
    now = instant(job.as_of)
    why = {"tier": pl.lit(""), "reason": pl.lit("orphaned"), "due_at": now, "known_at": now}
    return free.filter(~is_held(holds, "episode_id")).select("episode_id", "tenant_id", **why)


def _cited(job: Job, bucket: int) -> pl.Series:
    """Episodes that a derived row of a bucket rests on, and those in cold storage."""
    refs = [tables.scan(job.lake, table, buckets=[bucket]).select("episode_id") for table in (CLAIMS, COLD)]
    for table in _RESTING:
        stood = revisions.standing(job.lake, table, buckets=[bucket], columns=["source_refs"])
        refs.append(stood.lazy().select(episode_id="source_refs").explode("episode_id"))
    return pl.concat(refs).collect()["episode_id"].drop_nulls().unique()
