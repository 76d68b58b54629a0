"""Planted topics are found: among vectors, among conversations, night after night."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from benchmarks.topics_data import NO_TOPIC, adjusted_rand, planted_texts, planted_vectors
from lake.embedders.config import EmbedderConfig, make_embedder
from tests.transforms.topics.rows import NONE, SPACE, policy, with_topics
from transforms.topics.join import join
from transforms.topics.review import review

SUBJECTS = 8


def rands(planted: pl.DataFrame, members: pl.DataFrame) -> list[float]:
    """Adjusted Rand index of each owner over turns about a subject; one that waits is a topic of its own."""
    found = members.select("episode_id", "topic_id")
    rows = planted.select("tenant_id", "owner", "episode_id", "planted").join(found, on="episode_id")
    rows = rows.filter(~pl.col("planted").is_in(NO_TOPIC))
    topic = pl.when(pl.col("topic_id") == "").then("episode_id").otherwise("topic_id")
    return [
        adjusted_rand(group["planted"].to_list(), group.select(topic).to_series().to_list())
        for _, group in rows.group_by("tenant_id", "owner", maintain_order=True)
    ]


@pytest.fixture(scope="module")
def conversations() -> pl.DataFrame:
    embedder = make_embedder(EmbedderConfig())
    return planted_texts(3, SUBJECTS, 250, seed=3, embed=lambda texts: embedder.embed(texts).vectors)


def test_adjusted_rand_index() -> None:
    assert adjusted_rand([1, 1, 2, 2], ["b", "b", "a", "a"]) == 1.0
    assert adjusted_rand([1, 1, 2, 2], [1, 2, 1, 2]) == pytest.approx(-0.5)
    assert adjusted_rand([1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3]) == pytest.approx(8 / 33)


@pytest.mark.parametrize("direct_rows", [2_000, 300], ids=["linked", "cells"])
def test_planted_vectors_are_found(direct_rows: int) -> None:
    rows = planted_vectors(2, 600, 10, noise=0.1, seed=5)
    found = join(rows.drop("planted"), NONE, policy(direct_rows=direct_rows), SPACE)
    topical = rows.filter(pl.col("planted") >= 0).with_columns(pl.col("planted").cast(pl.String))
    assert min(rands(topical, found.members)) >= 0.95
    noise = rows.filter(pl.col("planted") < 0).join(found.members, on="episode_id")
    assert noise.filter(pl.col("topic_id") == "").height >= 0.5 * noise.height


def test_cells_do_not_depend_on_order_or_threads() -> None:
    import faiss

    rows = planted_vectors(1, 800, 8, noise=0.1, seed=6, width=64).drop("planted")
    threads = faiss.omp_get_max_threads()
    found = []
    try:
        for count, seed in ((1, 1), (2, 2), (4, 3)):
            faiss.omp_set_num_threads(count)
            shuffled = rows.sample(fraction=1.0, shuffle=True, seed=seed)
            found.append(join(shuffled, NONE, policy(direct_rows=300), SPACE))
    finally:
        faiss.omp_set_num_threads(threads)
    assert found[0].members.equals(found[1].members)
    assert found[0].members.equals(found[2].members)


def test_subjects_of_conversations_are_found(conversations: pl.DataFrame) -> None:
    found = join(conversations.drop("planted"), NONE, policy(), SPACE)
    assert min(rands(conversations, found.members)) >= 0.8
    small_talk = conversations.filter(pl.col("importance") <= 0.1).join(found.members, on="episode_id")
    assert small_talk.height > 30
    assert small_talk["topic_id"].unique().to_list() == [""]


def test_without_sessions_most_subjects_are_still_found(conversations: pl.DataFrame) -> None:
    alone = conversations.with_columns(session_id=pl.lit(None, pl.String))
    found = join(alone.drop("planted"), NONE, policy(), SPACE)
    assert np.mean(rands(conversations, found.members)) >= 0.8


def chain(decisions: list[dict[str, Any]], start: str) -> set[str]:
    """Topics in which an episode of ``start`` may be, by the decisions."""
    reached, fresh = {start}, {start}
    while fresh:
        merged = {d["result_id"] for d in decisions if d["operation"] == "MERGE" and d["item_id"] in fresh}
        parts = {
            d["item_id"] for d in decisions if d["reason"] == "split_from_topic" and d["other_id"] in fresh
        }
        fresh = (merged | parts) - reached
        reached |= fresh
    return reached


def test_ten_nights_move_no_episode_without_a_decision(conversations: pl.DataFrame) -> None:
    rows = conversations.drop("planted").sort("event_at", "episode_id")
    night = rows.select(pl.int_range(pl.len()) * 10 // pl.len()).to_series()
    topics, members, moves = NONE, pl.DataFrame(schema={"episode_id": pl.String, "topic_id": pl.String}), 0
    for number in range(10):
        placed = members.filter(pl.col("topic_id") != "")
        waiting = rows.filter(night <= number).join(placed, on="episode_id", how="anti")
        joined = join(waiting, topics, policy(), SPACE)
        kept = topics.join(joined.topics, on=["tenant_id", "owner"], how="anti").select(joined.topics.columns)
        now = pl.concat([placed, joined.members.select("episode_id", "topic_id")])
        full = rows.filter(night <= number).join(now, on="episode_id")
        seen = full.filter(pl.col("topic_id").is_in(joined.review))
        done = review(pl.concat([kept, joined.topics]), seen, policy(), SPACE)
        topics = done.topics
        members = pl.concat(
            [
                now.join(done.members, on="episode_id", how="anti"),
                done.members.select("episode_id", "topic_id"),
            ]
        )
        decided = done.decisions.to_dicts()
        before, after = dict(placed.iter_rows()), dict(members.iter_rows())
        for episode, topic in before.items():
            assert after[episode] in chain(decided, topic)
            moves += after[episode] != topic
        sizes = dict(members.filter(pl.col("topic_id") != "").group_by("topic_id").len().iter_rows())
        assert sizes == dict(topics.select("topic_id", "size").iter_rows())
        assert topics.filter(pl.col("label").list.len() == 0).is_empty()
    assert np.mean(rands(conversations, members)) >= 0.8
    assert moves < 0.2 * rows.height
    assert (
        with_topics(rows, full.select("tenant_id", "owner", "episode_id", "topic_id")).height
        > 0.7 * rows.height
    )
