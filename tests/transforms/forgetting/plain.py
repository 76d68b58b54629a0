"""The rules of forgetting in plain Python, a row at a time: what the vectorised ones are held to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms.forgetting.due import LIGHT
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.schemas import EPISODES, RECALLS

AS_OF = datetime(2026, 6, 30, 23, tzinfo=UTC)
DAY = timedelta(days=1)
FADING = ("conversation", "action", "observation", "outcome")


def episode(number: int, **fields: Any) -> dict[str, Any]:
    """The columns of an episode that decide on it; of today where nothing else is said."""
    good = {
        "episode_id": f"e{number}",
        "tenant_id": "acme",
        "user_id": "ana",
        "agent_id": None,
        "session_id": "s1",
        "kind": "conversation",
        "importance": 0.4,
        "is_injected": False,
        "retention_tier": "medium_term",
        "expires_at": None,
        "event_at": AS_OF,
    }
    return {**good, **fields}


def episodes(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema={name: EPISODES.polars[name] for name in LIGHT}, orient="row")


def recall(number: int, memory: str, at: datetime, **fields: Any) -> dict[str, Any]:
    """One recall of a memory; fields override."""
    given = {
        "call_id": f"c{number}",
        "tenant_id": "acme",
        "tenant_bucket": 0,
        "agent_id": None,
        "user_id": "ana",
        "session_id": "s1",
        "month": f"{at:%Y-%m}",
        "memory_id": memory,
        "kind": "conversation",
        "tier": "episodic",
        "query": "",
        "verb": "search",
        "route": "general",
        "rank": 1,
        "score": 0.5,
        "relevance": 0.5,
        "recency": 0.5,
        "importance": 0.5,
        "frequency": 0.5,
        "type": 0.0,
        "closeness": 1.0,
        "memory_importance": 0.5,
        "access_count": 0,
        "last_accessed_at": at,
        "event_at": at,
        "weighting": "five",
        "policy_hash": "",
        "tokens": None,
        "is_returned": True,
        "is_packed": False,
        "is_used": None,
        "recalled_at": at,
    }
    return {**given, **fields}


def recalls(rows: Iterable[Mapping[str, Any]]) -> pl.LazyFrame:
    return pl.DataFrame(list(rows), schema=RECALLS.polars, orient="row").lazy()


@dataclass(frozen=True)
class Access:
    count: int
    last: datetime


def access(
    rows: Iterable[Mapping[str, Any]], decay: DecayPolicy, as_of: datetime
) -> dict[tuple[str, str], Access]:
    """Accesses by tenant and memory."""
    first: dict[tuple[Any, ...], datetime] = {}
    for row in rows:
        if (
            not row["is_returned"]
            or row["recalled_at"] > as_of
            or (decay.refresh == "used" and row["is_used"] is not True)
        ):
            continue
        session = tuple(row[name] for name in ("user_id", "agent_id", "session_id"))
        alone = row["call_id"] if row["session_id"] is None else None
        key = (row["tenant_id"], row["memory_id"], *session, alone)
        first[key] = min(first.get(key, row["recalled_at"]), row["recalled_at"])
    found: dict[tuple[str, str], Access] = {}
    for (tenant, memory, *_), at in first.items():
        held = found.get((tenant, memory))
        found[tenant, memory] = Access(1, at) if held is None else Access(held.count + 1, max(held.last, at))
    return found


def score(row: Mapping[str, Any], seen: Access, decay: DecayPolicy, as_of: datetime) -> float:
    """policies: 0.5 importance + 0.35 recency + 0.15 frequency, faded in steps where the policy says so."""
    age = max((as_of - seen.last) / DAY, 0.0)
    half_life = decay.half_life_days.get(row["kind"], decay.half_life_days["conversation"])
    recency = 1.0 if half_life is None else 0.5 ** (age / half_life)
    frequency = min(1.0, math.log(1 + seen.count) / math.log(decay.frequency_scale))
    worth = (
        decay.importance_weight * row["importance"]
        + decay.recency_weight * recency
        + decay.frequency_weight * frequency
    )
    priority = 1.0
    if row["kind"] in FADING:
        since = (as_of - row["event_at"]) / DAY
        for after, factor in (
            (decay.fade_after_days, decay.fade_factor),
            (decay.fade_more_after_days, decay.fade_more_factor),
        ):
            if after is not None and since >= after:
                priority = factor
    return min(max(priority * worth, 0.0), 1.0)


def expiry(row: Mapping[str, Any], policy: Policy, period: int | None, is_pinned: bool) -> datetime | None:
    """First instant at which a row is not served."""
    retention = policy.retention
    tiers = retention.tier_seconds()
    spans = [tiers.get(row["retention_tier"], tiers[retention.default_tier])]
    spans.append(retention.by_kind_seconds.get(row["kind"]))
    if is_pinned:
        spans = [tiers["permanent"]]
    spans.append(retention.user_cap_seconds if period is None else period)
    shortest = min(span for span in spans if span is not None)
    due: datetime = row["event_at"] + timedelta(seconds=shortest)
    return due if row["expires_at"] is None else min(due, row["expires_at"])


def reason(
    row: Mapping[str, Any],
    seen: Access,
    policy: Policy,
    as_of: datetime,
    *,
    period: int | None,
    is_pinned: bool,
) -> str | None:
    """Why an episode goes, budget and forbidden topics apart."""
    due = expiry(row, policy, period, is_pinned)
    if due is not None and due <= as_of:
        return "expired"
    if is_pinned:
        return None
    stale = policy.staleness
    idle = as_of - seen.last
    if stale.is_enabled and row["importance"] < stale.below_importance and idle >= stale.after_days * DAY:
        return "stale"
    if score(row, seen, policy.decay, as_of) < policy.decay.forget_below:
        return "decayed"
    cold = policy.cold.after_days
    return "cold" if cold is not None and idle >= cold * DAY else None


def evicted(rows: Iterable[Mapping[str, Any]], budget: int, key: str) -> set[str]:
    """Ids of rows that an owner has too many of, the lowest score first."""
    owners: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["owner"] is not None:
            owners.setdefault((row["tenant_id"], row["owner"]), []).append(row)
    gone: set[str] = set()
    for held in owners.values():
        loose = [row for row in held if not row["is_pinned"]]
        free = sorted(loose, key=lambda row: (row["score"], row["event_at"], row[key]))
        gone |= {row[key] for row in free[: max(len(held) - budget, 0)]}
    return gone
