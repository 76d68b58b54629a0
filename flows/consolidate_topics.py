"""Topics of owners with new episodes: joined, made, and looked at again where they have changed much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from flows.embed import embed_texts
from flows.portions import OWNER, Portion
from lake.revisions import REVISION, Changes, alive
from lake.vectors import vectors_of
from transforms.embedding import with_text_hash
from transforms.schemas import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.topics.anew import anew
from transforms.topics.join import Joined, join
from transforms.topics.review import Reviewed, review


@dataclass(frozen=True)
class Memberships:
    """Who belongs where after a run.

    Attributes:
        owners: ``tenant_id`` and ``owner`` that it speaks for.
        members: ``schemas.TOPIC_MEMBERS`` without revisions: what stands of these owners.
        touched: ``topic_id`` of every topic that an episode came to or left.
    """

    owners: pl.DataFrame
    members: pl.DataFrame
    touched: pl.DataFrame


def consolidate_topics(portion: Portion, counts: Counter[str]) -> Memberships:
    """Give the new episodes of a portion their topics."""
    job, owners = portion.job, portion.fresh.select(OWNER).unique()
    if owners.is_empty() and not portion.scope.is_complete:
        nothing = TOPIC_MEMBERS.empty().drop(REVISION)
        return Memberships(owners, nothing, nothing.select("topic_id"))
    topics, members = portion.before(TOPICS, owners), portion.before(TOPIC_MEMBERS, owners)
    if portion.scope.is_complete and portion.scope.owners is None:
        return _saved(portion, (topics, members), _anew(portion, owners, topics, members), counts)
    # Another model's topics say nothing of this one's vectors: their episodes wait for new ones.
    stood = alive(topics).filter(pl.col("space") == job.space)
    living = alive(members).join(portion.light, on="episode_id", how="semi")
    held = living.join(stood, on="topic_id", how="semi")
    texts = _Texts(portion, owners)
    joined = join(_waiting(portion, texts, held, owners), stood, job.policy, job.space)
    now = pl.concat([held, joined.members])
    others = stood.join(joined.topics.select(OWNER).unique(), on=OWNER, how="anti")  # nothing of theirs waits
    lost = alive(members).join(held, on="episode_id", how="anti")["topic_id"]
    joined = replace(joined, topics=pl.concat([joined.topics, others.select(joined.topics.columns)]))
    done = _reviewed(portion, texts, now, joined, lost)
    now = pl.concat([now.join(done.members, on="episode_id", how="anti"), done.members])
    found = done.topics.join(now, on="topic_id", how="semi")
    decided = pl.concat([joined.decisions, done.decisions])
    decided = decided.unique("item_id", keep="last", maintain_order=True)
    return _saved(portion, (topics, members), Reviewed(found, now, decided), counts)


def _anew(portion: Portion, owners: pl.DataFrame, topics: pl.DataFrame, members: pl.DataFrame) -> Reviewed:
    """Topics of all episodes of the owners at once, so that a full rebuild does not know of nights."""
    light = portion.light.filter(~pl.col("is_injected"))
    rows = _Texts(portion, owners).of(light.join(owners, on=OWNER, how="semi"))
    known = alive(members).select("episode_id", "topic_id")
    named = rows.join(known, on="episode_id", how="left", maintain_order="left")
    return anew(named, alive(topics), portion.job.policy, portion.job.space)


def _saved(
    portion: Portion, before: tuple[pl.DataFrame, pl.DataFrame], after: Reviewed, counts: Counter[str]
) -> Memberships:
    """Take up topics, members and decisions of all owners with news, or in a complete run of all."""
    topics, members = before
    portion.writer.revise(TOPICS, topics, after.topics)
    moved = portion.writer.revise(TOPIC_MEMBERS, members, after.members)
    owners = after.members.select(OWNER).unique()
    _decide(portion, after.decisions, owners, counts)
    counts["joined"] += moved.added.filter(pl.col("topic_id") != "").height
    counts["waiting"] += after.members.filter(pl.col("topic_id") == "").height
    return Memberships(portion.fresh.select(OWNER).unique(), after.members, _touched(members, moved))


def _touched(before: pl.DataFrame, moved: Changes) -> pl.DataFrame:
    left = before.join(moved.rows, on="episode_id", how="semi")
    both = pl.concat([left.select("topic_id"), moved.rows.select("topic_id")])
    return both.filter(pl.col("topic_id") != "").unique()


@dataclass(frozen=True)
class _Texts:
    """Episodes of owners with news and their vectors, read once where they are few."""

    portion: Portion
    owners: pl.DataFrame

    def of(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Whole episodes with ``vector`` by ``episode_id``, in its order."""
        if self.portion.whole is None:
            return with_vectors(self.portion, self.portion.episodes(keys.select("episode_id")))
        return self._every.join(keys, on="episode_id", how="semi", maintain_order="left")

    @cached_property
    def _every(self) -> pl.DataFrame:
        return with_vectors(self.portion, self.portion.episodes(self.owners))


