"""All episodes of some owners clustered at once, whatever nights they came in.

Night by night an episode joins what there is, so topics depend a little on how the episodes were cut into
nights. Clustered at once they do not; what was a topic before keeps its id where most of it is one topic
still.
"""

from __future__ import annotations

import polars as pl

from transforms.derived import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.policy import Policy
from transforms.topics import frames
from transforms.topics.frames import DECISION_ROWS, MEMBER_ROWS, OWNER, TOPIC_ROWS, WAITING
from transforms.topics.join import join
from transforms.topics.review import Reviewed, review

_NAME = ["tenant_id", "owner", "topic_id"]


def anew(episodes: pl.DataFrame, topics: pl.DataFrame, policy: Policy, space: str) -> Reviewed:
    """Topics of all episodes of some owners, as one night over all of them makes them.

    Done again with what it returned, it changes nothing.

    Args:
        episodes: ``frames.MEMBERS``: every episode of these owners; ``topic_id`` is the topic it was in,
            empty or null where it was in none.
        topics: TOPICS rows that stand for these owners; those of other spaces are passed over.
        policy: Sections topics and importance.
        space: Vector space of the vectors.

    Returns:
        All topics, members of all episodes, and an ADD for each topic that no topic became.

    Raises:
        LakeError: The vectors are of different lengths.
    """
    joined = join(episodes.select(WAITING.names()), topics.clear(), policy, space)
    placed = joined.members.select(*OWNER, "episode_id", "topic_id").filter(pl.col("topic_id") != "")
    rows = episodes.drop("topic_id").join(placed, on=[*OWNER, "episode_id"])
    done = review(joined.topics, rows, policy, space, under_review=joined.review)
    later = joined.members.join(done.members, on=[*OWNER, "episode_id"], how="anti")
    members = pl.concat([later, done.members])
    names = _names(members, episodes, topics.filter(pl.col("space") == space), space)
    added = pl.concat([joined.decisions, done.decisions]).filter(pl.col("operation") == "ADD")
    fresh = names.filter(pl.col("is_new"))
    decided = added.unique("item_id", keep="last").join(
        fresh, left_on=["tenant_id", "owner", "item_id"], right_on=_NAME, how="semi"
    )
    return Reviewed(
        frames.filed(_named(done.topics, names, ["topic_id"]), TOPIC_ROWS, TOPICS),
        frames.filed(_named(members, names, ["topic_id"]), MEMBER_ROWS, TOPIC_MEMBERS),
        frames.filed(_named(decided, names, ["item_id", "result_id", "other_id"]), DECISION_ROWS, DECISIONS),
    )


def _named(rows: pl.DataFrame, names: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Rows with the final ids of topics; what is no topic stays as it is."""
    known = dict(names.select("topic_id", "name").iter_rows())
    return rows.with_columns(pl.col(columns).replace(known))


def _names(members: pl.DataFrame, before: pl.DataFrame, topics: pl.DataFrame, space: str) -> pl.DataFrame:
    """By owner and ``topic_id`` its final ``name``, and whether that is a new one."""
    now = members.filter(pl.col("topic_id") != "").join(
        before.select(*OWNER, "episode_id", "event_at", old="topic_id"), on=[*OWNER, "episode_id"]
    )
    standing = topics.select(*OWNER, old="topic_id")
    shared = (
        now.join(standing, on=[*OWNER, "old"]).group_by(*_NAME, "old").agg(shared=pl.len().cast(pl.Int64))
    )
    sizes = now.group_by(_NAME).agg(size=pl.len())
    were = before.select(*OWNER, old="topic_id").group_by(*OWNER, "old").agg(was=pl.len())
    pairs = shared.join(sizes, on=_NAME).join(were, on=[*OWNER, "old"])
    # The greater part of one of the two, or it is another topic that happens to hold a few of its episodes.
    pairs = pairs.filter(2 * pl.col("shared") > pl.min_horizontal("size", "was"))
    # Sorted whole, so that no order of the input's decides between equals.
    kept = _matched(pairs.sort(-pl.col("shared"), "old", "topic_id", *OWNER))
    # A topic without any member is gone, as after its table was lost: its name is free for the same topic.
    taken = set(standing.join(were, on=[*OWNER, "old"], how="semi")["old"])
    found = []
    order = now.sort(*_NAME, "event_at", "episode_id").group_by(_NAME, maintain_order=True)
    for tenant, owner, topic, held in order.agg("episode_id").iter_rows():
        name = kept.get((tenant, owner, topic))
        made = name or frames.topic_id(taken, tenant, owner, space, held)
        found.append((tenant, owner, topic, made, name is None))
    schema = {**dict.fromkeys((*_NAME, "name"), pl.String()), "is_new": pl.Boolean()}
    return pl.DataFrame(found, schema=schema, orient="row")


def _matched(pairs: pl.DataFrame) -> dict[tuple[str, str, str], str]:
    """The old id of each topic that keeps one: the pair that shares most first, each of both once."""
    kept: dict[tuple[str, str, str], str] = {}
    gone: set[str] = set()
    for tenant, owner, topic, old in pairs.select(*_NAME, "old").iter_rows():
        if (tenant, owner, topic) not in kept and old not in gone:
            kept[tenant, owner, topic] = old
            gone.add(old)
    return kept
