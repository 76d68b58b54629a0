"""Summaries of the topics that an episode of the age for it came to or left."""

from __future__ import annotations

from collections import Counter

import polars as pl

from flows.consolidate_topics import Memberships
from flows.portions import OWNER, Portion, newly_ripe, ripe_episodes
from lake import revisions
from lake.revisions import alive
from lake.tokens import count_tokens
from transforms.schemas import SUMMARIES, TOPIC_MEMBERS
from transforms.summaries.by_model import summarise_with
from transforms.summaries.summarise import summarise

TOPIC = [*OWNER, "topic_id"]


def consolidate_summaries(portion: Portion, memberships: Memberships, counts: Counter[str]) -> None:
    """Summarise anew what changed among the episodes that are old enough."""
    members = _members(portion, memberships)
    ripe = ripe_episodes(portion).join(members.select("episode_id", "topic_id"), on="episode_id")
    news = pl.concat([portion.fresh.select("episode_id"), newly_ripe(portion).select("episode_id")])
    touched = pl.concat(
        [ripe.join(news, on="episode_id", how="semi").select("topic_id"), memberships.touched]
    )
    due = members.join(touched, on="topic_id", how="semi").select(TOPIC).unique()
    if due.is_empty() and not portion.scope.is_complete:
        return
    # A topic that lost its last episode is in no membership, and its summary goes with it.
    keys = touched.unique()
    before = portion.before(SUMMARIES, keys)
    wanted = ripe.join(due, on=TOPIC, how="semi").select("episode_id", "topic_id")
    whole = portion.episodes(wanted.select("episode_id")).join(wanted, on="episode_id")
    # Sentences are weighed by their words: a change of embedder leaves summaries as they are.
    found = _summarised(portion, whole, alive(before), counts)
    counts["summaries"] += portion.writer.revise(SUMMARIES, before, found).rows.height


def _summarised(
    portion: Portion, episodes: pl.DataFrame, previous: pl.DataFrame, counts: Counter[str]
) -> pl.DataFrame:
    job = portion.job

    expired = portion.forgotten["episode_id"]

    def count(texts: list[str]) -> list[int]:
        return count_tokens(texts, job.policy.context.encoding)

    if job.model is None:
        return summarise(episodes, previous, job.policy, count, expired)
    rows, pending = summarise_with(job.model, episodes, previous, job.policy, count, expired)
    counts["pending"] += len(pending)
    # What waits for the model stays as it was, unless it quotes an episode that is no longer there.
    waits = _held(portion, previous.filter(pl.col("topic_id").is_in(pending)))
    return pl.concat([rows, waits])


def _held(portion: Portion, summaries: pl.DataFrame) -> pl.DataFrame:
    """Those that rest on no episode that is neither here nor forgotten."""
    refs = summaries.select("summary_id", episode_id="source_refs").explode("episode_id")
    unknown = refs.join(portion.sources, on="episode_id", how="anti")
    return summaries.join(unknown, on="summary_id", how="anti")


def _members(portion: Portion, memberships: Memberships) -> pl.DataFrame:
    """Memberships, after this run, of the owners that have a new or a newly ripe episode."""
    owners = newly_ripe(portion).select(OWNER).unique().join(memberships.owners, on=OWNER, how="anti")
    others = revisions.latest(portion.job.lake, TOPIC_MEMBERS, buckets=portion.buckets, keys=owners)
    both = pl.concat([memberships.members, alive(others)])
    return both.filter(pl.col("topic_id") != "")
