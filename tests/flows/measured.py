"""Planted lakes for the tests of measures and of the report on quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from flows.job import Job
from lake import tables
from tests.flows.lakes import AS_OF
from tests.lake.made import frame
from transforms.schemas import EPISODES, FACTS, RECALLS


def ago(days: float) -> datetime:
    return AS_OF - timedelta(days=days)


def scope(
    job: Job, tenant: str = "acme", user: str | None = "ana", agent: str | None = "aide"
) -> dict[str, Any]:
    return {
        "tenant_id": tenant, "tenant_bucket": job.lake.bucket(tenant), "user_id": user, "agent_id": agent,
    }  # fmt: skip


def add_episodes(job: Job, rows: Sequence[Mapping[str, Any]]) -> None:
    """Episodes of ten days ago by name; text and hash are the name unless a row says otherwise."""
    found = []
    for row in rows:
        at = row.get("event_at", ago(10))
        text = row.get("content", row["episode_id"])
        found.append(
            {
                **scope(job), "kind": "conversation", "role": "user", "content": text, "content_hash": text,
                "content_chars": len(text), "importance": 0.5, "retention_tier": "medium_term",
                "event_at": at, "ingested_at": at, "month": f"{at:%Y-%m}", **row,
            }
        )  # fmt: skip
    tables.append(job.lake, EPISODES, frame(EPISODES, found))


def add_facts(job: Job, rows: Sequence[Mapping[str, Any]]) -> None:
    """Facts of twenty days ago: where Ana lives, unless a row says otherwise."""
    found = []
    for row in rows:
        shown = row.get("object", "Graz")
        found.append(
            {
                **scope(job), "owner": "user:ana", "kind": "fact", "fact": f"Ana lives in {shown}",
                "subject": "Ana", "subject_key": "ana", "predicate": "lives_in", "object": shown,
                "object_key": shown.lower(), "polarity": "positive", "confidence": 0.9, "importance": 0.8,
                "retention_tier": "long_term", "valid_from": ago(20), "first_mentioned_at": ago(20),
                "last_confirmed_at": ago(20), "recorded_at": ago(20), "revision": 1, **row,
            }
        )  # fmt: skip
    tables.append(job.lake, FACTS, frame(FACTS, found))


def add_calls(job: Job, calls: Sequence[Mapping[str, Any]]) -> None:
    """Calls of a day ago; ``gave`` names the memories returned, ``used`` those of them that were of use."""
    found = []
    for number, call in enumerate(calls):
        at = call.get("recalled_at", ago(1))
        plain = {
            **scope(job), "call_id": f"call-{number}", "verb": "search", "route": "general", "query": "what",
            "policy_hash": job.policy.hash(), "recalled_at": at, "month": f"{at:%Y-%m}", "event_at": ago(10),
            "last_accessed_at": ago(10), "kind": "conversation",
        }  # fmt: skip
        named = {name: value for name, value in call.items() if name not in ("gave", "used")}
        gave, used = call.get("gave", ()), call.get("used", ())
        if not gave:
            found.append({**plain, **named, "memory_id": "", "rank": 0})
        for rank, memory in enumerate(gave, 1):
            given = {"memory_id": memory, "rank": rank, "is_returned": True}
            found.append({**plain, **named, **given, "is_used": True if memory in used else None})
    tables.append(job.lake, RECALLS, frame(RECALLS, found))
