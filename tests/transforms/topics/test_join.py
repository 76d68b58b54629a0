"""Episodes join topics, or become one, or wait."""

from __future__ import annotations

import json
from datetime import timedelta

import polars as pl
import pytest

from tests.transforms.topics.rows import (
    NONE,
    SAID,
    SPACE,
    START,
    around,
    groups,
    policy,
    waiting,
    with_topics,
)
from transforms import ids
from transforms.derived import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.errors import LakeError
from transforms.topics.frames import DECISION_ROWS, MEMBER_ROWS, TOPIC_ROWS
from transforms.topics.join import join

THREE = (*around("a", 0), *around("b", 90), *around("c", 180))


def test_what_belongs_together_becomes_a_topic_and_what_fits_none_waits() -> None:
    rows = waiting(*THREE, {"episode_id": "lone", "vector": [0.0, 0.0, 1.0]})
    joined = join(rows, NONE, policy(), SPACE)
    assert groups(joined.members) == {frozenset(f"{n}{i}" for i in range(3)) for n in "abc"}
    assert joined.members.filter(pl.col("topic_id") == "")["episode_id"].to_list() == ["lone"]
    assert joined.review == sorted(joined.topics["topic_id"])


def test_frames_are_those_of_the_tables() -> None:
    joined = join(waiting(*THREE), NONE, policy(), SPACE)
    assert joined.members.schema == MEMBER_ROWS
    assert joined.topics.schema == TOPIC_ROWS
    assert joined.decisions.schema == DECISION_ROWS
    assert joined.members.equals(joined.members.sort(TOPIC_MEMBERS.sort_by))
    for table, frame in ((TOPICS, joined.topics), (DECISIONS, joined.decisions)):
        table.conform(frame.with_columns(revision=pl.lit(1), is_removed=pl.lit(False)))


def test_the_id_is_of_the_first_member_by_time() -> None:
    late = waiting({"episode_id": "a9", "degrees": 0.0})
    first = late.with_columns(event_at=pl.lit(START - timedelta(days=1)), episode_id=pl.lit("z"))
    joined = join(pl.concat([waiting(*THREE), first.cast(dict(late.schema))]), NONE, policy(), SPACE)
    row = joined.topics.filter(pl.col("size") == 4).row(0, named=True)
    assert row["topic_id"] == ids.row_id("t", "user:u", SPACE, "z")
    assert row["first_event_at"] == START - timedelta(days=1)
    assert row["last_event_at"] == START + timedelta(minutes=2)


def test_each_new_topic_has_its_decision_with_figures() -> None:
    decided = join(waiting(*THREE), NONE, policy(), SPACE).decisions
    assert decided.height == 3
    row = decided.filter(pl.col("item_id") == ids.row_id("t", "user:u", SPACE, "b0")).row(0, named=True)
    assert (row["item_kind"], row["operation"], row["reason"]) == ("topic", "ADD", "episodes_belong_together")
    assert row["result_id"] == row["item_id"]
    assert row["decided_at"] == START + timedelta(minutes=5)  # b2 was the last to enter the lake
    figures = json.loads(row["evidence"])
    assert figures["size"] == 3
    assert figures["mean_pair_cosine"] >= figures["link_cosine"] == policy().topics.link_cosine


def test_new_episodes_join_the_old_topic() -> None:
    old = join(waiting(*THREE), NONE, policy(), SPACE)
    joined = join(waiting(*around("n", 91, 2)), old.topics, policy(), SPACE)
    b = ids.row_id("t", "user:u", SPACE, "b0")
    assert joined.members["topic_id"].to_list() == [b, b]
    assert dict(joined.topics.select("topic_id", "size").rows())[b] == 5
    assert joined.topics.height == 3
    assert joined.decisions.is_empty()


def test_two_wait_until_there_are_three() -> None:
    pair = waiting(*THREE, *around("d", 270, 2))
    first = join(pair, NONE, policy(), SPACE)
    left = pair.join(first.members.filter(pl.col("topic_id") == ""), on="episode_id", how="semi")
    assert left["episode_id"].to_list() == ["d0", "d1"]
    second = join(
        pl.concat([left, waiting({"episode_id": "e", "degrees": 271})]), first.topics, policy(), SPACE
    )
    assert groups(second.members) == {frozenset({"d0", "d1", "e"})}
    assert second.topics.height == 4


