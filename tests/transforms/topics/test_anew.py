"""All episodes clustered at once: whatever nights they came in, and with the ids that topics had."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.topics.rows import NONE, SPACE, around, groups, policy, waiting, with_topics
from tests.transforms.topics.test_join_laws import ROWS, drawn_rows
from transforms.schemas import TOPICS
from transforms.topics.anew import anew
from transforms.topics.frames import MEMBERS
from transforms.topics.join import join
from transforms.topics.review import Reviewed, review


def named(episodes: pl.DataFrame, members: pl.DataFrame | None = None) -> pl.DataFrame:
    """``MEMBERS`` of all episodes, with the topics they were in."""
    if members is None:
        return episodes.with_columns(topic_id=pl.lit(None, pl.String)).select(MEMBERS.names())
    known = members.select("tenant_id", "owner", "episode_id", "topic_id")
    return episodes.join(known, on=["tenant_id", "owner", "episode_id"], how="left").select(MEMBERS.names())


def night(episodes: pl.DataFrame, topics: pl.DataFrame, members: pl.DataFrame) -> Reviewed:
    """One night over new episodes, as consolidation goes about it."""
    idle = episodes.join(
        members.filter(pl.col("topic_id") != ""), on=["tenant_id", "owner", "episode_id"], how="anti"
    )
    joined = join(idle, topics, policy(), SPACE)
    others = topics.join(joined.topics, on=["tenant_id", "owner"], how="anti").select(joined.topics.columns)
    every = pl.concat([joined.topics, others])
    kept = members.join(joined.members, on=["tenant_id", "owner", "episode_id"], how="anti")
    now = pl.concat([kept, joined.members])
    rows = with_topics(episodes, now)
    done = review(every, rows, policy(), SPACE, under_review=joined.review)
    now = pl.concat(
        [now.join(done.members, on=["tenant_id", "owner", "episode_id"], how="anti"), done.members]
    )
    return Reviewed(done.topics, now, done.decisions)


def nights(parts: list[pl.DataFrame]) -> tuple[pl.DataFrame, Reviewed]:
    """All episodes, and their topics after a night over each part."""
    topics = NONE.select(c for c in TOPICS.names if c not in ("revision", "is_removed"))
    nothing = named(parts[0].clear())
    done = Reviewed(
        topics,
        nothing.select("episode_id", "tenant_id", "tenant_bucket", "owner", "topic_id"),
        pl.DataFrame(),
    )
    held = parts[0].clear()
    for part in parts:
        held = pl.concat([held, part])
        done = night(held, done.topics, done.members)
    return held, done


@settings(max_examples=30)
@given(ROWS, ROWS)
def test_however_the_rows_were_cut_the_topics_are_those_of_one_night(
    drawn: list[tuple[Any, ...]], more: list[tuple[Any, ...]]
) -> None:
    parts = [drawn_rows(drawn), drawn_rows(more, first=len(drawn))]
    episodes, done = nights(parts)
    at_once = nights([episodes])[1]
    found = anew(named(episodes, done.members), done.topics, policy(), SPACE)
    assert groups(found.members) == groups(at_once.members)
    assert sorted(found.members["episode_id"]) == sorted(episodes["episode_id"])


@settings(max_examples=30)
@given(ROWS, ROWS)
def test_done_again_it_changes_nothing(drawn: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    episodes, done = nights([drawn_rows(drawn), drawn_rows(more, first=len(drawn))])
    once = anew(named(episodes, done.members), done.topics, policy(), SPACE)
    twice = anew(named(episodes, once.members), once.topics, policy(), SPACE)
    assert twice.members.equals(once.members)
    assert twice.topics.equals(once.topics)
    assert twice.decisions.is_empty()


@settings(max_examples=30)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_decides_nothing_and_ids_are_of_one_topic(drawn: list[tuple[Any, ...]], shuffler: Any) -> None:
    episodes, done = nights([drawn_rows(drawn)])
    order = list(range(episodes.height))
    shuffler.shuffle(order)
    rows = named(episodes, done.members)
    one, other = (anew(some, done.topics, policy(), SPACE) for some in (rows, rows[order]))
    assert one.members.equals(other.members)
    assert one.topics.equals(other.topics)
    assert one.topics.select("tenant_id", "owner", "topic_id").is_unique().all()
    used = one.members.filter(pl.col("topic_id") != "")["topic_id"]
    assert set(used) == set(one.topics["topic_id"])


def test_a_topic_keeps_its_id_where_most_of_it_stays_and_a_new_one_is_told() -> None:
    """Three rows and five were one topic by hand; they are two, and the five keep the id."""
    episodes = waiting(*around("a", 0, 5, session_id="s"), *around("b", 120, 3, session_id="r"))
    held = named(episodes).with_columns(topic_id=pl.lit("old"))
    first = join(episodes, NONE, policy(), SPACE).topics.head(1)
    topics = first.with_columns(topic_id=pl.lit("old"), size=pl.lit(8, first.schema["size"]))
    found = anew(held, topics, policy(), SPACE)
    assert groups(found.members) == {
        frozenset(f"a{i}" for i in range(5)),
        frozenset(f"b{i}" for i in range(3)),
    }
    kept = found.members.filter(pl.col("topic_id") == "old")["episode_id"]
    assert sorted(kept) == [f"a{i}" for i in range(5)]
    (made,) = set(found.topics["topic_id"]) - {"old"}
    assert found.decisions.select("item_id", "operation", "result_id").rows() == [(made, "ADD", made)]


def test_topics_of_another_vector_space_are_passed_over() -> None:
    episodes = waiting(*around("a", 0, 4))
    done = nights([episodes])[1]
    others = done.topics.with_columns(space=pl.lit("elsewhere"), topic_id=pl.lit("theirs"))
    held = named(episodes, done.members).with_columns(topic_id=pl.lit("theirs"))
    found = anew(held, others, policy(), SPACE)
    assert groups(found.members) == groups(done.members)
    assert "theirs" not in set(found.topics["topic_id"])
    assert found.decisions["operation"].to_list() == ["ADD"]


def test_no_episodes_are_no_topics() -> None:
    topics = nights([waiting(*around("a", 0, 4))])[1].topics
    found = anew(named(waiting()), topics, policy(), SPACE)
    assert found.topics.is_empty()
    assert found.members.is_empty()
