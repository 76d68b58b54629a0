"""Survival of logged candidates: what each policy would have forgotten by each call, and where time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from benchmarks.facts import peak_mb
from transforms.policy import Policy
from transforms.replay.access import access_states
from transforms.replay.calls import calls_of
from transforms.replay.changes import changed
from transforms.replay.lives import seen_in
from transforms.replay.memory_rows import MEMORY_SCHEMA
from transforms.replay.survival import Past
from transforms.schemas import INSTANT, RECALLS

CANDIDATES, RETURNED = 50, 10
OWNED = 1_000
"""Memories of an owner: twice the budget of episodes, so that it binds for every one of them."""
POLICIES = 20
DAYS_BEFORE, DAYS = 100, 90
KINDS = ("conversation", "action", "outcome", "observation")
_DAY_US = 86_400_000_000
_START_US = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000

Emit = Callable[[dict[str, Any]], None]


def run(emit: Emit, calls: int) -> None:
    """Time as many calls as memories, under policies that each forget otherwise."""
    recalls, memories = traces(calls, calls)
    replayed = calls_of(recalls)
    began = time.perf_counter()
    access_states(replayed, recalls, ["served", "used"])
    emit({"measured": "access of two modes", "seconds": round(time.perf_counter() - began, 2)})
    began = time.perf_counter()
    past = Past.made(seen_in(replayed), memories, recalls)
    emit({"measured": "made", "seconds": round(time.perf_counter() - began, 2)})
    roomy = {"capacity.episodes": 10 * OWNED, "capacity.indexed_rows": 10 * OWNED}
    forgetting = [changed(Policy(), _setting(number)) for number in range(POLICIES)]
    sorts = {
        "lifetimes and decay": [changed(policy, roomy) for policy in forgetting],
        "budgets bind, too": forgetting,
        "weights alone": [changed(policy, {"recall.weights.recency": 0.3}) for policy in forgetting],
    }
    for name, policies in sorts.items():
        emit({"measured": name, "candidates": replayed.rows.height, **_timed(past, policies)})


def _setting(number: int) -> dict[str, float]:
    share = number / POLICIES
    return {
        "decay.half_life_days.conversation": 1.0 + 10 * share,
        "decay.forget_below": 0.2 + 0.2 * share,
        "staleness.after_days": 5.0 + 20 * share,
    }


def _timed(past: Past, policies: Sequence[Policy]) -> dict[str, Any]:
    began = time.perf_counter()
    groups = past.masks(policies).groups
    seconds = (time.perf_counter() - began) / len(policies)
    kept = [1.0 if alive is None else float(alive.mean()) for _, alive in groups]
    return {
        "groups": len(groups),
        "seconds_a_policy": round(seconds, 3),
        "kept_ratio": round(float(np.mean(kept)), 3),
        "peak_mb": peak_mb(),
    }


def traces(calls: int, count: int, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``schemas.RECALLS``, and ``memory_rows.MEMORY_SCHEMA`` with ``covered_at``: all ask for their own."""
    rng = np.random.default_rng(seed)
    people, rows = max(count // OWNED, 1), calls * CANDIDATES
    at = _START_US + np.sort(rng.integers(DAYS_BEFORE * _DAY_US, (DAYS_BEFORE + DAYS) * _DAY_US, calls))
    born = _START_US + rng.integers(0, DAYS_BEFORE * _DAY_US, count)
    importance, call = np.round(rng.random(count), 2), np.repeat(np.arange(calls), CANDIDATES)
    asker = rng.integers(0, people, calls)[call]
    memory = (asker * OWNED + rng.integers(0, OWNED, rows)) % count
    rank = np.tile(np.arange(1, CANDIDATES + 1), calls)
    kinds = pl.Series(KINDS)
    log = pl.DataFrame(
        {
            "call_id": _named("c", call), "tenant_id": _named("t", np.zeros(rows, np.int64)),
            "user_id": _named("u", asker), "session_id": _named("s", call // 3),
            "memory_id": _named("m", memory), "kind": kinds.gather(memory % 4), "rank": rank,
            "memory_importance": importance[memory], "event_at": born[memory], "recalled_at": at[call],
            "last_accessed_at": born[memory], "is_returned": rank <= RETURNED, "is_used": rank <= 2,
        }
    ).with_columns(verb=pl.lit("search"), tier=pl.lit("episodic"), access_count=pl.lit(0))  # fmt: skip
    place = np.arange(count)
    held = pl.DataFrame(
        {
            "memory_id": _named("m", place), "tenant_id": _named("t", np.zeros(count, np.int64)),
            "user_id": _named("u", place // OWNED), "kind": kinds.gather(place % 4),
            "importance": importance, "event_at": born, "known_at": born,
        }
    ).with_columns(
        stored_in=pl.lit("episodes"), tier=pl.lit("episodic"), retention_tier=pl.lit("medium_term"),
        is_injected=pl.lit(False), is_pinned=pl.lit(False), content_chars=pl.lit(100),
    )  # fmt: skip
    return (
        _shaped(log, RECALLS.polars).unique(["call_id", "memory_id"], keep="first", maintain_order=True),
        _shaped(held, MEMORY_SCHEMA).with_columns(covered_at=pl.col("event_at").cast(INSTANT)),
    )


def _named(letter: str, numbers: np.ndarray) -> pl.Series:
    return letter + pl.Series(numbers).cast(pl.String)


def _shaped(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    missing = [pl.lit(None).alias(name) for name in schema if name not in rows.columns]
    return rows.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in schema.items())
