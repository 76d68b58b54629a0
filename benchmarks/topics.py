"""Topics: found among planted vectors and texts, and what it costs, beside plain k-means in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.facts import cpu_seconds, peak_mb
from benchmarks.topics_data import (
    CHINESE,
    ENGLISH,
    NO_TOPIC,
    NO_TOPICS,
    adjusted_rand,
    planted_texts,
    planted_vectors,
)
from lake.embedders.config import EmbedderConfig, make_embedder
from transforms.policy import Policy
from transforms.topics.frames import MEMBERS
from transforms.topics.join import Joined, join
from transforms.topics.review import review

TOPICS_PLANTED = 300
NOISE = 0.1
SPACE = "benchmark"
VARIANTS: dict[str, dict[str, float]] = {
    "as shipped": {},
    "no background subtracted": {"background_share": 0.0},
    "all of the mean subtracted": {"background_share": 1.0},
    "no turns around": {"context_share": 0.0},
    "small talk takes part": {"min_bytes": 0},
    "joins at 0.2": {"join_cosine": 0.2},
    "joins at 0.4": {"join_cosine": 0.4},
    "links at 0.08": {"link_cosine": 0.08},
    "links at 0.2": {"link_cosine": 0.2},
    "never splits or merges": {"wide_cosine": 0.0, "merge_cosine": 1.0},
}

Emit = Callable[[dict[str, Any]], None]


def timed(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, wall seconds and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = action()
    return result, time.perf_counter() - wall, cpu_seconds() - cpu


def measure_one_owner(folder: Path, rows: int, emit: Emit) -> None:
    """One owner has all rows: 300 planted topics and a tenth of noise, which counts as one in the index."""
    del folder
    waiting = planted_vectors(1, rows, TOPICS_PLANTED, NOISE, seed=7)
    held_mb = peak_mb()
    joined, wall, cpu = timed(lambda: join(waiting.drop("planted"), NO_TOPICS, Policy(), SPACE))
    emit(
        {
            "adjusted_rand": _rand(waiting, joined),
            "topics": joined.topics.height,
            "seconds": round(wall, 1),
            "cpu_seconds": round(cpu, 1),
            "data_mb": held_mb,
            "peak_mb": peak_mb(),
        }
    )


def measure_one_owner_floor(folder: Path, rows: int, emit: Emit) -> None:
    """Plain faiss k-means told the true number of topics, on the same rows."""
    import faiss

    del folder
    waiting = planted_vectors(1, rows, TOPICS_PLANTED, NOISE, seed=7)
    vectors = waiting["vector"].explode().to_numpy().reshape(rows, -1)

    def floor() -> Any:
        means = faiss.Kmeans(vectors.shape[1], TOPICS_PLANTED, niter=20, seed=7, spherical=True)
        means.train(vectors)
        return means.index.search(vectors, 1)[1][:, 0]

    found, wall, cpu = timed(floor)
    index = adjusted_rand(waiting["planted"].to_list(), found.tolist())
    emit({"adjusted_rand": round(index, 3), "seconds": round(wall, 1), "cpu_seconds": round(cpu, 1)})


def measure_many_owners(folder: Path, rows: int, emit: Emit) -> None:
    """Owners of 50 rows in 5 topics each: a first night, its review, then a night with nothing new."""
    del folder
    owners = rows // 50
    waiting = planted_vectors(owners, 50, 5, NOISE, seed=7)
    joined, wall, cpu = timed(lambda: join(waiting.drop("planted"), NO_TOPICS, Policy(), SPACE))
    left = waiting.drop("planted").join(
        joined.members.filter(pl.col("topic_id") == ""), on="episode_id", how="semi"
    )
    placed = waiting.join(joined.members.filter(pl.col("topic_id") != ""), on="episode_id")
    members = placed.select(pl.col(n).cast(t) for n, t in MEMBERS.items())
    _, review_wall, _ = timed(lambda: review(joined.topics, members, Policy(), SPACE))
    again, again_wall, _ = timed(lambda: join(left, joined.topics, Policy(), SPACE))
    emit(
        {
            "owners": owners,
            "adjusted_rand": _rand(waiting, joined),
            "seconds": round(wall, 2),
            "cpu_seconds": round(cpu, 2),
            "ms_per_owner": round(1000 * wall / owners, 2),
            "review_seconds": round(review_wall, 2),
            "again_seconds": round(again_wall, 2),
            "again_joined": again.members.filter(pl.col("topic_id") != "").height,
            "peak_mb": peak_mb(),
        }
    )


def measure_texts(folder: Path, rows: int, emit: Emit) -> None:
    """Planted conversations of six owners through the default embedder, in one night and in six.

    ``adjusted_rand`` is over turns about a subject, one that waits counting as a topic of its own.
    ``noise_waits`` is the share of turns about nothing that are left in no topic.
    """
    del folder, rows
    embedder = make_embedder(EmbedderConfig())
    for file, subjects in ((ENGLISH, 2), (ENGLISH, 4), (ENGLISH, 8), (ENGLISH, 12), (CHINESE, 5)):
        made = planted_texts(6, subjects, 300, 11, lambda texts: embedder.embed(texts).vectors, file)
        for name, numbers in VARIANTS.items() if subjects == 8 else [("as shipped", {})]:
            emit({"texts": file, "subjects": subjects, "variant": name, **_rated(made, _policy(numbers))})


def _policy(numbers: dict[str, float]) -> Policy:
    plain = Policy()
    importance = plain.importance.model_copy(update={"small_talk": 0.0} if "min_bytes" in numbers else {})
    changed = plain.topics.model_copy(update=numbers)
    return plain.model_copy(update={"topics": changed, "importance": importance})


def _rated(made: pl.DataFrame, policy: Policy) -> dict[str, float]:
    rated: dict[str, float] = {}
    for nights in (1, 6):
        members, topics = consolidated(made, nights, policy)
        about_nothing = made.filter(pl.col("planted").is_in(NO_TOPIC)).select("episode_id")
        waits = members.join(about_nothing, on="episode_id").select((pl.col("topic_id") == "").mean()).item()
        rand = float(np.mean(list(_text_rands(made, members))))
        rated |= {
            f"adjusted_rand_{nights}": round(rand, 3),
            f"topics_{nights}": round(topics / made["owner"].n_unique(), 1),
            f"noise_waits_{nights}": round(waits, 2),
        }
    return rated


def consolidated(made: pl.DataFrame, nights: int, policy: Policy) -> tuple[pl.DataFrame, int]:
    """Members after so many nights of whole sessions, each joined and reviewed; and the number of topics."""
    first = pl.col("event_at").min().over("owner", "session_id")
    made = made.drop("planted").sort(first, "event_at", "episode_id")
    night = made.select(pl.int_range(pl.len()) * nights // pl.len()).to_series()
    topics, members = NO_TOPICS, made.clear().with_columns(topic_id=pl.lit("")).cast(dict(MEMBERS))
    for number in range(nights):
        waiting = pl.concat(
            [members.filter(pl.col("topic_id") == "").drop("topic_id"), made.filter(night == number)]
        )
        joined = join(waiting, topics, policy, SPACE)
        kept = topics.join(joined.topics, on="owner", how="anti").select(joined.topics.columns)
        topics = pl.concat([kept, joined.topics])
        here = waiting.join(joined.members.select("episode_id", "topic_id"), on="episode_id")
        members = pl.concat([members.filter(pl.col("topic_id") != ""), here.select(members.columns)])
        seen = members.filter(pl.col("topic_id").is_in(joined.review))
        done = review(topics, seen, policy, SPACE)
        topics = done.topics
        moved = done.members.select("episode_id", after="topic_id")
        members = (
            members.join(moved, on="episode_id", how="left")
            .with_columns(topic_id=pl.coalesce("after", "topic_id"))
            .drop("after")
        )
    return members, topics.height


def _text_rands(made: pl.DataFrame, members: pl.DataFrame) -> Iterable[float]:
    rows = made.select("episode_id", "planted").join(members, on="episode_id")
    for _, group in rows.filter(~pl.col("planted").is_in(NO_TOPIC)).group_by("owner", maintain_order=True):
        topic = pl.when(pl.col("topic_id") == "").then("episode_id").otherwise("topic_id")
        yield adjusted_rand(group["planted"].to_list(), group.select(topic).to_series().to_list())


def _rand(waiting: pl.DataFrame, joined: Joined) -> float:
    rows = waiting.join(joined.members, on="episode_id").with_columns(
        planted=pl.col("owner") + pl.col("planted").cast(pl.String),
        found=pl.col("owner") + pl.col("topic_id"),
    )
    return round(adjusted_rand(rows["planted"].to_list(), rows["found"].to_list()), 3)


STEPS = {
    "one_owner": measure_one_owner,
    "one_owner_floor": measure_one_owner_floor,
    "many_owners": measure_many_owners,
    "texts": measure_texts,
}
