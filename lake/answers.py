"""What recall answers with: typed rows and packed contexts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from lake.candidates import Pool, Ranked
from transforms.packing import Packed

if TYPE_CHECKING:
    from lake.online.asked import Asked
    from transforms.routing import Route

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
    """One recalled memory. ``score`` is the weighted sum of ``factors``; all lie in 0..1.

    ``route`` says what the reading of the question did to the relevance: ``share`` of it that a row
    outside the time asked for has kept, ``least`` that a fact named by its key has been given.
    """

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
    route: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "event_at": self.event_at.isoformat()}


@dataclass(frozen=True)
class Context:
    """A packed context: the text for a prompt, and the report of what went in and what did not.

    ``tokens_of`` are the tokens of each packed row by its id. ``call_id`` names the call, for
    ``Recall.used``; it is empty for a call as of another instant. ``reranked`` is as in ``Answer``.
    """

    text: str
    tokens_used: int
    tokens_available: int
    packed: int
    summarised: int
    dropped: int
    by_tier: list[dict[str, Any]]
    memories: list[Memory]
    dropped_rows: list[dict[str, Any]]
    tokens_of: dict[str, int] = field(default_factory=dict)
    call_id: str = ""
    reranked: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "memories": [memory.as_dict() for memory in self.memories]}


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = ("kind", "text", "source_refs", "user_id", "agent_id", "session_id", "role", "speaker", "outcome")


class Answer(list[Memory]):
    """The memories of one search, best first, and what is to be known of the search besides.

    Attributes:
        call_id: Names this call, for feedback on what was used; empty where the call is not recorded.
        route: How the query was read: its kind, the times it names, and why in words; None where it was
            not (``routing.is_enabled``).
        withheld: Rows that were scored and left out, by reason: ``unrelated`` (derived rows that are not
            about the query) and ``duplicate`` (they repeat a better one; counted as far as was looked).
        pool: Every row that was scored; None of an answer that was not searched for.
        reranked: ``answered`` where the configured reranker ordered the best rows, else why it did not, such
            as ``time_out``; None where none is configured.
    """

    def __init__(
        self,
        memories: Iterable[Memory] = (),
        *,
        call_id: str = "",
        route: Route | None = None,
        withheld: Mapping[str, int] | None = None,
        pool: Pool | None = None,
        reranked: str | None = None,
    ) -> None:
        super().__init__(memories)
        self.call_id = call_id
        self.route = route
        self.withheld = dict(withheld or {})
        self.pool = pool
        self.reranked = reranked


def answer(ranked: Ranked, asked: Asked) -> Answer:
    """The best rows that repeat no better one."""
    memories = [_memory(ranked, int(place)) for place in ranked.kept()[: asked.limit]]
    pool = ranked.pool
    withheld = {
        "unrelated": len(pool.positions) - len(pool.order),
        "duplicate": len(pool.originals) - len(pool.kept()),
    }
    route = ranked.route
    if route is not None and ranked.is_waived:
        route = dataclasses.replace(route, is_filter=False, why=f"{route.why}: there are none, so others too")
    return Answer(memories, route=route, withheld=withheld, pool=pool, reranked=ranked.reranked)


def _memory(ranked: Ranked, place: int) -> Memory:
    row, scores = ranked.found.rows[place], ranked.scores
    return Memory(
        id=row["memory_id"],
        score=float(scores["score"][place]),
        factors={name: float(scores[column][place]) for name, column in FACTORS.items()},
        event_at=_EPOCH + timedelta(microseconds=row["event_at"]),
        is_fresh=bool(ranked.found.is_fresh[place]),
        **{name: row[name] for name in _SHOWN},
        route=dict(ranked.routes[place]) if ranked.routes else {},
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
        dict(packed.rows.select("memory_id", "tokens").iter_rows()),
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