@pytest.mark.parametrize(
    "odd",
    [
        {"importance": 0.1},
        {"content": "Ok then."},
        {"content": None},
        {"vector": None},
        {"vector": []},
        {"vector": [0.0, 0.0, 0.0]},
        {"vector": [float("nan"), 1.0, 0.0]},
        {"vector": [1.0, 0.0]},
    ],
    ids=str,
)
def test_what_says_nothing_or_has_no_vector_waits(odd: dict[str, object]) -> None:
    joined = join(waiting(*THREE, {"episode_id": "odd", "degrees": 0, **odd}), NONE, policy(), SPACE)
    assert joined.members.filter(pl.col("topic_id") == "")["episode_id"].to_list() == ["odd"]
    assert joined.topics["size"].to_list() == [3, 3, 3]


def test_a_short_text_of_chinese_says_enough() -> None:
    rows = waiting(*THREE, {"episode_id": "odd", "degrees": 0, "content": "番茄浇水"})
    assert join(rows, NONE, policy(), SPACE).members.filter(pl.col("topic_id") == "").is_empty()


def test_rows_without_any_vector_all_wait() -> None:
    joined = join(waiting({"episode_id": "a"}, {"episode_id": "b"}), NONE, policy(), SPACE)
    assert joined.members["topic_id"].to_list() == ["", ""]
    assert joined.topics.is_empty()


def test_nothing_in_nothing_out() -> None:
    joined = join(waiting(), NONE, policy(), SPACE)
    assert joined.members.is_empty()
    assert joined.topics.is_empty()
    assert joined.decisions.is_empty()
    assert joined.review == []


@pytest.mark.parametrize("other", [{"owner": "user:v"}, {"tenant_id": "u"}], ids=str)
def test_owners_and_tenants_never_meet(other: dict[str, str]) -> None:
    rows = pl.concat(
        [waiting(*THREE), waiting(*around("x", 0), *around("y", 90), *around("z", 180), **other)]
    )
    joined = join(rows, NONE, policy(), SPACE)
    assert len(groups(joined.members)) == 6
    # Two rows each of which is alone with its owner: no topic, though they would fit together.
    apart = pl.concat([waiting(*around("x", 0, 2)), waiting(*around("y", 0, 2), **other)])
    assert groups(join(apart, NONE, policy(), SPACE).members) == set()
    foreign = join(
        waiting(*around("x", 0), *around("y", 90), *around("z", 180), **other), NONE, policy(), SPACE
    )
    alone = join(waiting({"episode_id": "n", "degrees": 0.1}), foreign.topics, policy(), SPACE)
    assert alone.members["topic_id"].to_list() == [""]
    assert alone.topics.is_empty()


def test_another_vector_space_starts_anew() -> None:
    old = join(waiting(*THREE), NONE, policy(), SPACE)
    anew = join(waiting(*THREE), old.topics, policy(), "other")
    assert anew.topics["space"].unique().to_list() == ["other"]
    assert anew.topics.height == 3
    assert set(anew.topics["topic_id"]).isdisjoint(old.topics["topic_id"])


def test_centroids_of_other_dimensions_are_refused() -> None:
    old = join(waiting(*THREE), NONE, policy(), SPACE).topics
    flat = waiting({"episode_id": "n", "degrees": 0}).with_columns(
        vector=pl.lit([1.0, 0.0], pl.List(pl.Float32))
    )
    with pytest.raises(LakeError, match="3 dimensions and vectors of 2"):
        join(flat, old, policy(), SPACE)


