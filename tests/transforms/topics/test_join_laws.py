"""Laws of joining, on drawn rows of several owners."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.topics.rows import NONE, SPACE, policy, waiting
from transforms.topics.join import Joined, join

OWNERS = [("t", "user:u"), ("t", "user:v"), ("s", "user:u"), ("t", "agent:u")]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(OWNERS),
        st.sampled_from([0, 1, 2, 60, 61, 62, 118, 120, 240, None]),
        st.sampled_from(["one", "two", None]),
        st.sampled_from([0.5, 0.1]),
    ),
    max_size=24,
)


def drawn_rows(drawn: list[tuple[Any, ...]], first: int = 0) -> pl.DataFrame:
    rows = []
    for i, ((tenant, owner), degrees, session, importance) in enumerate(drawn, start=first):
        row = {"episode_id": f"e{i:02}", "tenant_id": tenant, "owner": owner, "session_id": session}
        row |= {"importance": importance, "agent_id": f"agent{i % 2}"}
        rows.append(row if degrees is None else row | {"degrees": degrees + 0.013 * i})
    return waiting(*rows)


def same(one: Joined, other: Joined) -> bool:
    return (
        one.members.equals(other.members)
        and one.topics.equals(other.topics)
        and one.decisions.equals(other.decisions)
        and one.review == other.review
    )


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_order_decides_nothing(drawn: list[tuple[Any, ...]], shuffler: random.Random) -> None:
    rows = drawn_rows(drawn)
    order = list(range(rows.height))
    shuffler.shuffle(order)
    assert same(join(rows, NONE, policy(), SPACE), join(rows[order], NONE, policy(), SPACE))


@settings(max_examples=40)
@given(ROWS)
def test_every_row_is_accounted_for_once_and_small_talk_waits(drawn: list[tuple[Any, ...]]) -> None:
    rows = drawn_rows(drawn)
    joined = join(rows, NONE, policy(), SPACE)
    assert sorted(joined.members["episode_id"]) == rows["episode_id"].to_list()
    placed = joined.members.filter(pl.col("topic_id") != "").join(rows, on="episode_id")
    assert (placed["importance"] > 0.1).all()
    assert placed["vector"].null_count() == 0
    sizes = dict(placed.group_by("topic_id").len().rows())
    assert sizes == dict(joined.topics.select("topic_id", "size").rows())
    assert set(joined.decisions["item_id"]) == set(sizes)
    assert all(size >= policy().topics.min_size for size in sizes.values())


@settings(max_examples=40)
@given(ROWS)
def test_joining_again_changes_nothing(drawn: list[tuple[Any, ...]]) -> None:
    rows = drawn_rows(drawn)
    joined = join(rows, NONE, policy(), SPACE)
    left = rows.join(joined.members.filter(pl.col("topic_id") == ""), on="episode_id", how="semi")
    again = join(left, joined.topics, policy(), SPACE)
    assert again.members["topic_id"].unique().to_list() in ([""], [])
    assert again.decisions.is_empty()
    assert again.review == []
    kept = joined.topics.join(left, on=["tenant_id", "owner"], how="semi")
    assert again.topics.drop("centroid").equals(kept.drop("centroid"))


@settings(max_examples=40)
@given(ROWS)
def test_owners_together_are_owners_alone(drawn: list[tuple[Any, ...]]) -> None:
    rows = drawn_rows(drawn)
    together = join(rows, NONE, policy(), SPACE)
    for tenant, owner in OWNERS:
        its = (pl.col("tenant_id") == tenant) & (pl.col("owner") == owner)
        alone = join(rows.filter(its), NONE, policy(), SPACE)
        assert together.members.filter(its).equals(alone.members)
        assert together.topics.filter(its).equals(alone.topics)
        assert together.decisions.filter(its).equals(alone.decisions)


@settings(max_examples=40)
@given(ROWS, ROWS)
def test_centroid_size_and_times_are_the_oracles(
    tonight: list[tuple[Any, ...]], tomorrow: list[tuple[Any, ...]]
) -> None:
    first, more = drawn_rows(tonight), drawn_rows(tomorrow, first=len(tonight))
    old = join(first, NONE, policy(), SPACE)
    left = first.join(old.members.filter(pl.col("topic_id") == ""), on="episode_id", how="semi")
    new = join(pl.concat([left, more]), old.topics, policy(), SPACE)
    stood = old.members.filter(pl.col("topic_id") != "")
    everyone = pl.concat([stood, new.members.filter(pl.col("topic_id") != "")])
    members = everyone.join(pl.concat([first, more]), on="episode_id").to_dicts()
    for topic in new.topics.to_dicts():
        held = [row for row in members if row["topic_id"] == topic["topic_id"]]
        assert topic["size"] == len(held)
        mean = [sum(row["vector"][k] for row in held) / len(held) for k in range(3)]
        assert topic["centroid"] == pytest.approx(mean, abs=1e-6)
        assert topic["first_event_at"] == min(row["event_at"] for row in held)
        assert topic["last_event_at"] == max(row["event_at"] for row in held)
        agents = {row["agent_id"] for row in held}
        assert topic["agent_id"] == (agents.pop() if len(agents) == 1 else None)
        assert {(row["tenant_id"], row["owner"]) for row in held} == {(topic["tenant_id"], topic["owner"])}
