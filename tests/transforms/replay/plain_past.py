"""A lake under a policy in plain Python, night after night: what survival is held to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from tests.transforms.forgetting import plain
from tests.transforms.forgetting.plain import DAY
from transforms.policy import Policy
from transforms.replay.calls import Calls, calls_of
from transforms.replay.memory_rows import MEMORY_SCHEMA
from transforms.schemas import INSTANT, RECALLS

START = datetime(2026, 1, 1, tzinfo=UTC)
"""A midnight: the first night."""
Row = Mapping[str, Any]


def at(days: float) -> datetime:
    return START + timedelta(days=days)


def memory(name: str, days: float, **fields: Any) -> dict[str, Any]:
    """An episode of that day, known from then on and covered by a summary at once; fields override."""
    moment = at(days)
    given = {
        "memory_id": name,
        "tenant_id": "acme",
        "user_id": "ana",
        "agent_id": None,
        "session_id": None,
        "stored_in": "episodes",
        "kind": "conversation",
        "tier": "episodic",
        "importance": 0.5,
        "is_injected": False,
        "is_pinned": False,
        "retention_tier": "permanent",
        "expires_at": None,
        "event_at": moment,
        "known_at": moment,
        "ended_at": None,
        "content_chars": 100,
        "covered_at": moment,
    }
    return {**given, **fields}


def memories(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema={**MEMORY_SCHEMA, "covered_at": INSTANT}, orient="row")


def call(number: int, days: float, found: Sequence[Row], **fields: Any) -> list[dict[str, Any]]:
    """The log of one call that found some memories, and returned them."""
    session = {"session_id": f"s{number}"}
    return [
        plain.recall(
            number, row["memory_id"], at(days),
            **{"rank": place, "event_at": row["event_at"], "kind": row["kind"], "tier": row["tier"],
               "memory_importance": row["importance"], **session, **fields},
        )
        for place, row in enumerate(found, start=1)
    ]  # fmt: skip


def log(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=RECALLS.polars, orient="row")


def calls(rows: Iterable[Row]) -> Calls:
    return calls_of(log(rows))


def owned(row: Row) -> str | None:
    if row["user_id"] is not None:
        return f"user:{row['user_id']}"
    return None if row["agent_id"] is None else f"agent:{row['agent_id']}"


def gone_at(
    held: Sequence[Row], recalls: Sequence[Row], policy: Policy, until: datetime
) -> dict[str, tuple[datetime, str]]:
    """The night that takes each memory out, and why; a memory that no night takes is not in it."""
    gone: dict[str, tuple[datetime, str]] = {}
    night = START
    while night <= until:
        access = plain.access(recalls, policy.decay, night)
        left = []
        for row in held:
            if row["memory_id"] in gone or row["known_at"] > night:
                continue
            seen = access.get((row["tenant_id"], row["memory_id"]), plain.Access(0, row["event_at"]))
            why = due(row, seen, policy, night)
            if why is not None:
                gone[row["memory_id"]] = (night, why)
            elif row["ended_at"] is None or row["ended_at"] > night:
                left.append(
                    {**row, "owner": owned(row), "score": plain.score(row, seen, policy.decay, night)}
                )
        for name in over(left, policy):
            gone[name] = (night, "over_capacity")
        night += DAY
    return gone


def due(row: Row, seen: plain.Access, policy: Policy, night: datetime) -> str | None:
    """Why a memory goes this night, budgets apart; an episode that no summary covers yet waits."""
    why = plain.reason(row, seen, policy, night, period=None, is_pinned=row["is_pinned"])
    if row["stored_in"] != "episodes" and why != "expired":
        return None
    waits = row["covered_at"] is None or row["covered_at"] > night
    if why not in ("stale", "decayed") or not waits:
        return why
    cold = policy.cold.after_days
    return "cold" if cold is not None and night - seen.last >= cold * DAY else None


def over(rows: Sequence[dict[str, Any]], policy: Policy) -> set[str]:
    """What the budgets evict of the rows that are left."""
    episodes = [row for row in rows if row["stored_in"] == "episodes" and not row["is_injected"]]
    out = plain.evicted(episodes, policy.capacity.episodes, "memory_id")
    facts = [row for row in rows if row["stored_in"] == "facts"]
    out |= plain.evicted(facts, policy.capacity.facts, "memory_id")
    rest = [row for row in rows if row["memory_id"] not in out and not row["is_injected"]]
    return out | plain.evicted(rest, policy.capacity.indexed_rows, "memory_id")


def is_there(row: Row, moment: datetime, policy: Policy, gone: Mapping[str, tuple[datetime, str]]) -> bool:
    """Whether a memory is served at an instant."""
    expires = plain.expiry(row, policy, None, row["is_pinned"])
    night = gone.get(row["memory_id"])
    return (
        row["event_at"] <= moment
        and (expires is None or expires > moment)
        and (night is None or night[0] >= moment)
    )
