"""What the tests of the replay kernel share: calls of plain rows, drawn calls and policies, an oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from transforms.policy import Policy
from transforms.replay.access import Access
from transforms.replay.calls import Calls, calls_of
from transforms.rights_tables import RECALLS
from transforms.scoring import score_columns

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
BLOCK = 1_000_000
AGENTS = (None, "planner", "writer", "other")
KINDS = ("conversation", "summary", "fact", "preference", "observation")
TIERS = ("working", "episodic", "semantic", "procedural")
Row = dict[str, Any]
Case = tuple[Row, list[Row]]
"""A call and its candidates, best first."""


def row(memory_id: str, **given: Any) -> Row:
    """A candidate; days are counted back from the call."""
    plain: Row = {
        "memory_id": memory_id,
        "kind": "conversation",
        "tier": "episodic",
        "outcome": None,
        "relevance": 0.5,
        "memory_importance": 0.5,
        "access_count": 0,
        "seen_days": 1.0,
        "event_days": 1.0,
        "tokens": None,
        "is_returned": True,
        "gain": None,
    }
    return plain | given


def call(call_id: str, **given: Any) -> Row:
    plain = {
        "call_id": call_id,
        "agent_id": None,
        "route": "semantic",
        "verb": "search",
        "budget_tokens": None,
    }
    return plain | given


def made(cases: Sequence[Case], policy: Policy | None = None) -> Calls:
    """Calls as a reader of a policy logs them, but for their ranks: those of the rows as they stand."""
    held = policy or Policy()
    rows = [_logged(head, place, rows, held) for head, rows in cases for place in range(len(rows))]
    names = [*RECALLS.names, "gain"]
    schema = pl.Schema({**RECALLS.polars, "gain": pl.Float64()})
    plain = pl.DataFrame([{n: one.get(n) for n in names} for one in rows], schema=schema, orient="row")
    return calls_of(plain)


def _logged(head: Row, place: int, rows: list[Row], policy: Policy) -> Row:
    scores = oracle_scores(head, rows, policy)
    is_about = head["route"] not in ("general", "recency")
    best = max(one["relevance"] for one in rows)
    near = (rows[place]["relevance"] / best) ** policy.recall.closeness_power if is_about and best else 1.0
    found = head | rows[place]
    return found | {
        "rank": place + 1,
        "score": scores[place],
        "closeness": near,
        "last_accessed_at": AT - timedelta(days=found["seen_days"]),
        "event_at": AT - timedelta(days=found["event_days"]),
        "recalled_at": AT,
        "tenant_id": "t",
        "query": "?",
        "weighting": "five",
        "policy_hash": "now",
        "month": "2026-05",
        "is_packed": False,
    }


def oracle_scores(head: Row, rows: list[Row], policy: Policy) -> list[float]:
    """Scores by ``scoring`` itself, a call at a time."""
    columns = {
        "relevance": np.array([one["relevance"] for one in rows], np.float64),
        "importance": np.array([one["memory_importance"] for one in rows], np.float64),
        "access_count": np.array([one["access_count"] for one in rows], np.float64),
        "seen_us": np.array([_us(AT - timedelta(days=one["seen_days"])) for one in rows], np.int64),
        **{name: [one[name] for one in rows] for name in ("kind", "tier", "outcome")},
    }
    weights = policy.recall.weights_for(head["agent_id"])
    is_about = head["route"] not in ("general", "recency")
    found = score_columns(columns, policy=policy, as_of=AT, weights=weights, is_about=is_about)
    scores: list[float] = found["score"].tolist()
    return scores


def _us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def oracle_order(
    head: Row, rows: list[Row], alive: list[bool], policy: Policy
) -> tuple[list[int], list[float]]:
    """Places of the rows that are there, best first, and their scores in that order: one after the other."""
    places = [place for place, is_there in enumerate(alive) if is_there]
    if not places:
        return [], []
    found = oracle_scores(head, [rows[place] for place in places], policy)
    scores = dict(zip(places, found, strict=True))
    if head["route"] == "recency":
        return places, [scores[place] for place in places]
    order: list[int] = []
    left = sorted(places, key=lambda p: (rows[p]["event_days"], rows[p]["memory_id"]))
    while left:
        best = max(scores[place] for place in left)
        order.append(next(place for place in left if is_same(scores[place], best)))
        left.remove(order[-1])
    return order, [scores[place] for place in order]


def is_same(one: float, other: float) -> bool:
    return abs(one - other) < 1e-14


def is_clear(cases: Sequence[Case], alive: Sequence[list[bool]], policy: Policy) -> bool:
    """Whether scores are the same or far apart, so that rounding does not decide an order."""
    for (head, rows), kept in zip(cases, alive, strict=True):
        scores = sorted(oracle_order(head, rows, kept, policy)[1])
        if any(1e-15 < after - before < 1e-9 for before, after in pairwise(scores)):
            return False
    return True


def oracle_measures(
    head: Row, rows: list[Row], alive: list[bool], policy: Policy, at: int, most: tuple[int, int | None]
) -> dict[str, float]:
    """Every measure of one call, as the words of ``measures.replayed`` say."""
    order, _ = oracle_order(head, rows, alive, policy)
    gains = [one["gain"] or 0.0 for one in rows]
    place_of = {place: number for number, place in enumerate(order, 1)}
    found = [place_of[p] for p, gain in enumerate(gains) if gain > 0 and place_of.get(p, at + 1) <= at]
    gained = sum(gains[order[n - 1]] / math.log2(1 + n) for n in range(1, min(at, len(order)) + 1))
    ideal = sum(g / math.log2(1 + n) for n, g in enumerate(sorted(gains, reverse=True)[:at], 1))
    k, budget = most
    taken = 0
    for number, place in enumerate(order, 1):
        tokens = rows[place]["tokens"]
        if (budget is None and number > k) or (budget is not None and taken + tokens > budget):
            break
        taken += tokens
    return {
        "ndcg": gained / ideal,
        "recall": len(found) / sum(gain > 0 for gain in gains),
        "mrr": 1 / min(found) if found else 0.0,
        "hit": float(bool(found)),
        "tokens": float(taken),
        "lost": sum(g for g, is_there in zip(gains, alive, strict=True) if not is_there) / sum(gains),
    }


@st.composite
def rows_of(draw: st.DrawFn, call_number: int, most: int) -> list[Row]:
    coarse = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    count = draw(st.integers(1, most))
    rows = [
        row(
            f"m{draw(st.integers(0, 999))}-{call_number}-{place}",
            kind=draw(st.sampled_from(KINDS)),
            tier=draw(st.sampled_from(TIERS)),
            outcome=draw(st.sampled_from([None, "success", "failure"])),
            relevance=draw(st.sampled_from([0.0, 0.2, 0.5, 0.55, 0.8, 0.9, 1.0])),
            memory_importance=draw(coarse),
            access_count=draw(st.sampled_from([0, 1, 3, 60])),
            seen_days=draw(st.sampled_from([-2.0, 0.0, 0.5, 3.0, 40.0])),
            event_days=draw(st.sampled_from([1.0, 2.0, 50.0])),
            tokens=draw(st.integers(1, 60)),
            is_returned=draw(st.booleans()),
            gain=draw(st.sampled_from([None, None, 0.0, 0.5, 1.0])),
        )
        for place in range(count)
    ]
    if draw(st.integers(0, 3)) == 0:  # a call of which a policy may well have forgotten all that was of use
        rows[0]["gain"] = 1.0
    return rows


@st.composite
def cases(draw: st.DrawFn, *, calls: int = 5, rows: int = 9) -> list[Case]:
    found: list[Case] = []
    for number in range(draw(st.integers(1, calls))):
        is_context = draw(st.booleans())
        head = call(
            f"c{number}",
            agent_id=draw(st.sampled_from(AGENTS)),
            route=draw(st.sampled_from(["semantic", "general", "recency", "exact_key"])),
            verb="context" if is_context else "search",
            budget_tokens=draw(st.sampled_from([20, 100, 2_000])) if is_context else None,
        )
        mine = draw(rows_of(number, rows))
        if head["route"] == "recency":
            mine.sort(key=lambda one: (one["event_days"], one["memory_id"]))
        found.append((head, mine))
    return found


@st.composite
def weights(draw: st.DrawFn) -> dict[str, float]:
    names = ("relevance", "recency", "importance", "frequency", "type")
    parts = {name: draw(st.integers(name == "relevance", 6)) for name in names}
    return {name: part / sum(parts.values()) for name, part in parts.items()}


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    plain = Policy()
    lives = {
        kind: draw(st.sampled_from([None, 0.5, 3.0, 20.0, 90.0]))
        for kind in draw(st.sets(st.sampled_from(KINDS)))
    }
    recall = {
        "weights": draw(weights()),
        "agents": {name: draw(weights()) for name in draw(st.sets(st.sampled_from(["planner", "writer"])))},
        "closeness_power": draw(st.sampled_from([0.0, 0.5, 1.0, 6.0])),
        "success_boost": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "type_bonus": {"working": draw(st.sampled_from([0.0, 0.3, 1.0])), "procedural": 0.2},
        "default_k": draw(st.sampled_from([1, 3, 10])),
    }
    tree = plain.model_dump()
    tree["recall"] |= recall
    tree["decay"] |= {
        "half_life_days": {"conversation": 7.0} | lives,
        "frequency_scale": draw(st.sampled_from([2.0, 50.0])),
        "refresh": draw(st.sampled_from(["served", "used"])),
    }
    tree["context"]["default_budget_tokens"] = draw(st.sampled_from([50, 2_000]))
    return Policy.model_validate(tree)


def moved(calls: Calls, days: float) -> Access:
    """Accesses of another state: one more of each memory, so many days before the log says."""
    at = calls.rows["last_accessed_at"].to_physical().to_numpy() - int(days * 86_400_000_000)
    return Access(calls.rows["access_count"].to_numpy() + 1, at)
