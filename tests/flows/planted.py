"""Logged recalls whose uses go by a policy that is known, for tests of tuning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from transforms import ids
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.schemas import RECALLS
from transforms.scoring import EPOCH, FACTORS, closeness, rank_positions, score_columns

START = datetime(2026, 4, 1, tzinfo=UTC)
DAYS, USERS, CANDIDATES = 80, 20, 12
TRUTH = {"decay.half_life_days.conversation": 30.0, "recall.weights.recency": 0.5}
NOISE = 0.02


def planted(
    truth: Mapping[str, Any] | None, calls: int = 500, seed: int = 0, policy: Policy | None = None
) -> pl.DataFrame:
    """``schemas.RECALLS``: each call used what is worth most by the truth, give or take.

    Args:
        truth: Changes of the policy by which agents go; None: they take any memory.
        calls: Calls, by 20 users of two tenants.
        seed: Of everything.
        policy: Under which the calls were answered.
    """
    rng = np.random.default_rng(seed)
    current = policy or Policy()
    wanted = None if truth is None else changed(current, truth)
    seconds = np.sort(rng.integers(0, DAYS * 86_400, calls)).tolist()
    rows = [row for n, at in enumerate(seconds) for row in _call(rng, n, at, current, wanted)]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("recalled_at", "event_at", "last_accessed_at").cast(pl.Datetime("us", "UTC")),
        month=pl.col("recalled_at").dt.strftime("%Y-%m"),
    )
    return RECALLS.conform(frame.with_columns(tenant_bucket=ids.tenant_buckets(frame["tenant_id"], 2)))


def _call(
    rng: np.random.Generator, number: int, second: int, current: Policy, wanted: Policy | None
) -> list[dict[str, Any]]:
    at = START + timedelta(seconds=second)
    # Memories of some weeks and of some importance: no rule of forgetting takes them.
    event_us = _us(at) - (rng.uniform(0.1, 60, CANDIDATES) * 86_400e6).astype(np.int64)
    columns = {
        "relevance": rng.uniform(0.75, 0.9, CANDIDATES).round(3),
        "importance": rng.integers(6, 14, CANDIDATES) / 20,
        "access_count": np.zeros(CANDIDATES),
        "seen_us": event_us,
        "kind": ["conversation"] * 10 + ["fact"] * 2,
        "tier": ["episodic"] * 10 + ["semantic"] * 2,
        "outcome": [None] * CANDIDATES,
    }
    scored = score_columns(columns, policy=current, as_of=at)
    names = [f"m-{number:04d}-{place:02d}" for place in range(CANDIDATES)]
    order = rank_positions(scored["score"], event_us, names)
    worth = rng.random(CANDIDATES)
    if wanted is not None:
        worth = score_columns(columns, policy=wanted, as_of=at)["score"] + rng.normal(0, NOISE, CANDIDATES)
    used = int(np.argmax(worth))
    near = closeness(columns["relevance"], current.recall.closeness_power)
    user = number % USERS
    return [
        {
            **_head(number, user, at, current),
            "memory_id": names[place],
            "kind": columns["kind"][place],
            "tier": columns["tier"][place],
            "outcome": None,
            "rank": rank + 1,
            **{name.removesuffix("_factor"): float(scored[name][place]) for name in FACTORS},
            "score": float(scored["score"][place]),
            "closeness": float(near[place]),
            "cosine": None,
            "word_match": None,
            "memory_importance": float(columns["importance"][place]),
            "access_count": 0,
            "last_accessed_at": _at(event_us[place]),
            "event_at": _at(event_us[place]),
            "tokens": 20,
            "is_returned": rank < 10,
            "is_packed": False,
            "is_used": True if place == used else None,
        }
        for rank, place in enumerate(order.tolist())
    ]


def _head(number: int, user: int, at: datetime, current: Policy) -> dict[str, Any]:
    return {
        "call_id": f"call-{number:04d}",
        "tenant_id": ("acme", "bolt")[user % 2],
        "user_id": f"user-{user:02d}",
        "agent_id": "bot",
        "session_id": f"session-{user:02d}-{at:%m%d}",
        "query": f"question {number} <b>of</b> the harbour",
        "verb": "search",
        "route": "semantic",
        "weighting": "five",
        "policy_hash": current.hash(),
        "seconds": 0.01,
        "budget_tokens": None,
        "generation": "gen-1",
        "recalled_at": at,
    }


def _us(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def _at(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=int(us))


def written(path: Path, recalls: pl.DataFrame) -> Path:
    """A file for ``--traces``."""
    recalls.write_parquet(path)
    return path