def _waiting(portion: Portion, texts: _Texts, held: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    """Episodes of owners with news that have no topic: the new ones, and those that fitted none before."""
    light = portion.light.filter(~pl.col("is_injected"))
    idle = light.join(owners, on=OWNER, how="semi").join(held, on="episode_id", how="anti")
    return texts.of(idle)


def _reviewed(
    portion: Portion, texts: _Texts, members: pl.DataFrame, joined: Joined, lost: pl.Series
) -> Reviewed:
    """Topics after those that have changed much, or lost an episode, were looked at whole.

    A topic that lost one is told by its size, too: a run that was killed may have written its members.
    """
    sizes = members.filter(pl.col("topic_id") != "").group_by("topic_id").len("held")
    both = joined.topics.select("topic_id", "size").join(sizes, on="topic_id", how="left")
    shrunk = both.filter(pl.col("held").fill_null(0) < pl.col("size"))["topic_id"].to_list()
    wanted = sorted(({*joined.review, *shrunk, *lost}) & set(both["topic_id"]))
    if not wanted:
        return Reviewed(joined.topics, joined.members.clear(), joined.decisions.clear())
    rows = _looked_at(texts, members, wanted)
    return review(joined.topics, rows, portion.job.policy, portion.job.space, under_review=wanted)


def _looked_at(texts: _Texts, members: pl.DataFrame, topics: Sequence[str]) -> pl.DataFrame:
    """All episodes of the topics that are looked at whole, with ``topic_id``."""
    named = pl.DataFrame({"topic_id": topics}, schema={"topic_id": pl.String})
    wanted = members.join(named, on="topic_id", how="semi")
    return texts.of(wanted).join(wanted.select("episode_id", "topic_id"), on="episode_id")


def with_vectors(portion: Portion, episodes: pl.DataFrame) -> pl.DataFrame:
    """Episodes with ``vector`` of this run's space; null where there is none.

    A dry run makes those that are missing: nothing was embedded before it.
    """
    hashed = with_text_hash(episodes, portion.job.policy.embed.max_text_chars)
    if portion.job.is_dry:
        held = embed_texts(portion.job, hashed)
    else:
        held = vectors_of(portion.job.lake, portion.buckets, portion.job.space, hashed)
    return hashed.join(held, on="text_hash", how="left", maintain_order="left").drop(
        "text_hash", "embedding_text"
    )


def _decide(portion: Portion, decisions: pl.DataFrame, living: pl.DataFrame, counts: Counter[str]) -> None:
    """Record why topics were made, split or merged; the last decision on a topic stands while it lives."""
    keys = decisions.select("item_id")
    held = portion.before(DECISIONS, keys).filter(pl.col("item_kind") == "topic")
    if portion.scope.is_complete:
        gone = held.join(living, on=OWNER, how="anti")
        before = pl.concat(
            [gone, held.join(living, on=OWNER, how="semi").join(keys, on="item_id", how="semi")]
        )
    else:
        before = held.join(keys, on="item_id", how="semi")
    portion.writer.revise(DECISIONS, before, decisions)
    counts.update(f"topics_{name.lower()}" for name in decisions["operation"])
