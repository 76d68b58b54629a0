"""What goes with episodes, and what stays of them: vectors, cold copies, the list of the forgotten."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from flows.job import Job
from flows.retain_plan import Plan
from lake import revisions, tables
from lake.cold import cool
from transforms.embedding import DERIVED_TEXTS, embedded_columns, embedding_text, hashed_texts
from transforms.retention import instant
from transforms.schemas import EPISODES, FACTS, FORGOTTEN, PROCEDURES, SUMMARIES, Table

_TEXT = ["tenant_id", "embedding_text"]
_ROW = ["tenant_id", "tenant_bucket", "text_hash"]
_DERIVED = (FACTS, SUMMARIES, PROCEDURES)


def remember_forgotten(job: Job, plan: Plan) -> None:
    """List the episodes that are about to go and that something derived rests on, as they are judged."""
    fresh = plan.going(EPISODES).filter("is_listed").with_columns(removed_at=instant(job.as_of))
    tier = pl.when(pl.col("tier") == "").then(pl.lit(job.policy.retention.default_tier)).otherwise("tier")
    tables.append(job.lake, FORGOTTEN, fresh.with_columns(retention_tier=tier).select(FORGOTTEN.names))


def send_to_cold(job: Job, plan: Plan) -> int:
    """Copy what goes to cold storage there."""
    gone = plan.going(EPISODES).filter(pl.col("reason") == "cold")
    parts = gone.partition_by("tenant_bucket", as_dict=True, maintain_order=True) if gone.height else {}
    return sum(
        cool(job.lake, int(bucket), rows.select("episode_id", "month"), job.as_of)
        for (bucket,), rows in parts.items()
    )


def orphaned_vectors(job: Job, buckets: Sequence[int], plan: Plan) -> pl.DataFrame:
    """Vectors that no text needs once the plan's rows are gone, as rows that go; not each need be there.

    Only texts of going rows are hashed, and compared with those that stay.
    """
    episodes = _going_episodes(job, buckets, plan)
    said = [episodes, *(_going_derived(job, table, buckets, plan) for table in _DERIVED)]
    going = pl.concat([rows.select(*_ROW, "embedding_text") for rows in said]).unique(_ROW)
    if going.is_empty():
        return going
    needed = [_staying_episodes(job, buckets, plan, episodes)]
    needed += [_staying_derived(job, table, buckets, plan, going) for table in _DERIVED]
    free = going.join(pl.concat(needed), on=_TEXT, how="anti").select(_ROW)
    moment = instant(job.as_of)
    why = {"tier": pl.lit(""), "reason": pl.lit("orphaned"), "due_at": moment, "known_at": moment}
    return free.with_columns(**why)


def _episodes_of(job: Job, buckets: Sequence[int], going: pl.DataFrame) -> pl.LazyFrame:
    """Episodes of the days of going ones: the text that is embedded names its day."""
    rows = tables.scan(job.lake, EPISODES, buckets=buckets, months=sorted(going["month"].unique()))
    days = going["event_at"].dt.date().unique()
    return rows.filter(pl.col("event_at").dt.date().is_in(days.implode()))


def _going_episodes(job: Job, buckets: Sequence[int], plan: Plan) -> pl.DataFrame:
    going = plan.going(EPISODES)
    columns = ["episode_id", "content_hash", *embedded_columns(EPISODES)]
    if going.is_empty():
        texts = EPISODES.empty().select(columns)
    else:
        is_going = pl.col("episode_id").is_in(going["episode_id"].implode())
        rows = _episodes_of(job, buckets, going).filter(is_going)
        texts = rows.select(columns).collect(engine="streaming")
    return hashed_texts(texts, EPISODES, job.policy.embed.max_text_chars)


def _staying_episodes(job: Job, buckets: Sequence[int], plan: Plan, said: pl.DataFrame) -> pl.DataFrame:
    """Texts of staying episodes that begin as a going one does, or say it word for word."""
    going, most = plan.going(EPISODES), job.policy.embed.max_text_chars
    if going.is_empty():
        return said.select(_TEXT)
    is_like = (pl.col("content_chars") > most) | pl.col("content_hash").is_in(said["content_hash"].implode())
    stays = ~pl.col("episode_id").is_in(going["episode_id"].implode())
    rows = _episodes_of(job, buckets, going).filter(is_like, stays)
    texts = rows.select("tenant_id", embedding_text=embedding_text(most))
    return texts.collect(engine="streaming")


def _going_derived(job: Job, table: Table, buckets: Sequence[int], plan: Plan) -> pl.DataFrame:
    going, columns = plan.going(table), embedded_columns(table)
    texts = table.empty().select(columns)
    if going.height:
        keys = pl.col(table.key[0]).is_in(going[table.key[0]].implode())
        texts = revisions.latest(job.lake, table, buckets=buckets, where=keys, columns=columns)
    return hashed_texts(texts, table, job.policy.embed.max_text_chars)


def _staying_derived(
    job: Job, table: Table, buckets: Sequence[int], plan: Plan, said: pl.DataFrame
) -> pl.DataFrame:
    """Texts of staying rows of a derived table that are those of going ones."""
    key, text = table.key[0], pl.col(DERIVED_TEXTS[table.name])
    cut = text.str.slice(0, job.policy.embed.max_text_chars).alias("embedding_text")
    is_alike = cut.is_in(said["embedding_text"].implode())
    named = tables.scan(job.lake, table, buckets=buckets).filter(is_alike).select(key)
    alike = named.collect(engine="streaming").join(plan.going(table), on=key, how="anti")
    keys = pl.col(key).is_in(alike[key].unique().implode())
    columns = embedded_columns(table)
    if alike.is_empty():
        return said.select(_TEXT).clear()
    stood = revisions.alive(revisions.latest(job.lake, table, buckets=buckets, where=keys, columns=columns))
    return stood.select("tenant_id", cut)
