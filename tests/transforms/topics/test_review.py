"""Topics looked at whole: labels, splits, merges, and members that are gone."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.topics.rows import NONE, SPACE, START, around, groups, policy, waiting, with_topics
from transforms import ids
from transforms.schemas import DECISIONS, TOPICS
from transforms.topics.frames import DECISION_ROWS, MEMBER_ROWS, TOPIC_ROWS
from transforms.topics.join import join
from transforms.topics.review import review

# A background would move with every topic: without one an angle is an angle.
FLAT = {"background_share": 0.0, "context_share": 0.0}


def topic_of(episode: str) -> str:
    return ids.row_id("t", "user:u", SPACE, episode)


def in_one_topic(*rows: dict[str, Any], first: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Topics and members: the rows in one topic made by ``first``, whatever they look like."""
    members = waiting(*rows).with_columns(topic_id=pl.lit(topic_of(first)))
    one = join(waiting(*around("seed", 0)), NONE, policy(), SPACE).topics
    return one.with_columns(topic_id=pl.lit(topic_of(first)), size=pl.lit(len(rows), pl.Int32)), members


def test_a_new_topic_gets_its_label_and_nothing_else_changes() -> None:
    rows = waiting(*around("a", 0, content="prune the roses"), *around("b", 120, content="knead the dough"))
    joined = join(rows, NONE, policy(), SPACE)
    done = review(joined.topics, with_topics(rows, joined.members), policy(), SPACE)
    assert dict(done.topics.select("topic_id", "label").rows()) == {
        topic_of("a0"): ["prune", "roses"],
        topic_of("b0"): ["dough", "knead"],
    }
    assert done.topics.drop("label", "centroid").equals(joined.topics.drop("label", "centroid"))
    assert done.members.equals(joined.members)
    assert done.decisions.is_empty()


def test_two_subjects_in_one_topic_are_split_and_the_largest_keeps_the_id() -> None:
    topics, members = in_one_topic(*around("a", 0, 3), *around("b", 130, 5), first="a0")
    done = review(topics, members, policy(**FLAT), SPACE)
    assert groups(done.members) == {
        frozenset(f"a{i}" for i in range(3)),
        frozenset(f"b{i}" for i in range(5)),
    }
    # Topic a0 lives on in the b rows; the a rows are named by their second episode, as their first is taken.
    assert dict(done.topics.select("topic_id", "size").rows()) == {topic_of("a0"): 5, topic_of("a1"): 3}
    decided = {row["item_id"]: row for row in done.decisions.to_dicts()}
    assert set(decided) == {topic_of("a0"), topic_of("a1")}
    kept, made = decided[topic_of("a0")], decided[topic_of("a1")]
    assert (kept["operation"], kept["reason"], kept["other_id"]) == (
        "SPLIT",
        "parts_lie_apart",
        topic_of("a1"),
    )
    assert (made["operation"], made["reason"], made["other_id"]) == (
        "ADD",
        "split_from_topic",
        topic_of("a0"),
    )
    figures = json.loads(kept["evidence"])
    assert figures["sizes"] == [5, 3]
    assert figures["mean_pair_cosine"] < figures["wide_cosine"]
    assert figures["closest_parts_cosine"] < figures["split_cosine"]
    assert kept["decided_at"] == START + timedelta(minutes=7)


def test_a_row_between_the_parts_goes_to_the_nearer_one() -> None:
    topics, members = in_one_topic(
        *around("a", 0, 4), *around("b", 100, 4), {"episode_id": "m", "degrees": 189}, first="a0"
    )
    done = review(topics, members, policy(**FLAT, join_cosine=0.5), SPACE)
    assert frozenset({"b0", "b1", "b2", "b3", "m"}) in groups(done.members)


