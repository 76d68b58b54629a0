"""Episodes of one topic, written as they are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms.owners import owner_expr
from transforms.policy import Policy
from transforms.schemas import EPISODES, SUMMARIES

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TRUST = {"user": 1.0, "assistant": 0.7, "system": 0.7, "tool": 0.4}
FEW = Policy.model_validate({"summaries": {"min_episodes": 1}})
NONE = SUMMARIES.empty()


def chars(texts: list[str]) -> list[int]:
    """A token every four characters."""
    return [(len(text) + 3) // 4 for text in texts]


def policy(**summaries: Any) -> Policy:
    return Policy.model_validate({"summaries": {"min_episodes": 1, **summaries}})


def episodes(*rows: tuple[str, str] | dict[str, Any], topic: str = "t", prefix: str = "e") -> pl.DataFrame:
    """Rows e00, e01, ... a day apart: (role, content), or columns."""
    made = []
    for at, row in enumerate(rows):
        named = {"role": row[0], "content": row[1]} if isinstance(row, tuple) else row
        when = NOON + timedelta(days=at)
        plain: dict[str, Any] = {
            "episode_id": f"{prefix}{at:02}", "tenant_id": "acme", "tenant_bucket": 1, "agent_id": "g",
            "user_id": "u", "session_id": "s", "month": "2026-05", "kind": "conversation", "role": "user",
            "content": "", "content_hash": "h", "content_chars": len(named.get("content", "")), "tags": [],
            "importance": 0.5, "sensitivity": "normal", "redactions": [], "is_injected": False,
            "trust": TRUST.get(named.get("role", "user"), 0.4), "source": "test",
            "retention_tier": "medium_term", "event_at": when, "ingested_at": when + timedelta(hours=1),
            "topic_id": topic,
        }  # fmt: skip
        made.append({**plain, **named})
    schema = {**EPISODES.polars, "topic_id": pl.String}
    vectors = [row.pop("vector", None) for row in made]
    frame = pl.DataFrame(made, schema=schema).with_columns(owner_expr())
    return frame.with_columns(pl.Series("vector", vectors, pl.List(pl.Float32)))


def lines(summaries: pl.DataFrame) -> list[str]:
    """Lines of the only summary."""
    assert summaries.height == 1
    return str(summaries["text"][0]).split("\n")
