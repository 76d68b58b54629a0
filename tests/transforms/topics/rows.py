"""Rows for the tests of topics, as small tables: waiting episodes in a plane, members of topics."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms.policy import Policy
from transforms.schemas import TOPICS
from transforms.topics.frames import MEMBERS, WAITING

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
SPACE = "plane"
NONE = TOPICS.empty()
SAID = "something is said here"


def policy(**numbers: Any) -> Policy:
    """The default policy with some numbers of topics changed."""
    plain = Policy()
    return plain.model_copy(update={"topics": plain.topics.model_copy(update=numbers)})


def at(degrees: float) -> list[float]:
    """A vector of length 1 in a plane of three dimensions."""
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0]


def waiting(*rows: dict[str, Any], **every: Any) -> pl.DataFrame:
    """``WAITING``, a minute apart; each row needs an episode_id, ``degrees`` makes its vector."""
    made = []
    for minute, row in enumerate(rows):
        when = START + timedelta(minutes=minute)
        full = {
            "tenant_id": "t",
            "tenant_bucket": 0,
            "owner": "user:u",
            "agent_id": "desk",
            "content": SAID,
            "importance": 0.5,
            "event_at": when,
            "ingested_at": when,
            "vector": at(row["degrees"]) if "degrees" in row else None,
            **every,
            **row,
        }
        user = full["owner"].removeprefix("user:") if full["owner"].startswith("user:") else None
        made.append({name: full.get(name, user if name == "user_id" else None) for name in WAITING.names()})
    return pl.DataFrame(made, schema=WAITING, orient="row")


def around(name: str, degrees: float, count: int = 3, **columns: Any) -> list[dict[str, Any]]:
    """Rows a tenth of a degree apart."""
    return [{"episode_id": f"{name}{i}", "degrees": degrees + i / 10, **columns} for i in range(count)]


def with_topics(episodes: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """``MEMBERS``: the episodes that are in a topic, with it."""
    joined = episodes.join(
        members.select("tenant_id", "owner", "episode_id", "topic_id"),
        on=["tenant_id", "owner", "episode_id"],
    )
    return joined.filter(pl.col("topic_id") != "").select(MEMBERS.names())


def groups(members: pl.DataFrame) -> set[frozenset[str]]:
    """The topics as sets of episode ids."""
    held = (
        members.filter(pl.col("topic_id") != "").group_by("tenant_id", "owner", "topic_id").agg("episode_id")
    )
    return {frozenset(ids) for ids in held["episode_id"]}
