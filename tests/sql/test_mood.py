"""Mood by week and conversations by topic, on small tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from lake import queries
from transforms.schemas import CONVERSATIONS

NAMES = ["conversation_id", "tenant_id", "user_id", "started_at", "sentiment", "sentiment_label", "topics",
         "revision", "is_removed"]  # fmt: skip


def day(number: int, hour: int = 12) -> datetime:
    return datetime(2026, 3, number, hour, tzinfo=UTC)


def row(name: str, at: datetime, mood: float | None, label: str | None, **rest: Any) -> tuple[Any, ...]:
    plain: dict[str, Any] = {
        "tenant_id": "a",
        "user_id": "u",
        "topics": [],
        "revision": 1,
        "is_removed": False,
    }
    known = (
        plain
        | {"conversation_id": name, "started_at": at, "sentiment": mood, "sentiment_label": label}
        | rest
    )
    return tuple(known[n] for n in NAMES)


def run(name: str, rows: Sequence[tuple[Any, ...]], **parameters: Any) -> list[tuple[Any, ...]]:
    wanted = queries.statement(name)
    schema = {n: CONVERSATIONS.polars[n] for n in NAMES}
    frame = pl.DataFrame(rows, schema=schema, orient="row").select(wanted.inputs["conversations"])
    scope = {"tenant_id": "a", "user_id": "u", "from_at": day(1), "until_at": day(31)} | parameters
    found = queries.run(wanted, {"conversations": frame}, scope)
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=1)
    assert queries.run(wanted, {"conversations": mixed}, scope).equals(found)
    return found.rows()


ROWS = [
    row("c1", day(2), 0.5, "positive", topics=["boat", "tea"]),  # a Monday
    row("c2", day(8, 23), -0.5, "negative", topics=["boat"]),  # the Sunday of that week
    row("c3", day(5), None, None, topics=["boat", "boat"]),
    row("c4", day(9, 0), -0.8, "negative", topics=["tea"]),
    row("c5", day(9), -0.1, "neutral", revision=1),
    row("c5", day(9), 0.4, "positive", revision=2, topics=["train"]),
    row("c6", day(9), -1.0, "negative", revision=1),
    row("c6", day(9), -1.0, "negative", revision=2, is_removed=True),
    row("c7", day(3), -1.0, "negative", user_id="v"),
    row("c8", day(3), -1.0, "negative", tenant_id="b"),
    row("c9", day(3), -1.0, "negative", user_id=None),
    row("d1", day(31), 1.0, "positive"),
    row("d2", datetime(2026, 2, 28, tzinfo=UTC), 1.0, "positive"),
    row("d3", day(23), None, None),
]
WEEKS = [
    ("u", day(2, 0), 3, 2, 0.0, 0.5),
    ("u", day(9, 0), 2, 2, -0.2, 0.5),
    ("u", day(23, 0), 1, 0, None, None),
]


def test_mood_by_week() -> None:
    assert run("mood_by_week", ROWS) == WEEKS
    assert run("mood_by_week", ROWS, user_id=None) == [*WEEKS, ("v", day(2, 0), 1, 1, -1.0, 1.0)]
    assert run("mood_by_week", ROWS, user_id="x' or 1=1 --") == []
    assert run("mood_by_week", ROWS, from_at=day(9), until_at=day(10)) == [("u", day(9, 0), 1, 1, 0.4, 0.0)]


def test_conversations_by_topic() -> None:
    assert run("conversations_by_topic", ROWS, max_rows=9) == [
        ("boat", 3, 0.0, day(8, 23)),
        ("tea", 2, -0.15, day(9, 0)),
        ("train", 1, 0.4, day(9)),
    ]
    assert len(run("conversations_by_topic", ROWS, max_rows=1)) == 1
    assert run("conversations_by_topic", ROWS, max_rows=9, user_id="v") == []
