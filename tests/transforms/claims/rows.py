"""Rows of the tests: an episode, a candidate, and frames of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import polars as pl

from transforms.claims.build import CANDIDATES
from transforms.schemas import EPISODES

SAID_AT = datetime(2026, 5, 13, 10, 0, tzinfo=UTC)
HELD_AT = datetime(2026, 5, 14, 2, 0, tzinfo=UTC)


def episode(episode_id: str = "e1", content: str = "I like green tea", **values: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(EPISODES.names),
        "episode_id": episode_id, "tenant_id": "t", "tenant_bucket": 3, "user_id": "u", "agent_id": "a",
        "session_id": "s", "month": "2026-05", "kind": "conversation", "role": "user", "speaker": "Mira",
        "content": content, "content_hash": "", "content_chars": len(content), "tags": [], "importance": 0.5,
        "sensitivity": "normal", "redactions": [], "is_injected": False, "trust": 1.0, "source": "slowwave",
        "retention_tier": "medium_term", "event_at": SAID_AT, "ingested_at": HELD_AT, **values,
    }  # fmt: skip


def tool(
    episode_id: str = "t1", content: str = "Rate limit: 60 requests per minute", **values: Any
) -> dict[str, Any]:
    mine = {"role": "tool", "kind": "observation", "tool_name": "probe", "speaker": None, "trust": 0.4}
    return episode(episode_id, content, **{**mine, **values})


def candidate(episode_id: str = "e1", **values: Any) -> dict[str, Any]:
    return {
        "episode_id": episode_id, "operation": "assert", "subject": "user", "predicate": "likes",
        "aspect": "", "object": "green tea", "polarity": "positive", "confidence": 0.9, "span_start": 0,
        "span_end": 16, "valid_from": None, "valid_until": None, "is_inferred": False, **values,
    }  # fmt: skip


def episodes(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=EPISODES.polars)


def candidates(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=CANDIDATES)