@pytest.mark.parametrize(
    ("rows", "numbers", "looser"),
    [
        (
            (*around("a", 0, 3), *around("b", 80, 3)),
            {"wide_cosine": 0.9, "link_cosine": 0.5},
            {"split_cosine": 0.3},
        ),
        ((*around("a", 0, 4), *around("b", 150, 2)), {}, {"min_size": 2}),
        (
            (*around("a", 0, 4), *around("b", 60, 4)),
            {"link_cosine": 0.9, "split_cosine": 0.6},
            {"wide_cosine": 0.9},
        ),
    ],
    ids=["parts not far enough apart", "one part too small", "tight"],
)
def test_a_topic_stays_whole(
    rows: tuple[dict[str, Any], ...], numbers: dict[str, float], looser: dict[str, float]
) -> None:
    topics, members = in_one_topic(*rows, first="a0")
    done = review(topics, members, policy(**FLAT, **numbers), SPACE)
    assert done.topics["topic_id"].to_list() == [topic_of("a0")]
    assert done.decisions.is_empty()
    # That rule is what holds it: with another number there are two.
    assert review(topics, members, policy(**FLAT, **(numbers | looser)), SPACE).topics.height == 2


def two_topics(apart: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = waiting(*around("b", apart, 3), *around("a", 0, 4))
    joined = join(rows, NONE, policy(**FLAT, link_cosine=0.999, join_cosine=0.999), SPACE)
    return joined.topics, with_topics(rows, joined.members)


def test_two_topics_that_are_one_are_merged_into_the_older() -> None:
    topics, members = two_topics(20)
    done = review(topics, members, policy(**FLAT), SPACE)
    assert dict(done.topics.select("topic_id", "size").rows()) == {topic_of("b0"): 7}
    assert done.members["topic_id"].unique().to_list() == [topic_of("b0")]
    row = done.decisions.row(0, named=True)
    assert done.decisions.height == 1
    assert (row["item_id"], row["operation"], row["reason"]) == (topic_of("a0"), "MERGE", "centroids_close")
    assert (row["result_id"], row["other_id"]) == (topic_of("b0"), topic_of("a0"))
    assert json.loads(row["evidence"])["cosine"] >= policy().topics.merge_cosine
    expected = [sum(v[k] for v in members["vector"]) / 7 for k in range(3)]
    assert done.topics["centroid"][0].to_list() == pytest.approx(expected, abs=1e-6)


def test_a_merge_needs_both_topics_under_review() -> None:
    topics, members = two_topics(20)
    done = review(topics, members.filter(pl.col("topic_id") == topic_of("a0")), policy(**FLAT), SPACE)
    assert done.topics.height == 2
    contrast = review(topics, members, policy(**FLAT), SPACE, under_review=[topic_of("a0")])
    assert contrast.topics.height == 2
    assert contrast.decisions.is_empty()


def test_topics_apart_stay_two() -> None:
    topics, members = two_topics(80)
    assert review(topics, members, policy(**FLAT), SPACE).topics.height == 2


def test_of_a_chain_of_merges_each_is_said_to_end_in_the_last() -> None:
    rows = waiting(*around("a", 0), *around("b", 30), *around("c", 12))
    joined = join(rows, NONE, policy(**FLAT, link_cosine=0.999, join_cosine=0.999), SPACE)
    assert joined.topics.height == 3
    done = review(joined.topics, with_topics(rows, joined.members), policy(**FLAT), SPACE)
    assert done.topics["topic_id"].to_list() == [topic_of("a0")]
    assert done.decisions["result_id"].to_list() == [topic_of("a0")] * 2
    assert set(done.decisions["item_id"]) == {topic_of("b0"), topic_of("c0")}


def test_an_erased_member_leaves_size_centroid_and_times() -> None:
    topics, members = two_topics(80)
    left = members.filter(pl.col("episode_id") != "b0")
    done = review(topics, left, policy(**FLAT), SPACE).topics.filter(pl.col("topic_id") == topic_of("b0"))
    assert done["size"].to_list() == [2]
    assert done["first_event_at"].to_list() == [START + timedelta(minutes=1)]


def test_a_topic_under_review_without_members_is_gone() -> None:
    topics, members = two_topics(80)
    left = members.filter(pl.col("topic_id") == topic_of("a0"))
    both = topics["topic_id"].to_list()
    assert review(topics, left, policy(**FLAT), SPACE, under_review=both).topics["size"].to_list() == [4]
    assert review(topics, left, policy(**FLAT), SPACE).topics["size"].sort().to_list() == [3, 4]


def test_an_episode_whose_topic_does_not_stand_waits_again() -> None:
    topics, members = two_topics(80)
    done = review(topics.filter(pl.col("topic_id") == topic_of("a0")), members, policy(**FLAT), SPACE)
    waits = done.members.filter(pl.col("topic_id") == "")["episode_id"].to_list()
    assert waits == ["b0", "b1", "b2"]


def test_a_member_without_a_vector_follows_its_topic() -> None:
    topics, members = two_topics(20)
    blind = members.with_columns(
        vector=pl.when(pl.col("episode_id") == "a3").then(None).otherwise(pl.col("vector"))
    )
    done = review(topics, blind, policy(**FLAT), SPACE)
    assert done.members["topic_id"].unique().to_list() == [topic_of("b0")]
    assert done.topics["size"].to_list() == [6]


def test_owners_are_not_merged_and_topics_of_another_space_are_passed_over() -> None:
    mine, members = two_topics(80)
    theirs = waiting(*around("x", 0), owner="user:v")
    other = join(theirs, NONE, policy(**FLAT), SPACE)
    everyone = pl.concat([members, with_topics(theirs, other.members)])
    topics = pl.concat([mine, other.topics, mine.with_columns(space=pl.lit("old"))])
    done = review(topics, everyone, policy(**FLAT), SPACE)
    assert done.topics.height == 3
    assert done.topics["space"].unique().to_list() == [SPACE]


def test_frames_are_those_of_the_tables() -> None:
    topics, members = in_one_topic(*around("a", 0, 3), *around("b", 130, 5), first="a0")
    done = review(topics, members, policy(**FLAT), SPACE)
    assert (done.topics.schema, done.members.schema) == (TOPIC_ROWS, MEMBER_ROWS)
    assert done.decisions.schema == DECISION_ROWS
    for table, frame in ((TOPICS, done.topics), (DECISIONS, done.decisions)):
        table.conform(frame.with_columns(revision=pl.lit(1), is_removed=pl.lit(False)))
    nothing = review(NONE, members.clear(), policy(), SPACE)
    assert nothing.topics.is_empty()
    assert nothing.members.is_empty()
    assert nothing.decisions.is_empty()


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([0, 1, 25, 100, 101, 180, 200]), min_size=3, max_size=16),
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 0.85]),
)
def test_laws_of_a_review(angles: list[int], shuffler: random.Random, share: float) -> None:
    rules = policy(background_share=share)
    rows = waiting(
        *(
            {"episode_id": f"e{i:02}", "degrees": a + 0.013 * i, "session_id": f"s{i % 3}"}
            for i, a in enumerate(angles)
        )
    )
    joined = join(rows, NONE, policy(link_cosine=0.9, join_cosine=0.9), SPACE)
    members = with_topics(rows, joined.members)
    done = review(joined.topics, members, rules, SPACE)
    order = list(range(members.height))
    shuffler.shuffle(order)
    shuffled = review(joined.topics, members[order], rules, SPACE)
    assert done.topics.equals(shuffled.topics)
    assert done.members.equals(shuffled.members)
    assert done.decisions.equals(shuffled.decisions)
    # Each member is in one living topic, and what moved has its decision.
    before = dict(members.select("episode_id", "topic_id").rows())
    after = dict(done.members.select("episode_id", "topic_id").rows())
    assert set(after) == set(before)
    assert set(after.values()) == set(done.topics["topic_id"])
    decided = {row["item_id"]: row for row in done.decisions.to_dicts()}
    for episode, topic in after.items():
        if topic != before[episode]:
            merged, split = decided.get(before[episode], {}), decided.get(topic, {})
            assert merged.get("result_id") == topic or split.get("other_id") == before[episode]
