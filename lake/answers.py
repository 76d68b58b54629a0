"""What recall answers with: typed rows and packed contexts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from lake.candidates import Ranked
from transforms.packing import Packed

FACTORS = {
    "relevance": "relevance",
    "recency": "recency",
    "importance": "importance_factor",
    "frequency": "frequency",
    "type": "type_factor",
}
"""Name of each factor as it is returned, and the column of ``scoring.score`` that holds it."""


@dataclass(frozen=True)
class Memory:
    """One recalled memory. ``score`` is the weighted sum of ``factors``; all lie in 0..1."""

    id: str
    kind: str
    text: str
    score: float
    factors: dict[str, float]
    event_at: datetime
    source_refs: list[str]
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    role: str | None
    speaker: str | None
    outcome: str | None
    is_fresh: bool

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "event_at": self.event_at.isoformat()}


@dataclass(frozen=True)
class Context:
    """A packed context: the text for a prompt, and the report of what went in and what did not."""

    text: str
    tokens_used: int
    tokens_available: int
    packed: int
    summarised: int
    dropped: int
    by_tier: list[dict[str, Any]]
    memories: list[Memory]
    dropped_rows: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "memories": [memory.as_dict() for memory in self.memories]}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = ("kind", "text", "source_refs", "user_id", "agent_id", "session_id", "role", "speaker", "outcome")


def best_memories(ranked: Ranked, count: int) -> list[Memory]:
    """The best rows that repeat no better one, at most ``count``."""
    return [_memory(ranked, int(place)) for place in ranked.kept()[:count]]


def _memory(ranked: Ranked, place: int) -> Memory:
    row, scores = ranked.found.rows[place], ranked.scores
    return Memory(
        id=row["memory_id"],
        score=float(scores["score"][place]),
        factors={name: float(scores[column][place]) for name, column in FACTORS.items()},
        event_at=_EPOCH + timedelta(microseconds=row["event_at"]),
        is_fresh=bool(ranked.found.is_fresh[place]),
        **{name: row[name] for name in _SHOWN},
    )


def packed_context(packed: Packed) -> Context:
    """A packing's result in the caller's terms."""
    dropped = packed.dropped.select("memory_id", "tier", "score", "reason").rename({"memory_id": "id"})
    return Context(
        packed.text,
        packed.tokens_used,
        packed.tokens_available,
        packed.packed_count,
        packed.summarised_count,
        packed.dropped_count,
        packed.by_tier().to_dicts(),
        _typed(packed.rows),
        dropped.to_dicts(),
    )


def _typed(rows: pl.DataFrame) -> list[Memory]:
    return [
        Memory(
            id=row["memory_id"],
            score=row["score"],
            factors={name: row[column] for name, column in FACTORS.items()},
            event_at=row["event_at"],
            is_fresh=row["is_fresh"],
            **{name: row[name] for name in _SHOWN},
        )
        for row in rows.to_dicts()
    ]