def test_agent_and_user_of_a_topic_are_those_of_all_its_episodes() -> None:
    rows = [*around("a", 0), *around("b", 90, agent_id="other"), *around("c", 180, 2)]
    joined = join(
        waiting(*rows, {"episode_id": "c9", "degrees": 180, "agent_id": None}), NONE, policy(), SPACE
    )
    agents = {
        i: joined.topics.filter(pl.col("topic_id") == ids.row_id("t", "user:u", SPACE, f"{i}0"))
        for i in "abc"
    }
    assert [agents[i]["agent_id"][0] for i in "abc"] == ["desk", "other", None]
    assert joined.topics["user_id"].unique().to_list() == ["u"]
    later = join(
        waiting({"episode_id": "n", "degrees": 90, "agent_id": "desk"}), joined.topics, policy(), SPACE
    )
    named = later.topics.filter(pl.col("topic_id") == agents["b"]["topic_id"][0])
    assert named["agent_id"].to_list() == [None]


def test_a_turn_takes_the_topic_of_the_turns_around_it() -> None:
    spoken = [{"episode_id": f"s{i}", "degrees": i / 10, "session_id": "s"} for i in range(4)]
    spoken[2]["vector"] = [0.0, 0.0, 1.0]
    rows = [*around("b", 90), *around("c", 180)]
    near = join(waiting(*rows, *spoken), NONE, policy(context_share=1.0), SPACE)
    assert frozenset({"s0", "s1", "s2", "s3"}) in groups(near.members)
    alone = join(waiting(*rows, *spoken), NONE, policy(context_share=0.0), SPACE)
    assert frozenset({"s0", "s1", "s3"}) in groups(alone.members)


def test_topics_are_reviewed_when_they_have_grown_by_half() -> None:
    old = join(waiting(*THREE), NONE, policy(), SPACE).topics
    steps = []
    for night in range(6):
        joined = join(waiting({"episode_id": f"n{night}", "degrees": 0.1}), old, policy(), SPACE)
        steps.append(len(joined.review))
        old = joined.topics
    # 3 -> 9: powers of 1.5 are passed at 3.4, 5.1 and 7.6
    assert steps == [1, 0, 1, 0, 1, 0]


def test_topics_that_come_close_are_both_reviewed() -> None:
    rules = policy(merge_cosine=0.7, relabel_growth=1_000.0, background_share=0.0)
    old = join(waiting(*THREE), NONE, rules, SPACE).topics
    drifted = waiting(*around("n", 70, 9), *around("m", 40, 9))
    joined = join(drifted, old, rules, SPACE)
    assert joined.topics.height == 3
    assert len(joined.review) == 2
    assert ids.row_id("t", "user:u", SPACE, "c0") not in joined.review


def test_topics_that_were_close_already_are_not_reviewed_every_night() -> None:
    rules = policy(merge_cosine=0.7, relabel_growth=1_000.0, background_share=0.0)
    old = join(waiting(*THREE), NONE, rules, SPACE).topics
    close = join(waiting(*around("n", 70, 9), *around("m", 40, 9)), old, rules, SPACE)
    assert len(close.review) == 2
    again = join(waiting({"episode_id": "x", "degrees": 40}), close.topics, rules, SPACE)
    assert again.members["topic_id"].to_list() != [""]
    assert again.review == []


def test_a_topic_that_becomes_wide_is_reviewed_once() -> None:
    rules = policy(relabel_growth=1_000.0, background_share=0.0, wide_cosine=0.6, join_cosine=0.1)
    old = join(waiting(*around("a", 0), *around("c", 180)), NONE, rules, SPACE).topics
    wide = join(waiting(*around("n", 80)), old, rules, SPACE)
    assert wide.topics["size"].sort().to_list() == [3, 6]
    assert wide.review == [ids.row_id("t", "user:u", SPACE, "a0")]
    again = join(waiting({"episode_id": "x", "degrees": 20}), wide.topics, rules, SPACE)
    assert again.topics["size"].sort().to_list() == [3, 7]
    assert again.review == []


def test_members_of_topics_are_ready_for_a_review() -> None:
    rows = waiting(*THREE)
    joined = join(rows, NONE, policy(), SPACE)
    assert with_topics(rows, joined.members).height == 9
    assert SAID in with_topics(rows, joined.members)["content"]
