"""What waits to be logged: calls with their candidates, and what agents say they used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lake.answers import FACTORS
from lake.candidates import Pool
from lake.scope import Scope

if TYPE_CHECKING:
    from lake.rights.tombstones import Tombstones

_INPUTS = {
    "closeness": "closeness",
    "cosine": "cosine",
    "word_match": "words",
    "memory_importance": "importance",
    "access_count": "access_count",
    "last_accessed_at": "seen_us",
    "event_at": "event_us",
}
_NAMES = ("kind", "tier", "outcome")


@dataclass(frozen=True, slots=True)
class CallHead:
    """One call.

    Attributes:
        call_id: Its id.
        scope: Whose memories were asked for.
        query: What was asked.
        verb: ``search`` or ``context``.
        route: How the query was read.
        weights: As ``transforms.weights.told_of`` names them.
        policy_hash: Of the reader's policy.
        generation: That was searched; None before the first publish.
        asked_at: The instant that the factors are as of.
        seconds: From the call to its answer.
        budget_tokens: Room of a context; None for a search.
        tombstones: That held when the call was made.
    """

    call_id: str
    scope: Scope
    query: str
    verb: str
    route: str
    weights: str
    policy_hash: str
    generation: str | None
    asked_at: datetime
    seconds: float
    budget_tokens: int | None
    tombstones: Tombstones | None


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call and its candidates, best first, as they wait: plain values, none of the texts.

    Attributes:
        head: The call.
        ids: ``memory_id`` as bytes, by candidate.
        ranks: Of each candidate, from 1.
        names: Kind, tier and outcome of each.
        numbers: By column of ``recalls``, one a candidate.
        returned: Ids that the caller was given.
        tokens: Tokens of those that were packed; None for a search.
    """

    head: CallHead
    ids: NDArray[np.bytes_]
    ranks: list[int]
    names: dict[str, list[str | None]]
    numbers: dict[str, NDArray[Any]]
    returned: frozenset[str]
    tokens: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class UseEntry:
    """What an agent says it used; a None leaves the call or that part of the scope open."""

    memory_ids: tuple[str, ...]
    call_id: str | None
    tenant: str
    user: str | None
    agent: str | None
    session: str | None
    used_at: datetime


Entry = CallEntry | UseEntry


def call_entry(
    head: CallHead,
    pool: Pool,
    *,
    most: int,
    returned: Collection[str],
    tokens: Mapping[str, int] | None = None,
) -> CallEntry:
    """A call with its best candidates, and every returned one.

    Args:
        head: The call.
        pool: All that was scored.
        most: So many candidates, and those that were returned.
        returned: Ids that the caller was given.
        tokens: Tokens by id of those that were packed.
    """
    given = frozenset(returned)
    best = pool.order[:most]
    ranks = list(range(1, len(best) + 1))
    if len(pool.order) > most:
        rest = pool.order[most:]
        late = np.flatnonzero(np.isin(pool.ids[rest], np.array([name.encode() for name in given], "S")))
        best, ranks = np.concatenate([best, rest[late]]), [*ranks, *(late + most + 1).tolist()]
    places, inputs = best.tolist(), pool.inputs
    numbers = {name: pool.scores[column][best] for name, column in FACTORS.items()}
    numbers |= {"score": pool.scores["score"][best]}
    nothing = np.zeros(0)  # where nothing was scored there are no inputs either
    numbers |= {name: inputs.get(column, nothing)[best] for name, column in _INPUTS.items()}
    names = {name: [inputs[name][i] for i in places] for name in _NAMES}
    return CallEntry(head, pool.ids[best], ranks, names, numbers, given, tokens)
