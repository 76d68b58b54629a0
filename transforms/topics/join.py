"""New episodes join old topics; what is left and belongs together becomes new topics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from transforms.derived import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.errors import LakeError
from transforms.policy import Policy
from transforms.topics import frames
from transforms.topics.flags import to_review
from transforms.topics.frames import DECISION_ROWS, MEMBER_ROWS, OWNER, TOPIC_ROWS
from transforms.topics.shape import cohesion
from transforms.topics.sorting import Sorted, owner_slices, sort_rows
from transforms.topics.vectors import Floats, matrix


@dataclass(frozen=True)
class Joined:
    """What became of the waiting episodes; frames without revision columns, sorted as their tables are.

    Attributes:
        members: TOPIC_MEMBERS, one row a waiting episode; topic_id empty while it fits none.
        topics: TOPICS, all of the owners that have episodes waiting.
        decisions: DECISIONS: ADD for each new topic.
        review: Sorted ids of topics to be looked at whole: new, grown, too wide, too close to another.
    """

    members: pl.DataFrame
    topics: pl.DataFrame
    decisions: pl.DataFrame
    review: list[str]


def join(waiting: pl.DataFrame, topics: pl.DataFrame, policy: Policy, space: str) -> Joined:
    """Sort waiting episodes into topics.

    Joining again what still waits, with the topics this returned, changes nothing.

    Args:
        waiting: ``frames.WAITING``: episodes of some owners that are in no topic.
        topics: TOPICS rows that stand; those of other owners and spaces are passed over.
        policy: Sections topics and importance.
        space: Vector space of the vectors.

    Raises:
        LakeError: The vectors are of another length than the centroids of their space.
    """
    held = frames.in_order(waiting.select(pl.col(n).cast(t) for n, t in frames.WAITING.items()))
    old = topics.filter(pl.col("space") == space).join(held.select(OWNER).unique(), on=OWNER, how="semi")
    old = frames.filed(old, TOPIC_ROWS, TOPICS)
    episodes, vectors = taking_part(held, policy)
    centroids = centroids_of(old, vectors)
    found = sort_rows(
        owner_slices(episodes, old),
        vectors,
        frames.session_numbers(episodes).to_numpy(),
        centroids,
        old["size"].to_numpy().astype(np.int64),
        policy.topics,
    )
    placed = episodes.with_columns(place=pl.Series(found.place)).filter(pl.col("place") >= 0)
    made = _new_topics(placed, old, space)
    names = pl.concat([old["topic_id"], made["topic_id"]])
    before = np.concatenate([old["size"].to_numpy(), np.zeros(made.height)]).astype(np.int64)
    flags = to_review(found, centroids, before, policy.topics)
    return Joined(
        _members(held, placed, names),
        _updated(old, made, placed, found),
        _decisions(made, found, policy),
        sorted(names.filter(pl.Series(flags))),
    )


def taking_part(held: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, Floats]:
    """Rows that say something and have a vector, and their (rows, dimensions) vectors."""
    says = held.select(frames.says_something(policy.importance.small_talk, policy.topics.min_bytes))
    vectors, has_vector = matrix(held["vector"])
    takes_part = says.to_series().to_numpy() & has_vector
    episodes = held.drop("vector", "content").filter(pl.Series(takes_part, dtype=pl.Boolean))
    return episodes, vectors[takes_part[has_vector]]


def centroids_of(topics: pl.DataFrame, vectors: Floats) -> Floats:
    """(topics, dimensions) float64.

    Raises:
        LakeError: Their dimensions are not those of the vectors.
    """
    centroids, has_one = matrix(topics["centroid"])
    width = vectors.shape[1] or centroids.shape[1]
    if not has_one.all() or (len(centroids) and centroids.shape[1] != width):
        odd = topics.filter(pl.Series(~has_one, dtype=pl.Boolean))["topic_id"].to_list()[:3]
        raise LakeError(
            f"topics: centroids of {centroids.shape[1]} dimensions and vectors of {vectors.shape[1]}, or none"
            f" at all ({len(topics) - len(centroids)} topics, {odd})",
            "Remove the topics of this vector space; the next night makes them anew.",
        )
    return centroids.reshape(len(topics), width).astype(np.float64)


def _new_topics(placed: pl.DataFrame, old: pl.DataFrame, space: str) -> pl.DataFrame:
    """A row for each new topic by place: id, scope, space and what decided it; nothing of its vectors."""
    joined = placed.filter(pl.col("place") >= old.height).sort("place", "event_at", "episode_id")
    rows = joined.group_by("place", maintain_order=True).agg(
        pl.col("tenant_id", "tenant_bucket", "owner").first(),
        frames.one_or_none("user_id"),
        frames.one_or_none("agent_id"),
        pl.col("episode_id"),
        decided_at=pl.col("ingested_at").max(),
    )
    taken = set(old["topic_id"])
    named = [
        frames.topic_id(taken, tenant, owner, space, episodes)
        for tenant, owner, episodes in rows.select(*OWNER, "episode_id").iter_rows()
    ]
    return rows.drop("episode_id").with_columns(
        topic_id=pl.Series(named, dtype=pl.String),
        label=pl.lit([], TOPIC_ROWS["label"]),
        space=pl.lit(space),
    )


def _members(held: pl.DataFrame, placed: pl.DataFrame, names: pl.Series) -> pl.DataFrame:
    topic = placed.select(*OWNER, "episode_id", topic_id=names.gather(placed["place"]))
    rows = held.select("episode_id", "tenant_id", "tenant_bucket", "owner")
    joined = rows.join(topic, on=[*OWNER, "episode_id"], how="left")
    return frames.filed(joined.with_columns(pl.col("topic_id").fill_null("")), MEMBER_ROWS, TOPIC_MEMBERS)


def _updated(old: pl.DataFrame, made: pl.DataFrame, placed: pl.DataFrame, found: Sorted) -> pl.DataFrame:
    """Old and new topics with the size, centroid, times and agent of all their members."""
    columns = [*OWNER, "tenant_bucket", "user_id", "agent_id", "topic_id", "label", "space"]
    times = old.select("first_event_at", "last_event_at")
    rows = pl.concat([old.select(columns), made.select(columns)])
    blank = pl.DataFrame(schema=times.schema).clear(made.height)
    joined = placed.group_by("place").agg(
        first=pl.col("event_at").min(),
        last=pl.col("event_at").max(),
        agents=pl.col("agent_id").unique(),
    )
    rows = pl.concat([rows, pl.concat([times, blank])], how="horizontal").with_row_index("place")
    rows = (
        rows.with_columns(pl.col("place").cast(pl.Int64)).join(joined, on="place", how="left").sort("place")
    )
    is_same = pl.col("agents").is_null() | (pl.col("agents") == pl.concat_list("agent_id"))
    rows = rows.with_columns(
        agent_id=pl.when(is_same).then("agent_id").otherwise(None),
        size=pl.Series(found.sizes),
        centroid=frames.as_vectors(found.centroids),
        first_event_at=pl.min_horizontal("first_event_at", "first"),
        last_event_at=pl.max_horizontal("last_event_at", "last"),
    )
    return frames.filed(rows, TOPIC_ROWS, TOPICS)


def _decisions(made: pl.DataFrame, found: Sorted, policy: Policy) -> pl.DataFrame:
    new = slice(len(found.sizes) - made.height, None)
    common = found.common[found.owner_of[new]]
    tight = cohesion(found.centroids[new], found.sizes[new], common).tolist()
    sizes, link = found.sizes[new].tolist(), policy.topics.link_cosine
    figures = [
        frames.evidence({"size": size, "mean_pair_cosine": cosine, "link_cosine": link})
        for size, cosine in zip(sizes, tight, strict=True)
    ]
    rows = made.with_columns(
        pl.lit("episodes_belong_together").alias("reason"),
        item_id=pl.col("topic_id"),
        item_kind=pl.lit("topic"),
        operation=pl.lit("ADD"),
        result_id=pl.col("topic_id"),
        other_id=pl.lit(None, pl.String),
        evidence=pl.Series(figures, dtype=pl.String),
    )
    return frames.filed(rows, DECISION_ROWS, DECISIONS)
