"""Topics looked at whole: labelled, split where they are two, merged where two are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from transforms.derived import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.policy import Policy
from transforms.topics import frames
from transforms.topics.clusters import sums_of
from transforms.topics.desk import Desk
from transforms.topics.frames import DECISION_ROWS, MEMBER_ROWS, OWNER, TOPIC_ROWS
from transforms.topics.labels import labels
from transforms.topics.sorting import owner_slices
from transforms.topics.vectors import Flags


@dataclass(frozen=True)
class Reviewed:
    """Topics after the review; frames without revision columns, sorted as their tables are.

    Attributes:
        topics: TOPICS, all that were given and still live, and the new parts.
        members: TOPIC_MEMBERS of the episodes that were given.
        decisions: DECISIONS: SPLIT and MERGE, and ADD for each new part.
    """

    topics: pl.DataFrame
    members: pl.DataFrame
    decisions: pl.DataFrame


def review(
    topics: pl.DataFrame,
    members: pl.DataFrame,
    policy: Policy,
    space: str,
    *,
    under_review: Sequence[str] | None = None,
) -> Reviewed:
    """Look at whole topics: sizes, centroids, times and labels anew, splits and merges with their reasons.

    Args:
        topics: TOPICS rows that stand for the owners of the members; those of other spaces are passed over.
        members: ``frames.MEMBERS``: all episodes of the topics under review. One whose topic does not stand
            waits again; one without a vector follows its topic and does not count in it.
        policy: Section topics.
        space: Vector space of the vectors.
        under_review: Ids of these topics; by default those that have members here. Members of further
            topics make labels more distinctive and change nothing else. A topic under review without
            any member is gone.

    Raises:
        LakeError: The vectors are of another length than the centroids of their space.
    """
    old = frames.filed(topics.filter(pl.col("space") == space), TOPIC_ROWS, TOPICS)
    given = frames.in_order(members.select(pl.col(n).cast(t) for n, t in frames.MEMBERS.items()))
    known = old.select(*OWNER, "topic_id").with_row_index("place")
    held = given.join(known, on=[*OWNER, "topic_id"], how="inner", maintain_order="left")
    names = held["topic_id"].unique() if under_review is None else pl.Series(under_review, dtype=pl.String)
    is_reviewed = old["topic_id"].is_in(names.implode()).to_numpy()
    desk = Desk.laid(held, old, is_reviewed, policy, space)
    for rows, group in owner_slices(held, old):
        if is_reviewed[group].any():
            desk.go_through(rows, group)
    named = held.with_columns(topic_id=pl.Series(desk.names, dtype=pl.String).gather(desk.place))
    return Reviewed(
        _after(old, named, is_reviewed, desk, policy.topics.label_terms),
        _members(given, named),
        frames.filed(
            pl.DataFrame(desk.decisions, schema=DECISION_ROWS, orient="row"), DECISION_ROWS, DECISIONS
        ),
    )


def _members(given: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    rows = given.select("episode_id", "tenant_id", "tenant_bucket", "owner")
    topic = named.select(*OWNER, "episode_id", "topic_id")
    joined = rows.join(topic, on=[*OWNER, "episode_id"], how="left")
    return frames.filed(joined.with_columns(pl.col("topic_id").fill_null("")), MEMBER_ROWS, TOPIC_MEMBERS)


def _after(
    old: pl.DataFrame, named: pl.DataFrame, is_reviewed: Flags, desk: Desk, terms: int
) -> pl.DataFrame:
    """Topics that were not under review as they were, the others from their members."""
    standing = old.filter(pl.Series(~is_reviewed, dtype=pl.Boolean))
    counted = named.with_columns(place=pl.Series(desk.place)).filter(pl.Series(desk.has_vector))
    counted = counted.filter(~pl.col("topic_id").is_in(standing["topic_id"].implode()))
    rows = counted.group_by("place").agg(
        pl.col(*OWNER, "tenant_bucket", "topic_id").first(),
        frames.one_or_none("user_id"),
        frames.one_or_none("agent_id"),
        size=pl.len(),
        first_event_at=pl.col("event_at").min(),
        last_event_at=pl.col("event_at").max(),
    )
    rows = rows.sort("place").with_columns(space=pl.lit(desk.space))
    sums, sizes = sums_of(desk.vectors, desk.place[desk.has_vector], len(desk.names))
    at = rows["place"].to_numpy()
    rows = rows.with_columns(centroid=frames.as_vectors(sums[at] / sizes[at, None]))
    others = standing.join(named, on="topic_id", how="anti").select(*OWNER, "topic_id", "label")
    made = labels(named.select(*OWNER, "topic_id", "episode_id", "content"), others, terms)
    rows = frames.filed(rows.join(made, on="topic_id"), TOPIC_ROWS, TOPICS)
    return pl.concat([standing, rows]).sort(TOPICS.sort_by)
