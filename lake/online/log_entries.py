"""What waits to be logged of a call, and the lines that are made of it off the hot path."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lake.candidates import Pool
from lake.lake import Lake
from lake.recall_segments import CALL, USED, call_frame
from lake.rights import standing, tombstones
from lake.rights.tombstones import Tombstones
from lake.scope import EPOCH, Scope
from transforms.policy import RedactPolicy
from transforms.rights_tables import RECALL_CALLS
from transforms.standing import Standing
from transforms.topics_forbidden import is_forbidden

FACTORS = {
    "relevance": "relevance",
    "recency": "recency",
    "importance": "importance_factor",
    "frequency": "frequency",
    "type": "type_factor",
}
"""Columns of the log, and those of ``scoring`` that they hold."""
_INPUTS = {
    "cosine": "cosine",
    "words": "words",
    "memory_importance": "importance",
    "access_count": "access_count",
    "last_accessed_at": "seen_us",
    "event_at": "event_us",
}
_NAMES = ("kind", "tier", "outcome")
_WHOLE = ("access_count", "last_accessed_at", "event_at")


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


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def bucket_of(lake: Lake, entry: Entry) -> int:
    """Tenant bucket of an entry."""
    return lake.bucket(entry.tenant if isinstance(entry, UseEntry) else entry.head.scope.tenant)


class Batch:
    """Entries of one tenant bucket on their way to a segment.

    Args:
        lake: Where.
        entries: What waits.
        redact: What is taken out of queries.
    """

    def __init__(self, lake: Lake, entries: Sequence[Entry], redact: RedactPolicy) -> None:
        self._lake = lake
        self._redact = redact
        self._entries = list(entries)
        self._queries: dict[str, str] = {}
        self.refused = 0

    def lines(self) -> tuple[bytes, int]:
        """JSON lines of what may be kept now, and how many rows are in them; the rest is left out for good.

        Nothing is kept of a call of an erased or opted-out subject or one whose query is on a topic its
        subject has forbidden, and of no call a row that is not to be served any more.
        """
        held = tombstones.load(self._lake)
        forbidding = [one for one in standing.load_all(self._lake) if one.forbidden_topics]
        told: list[tuple[str, dict[str, Any], int]] = []
        kept: list[Entry] = []
        for entry in self._entries:
            if isinstance(entry, UseEntry):
                record = self._use(entry, held)
            else:
                record = self._call(entry, held, forbidding)
            if record is not None:
                kept.append(entry)
                told.append(record)
        self.refused += len(self._entries) - len(kept)
        self._entries = kept
        self._finish([record for name, record, _ in told if name == CALL])
        lines = [orjson.dumps({name: record}, option=orjson.OPT_APPEND_NEWLINE) for name, record, _ in told]
        return b"".join(lines), sum(rows for _, _, rows in told)

    def _use(self, entry: UseEntry, held: Tombstones) -> tuple[str, dict[str, Any], int] | None:
        scope = (entry.tenant, entry.user, entry.agent, entry.session)
        if held and held.mark_of(scope, entry.used_at):
            return None
        names = [n for n in entry.memory_ids if not (held and held.mark_of(scope, None, n))]
        told = dict(zip(("tenant_id", "user_id", "agent_id", "session_id"), scope, strict=True))
        at = _microseconds(entry.used_at)
        return USED, {"call_id": entry.call_id, **told, "memory_ids": names, "used_at": at}, len(names)

    def _call(
        self, entry: CallEntry, held: Tombstones, forbidding: Sequence[Standing]
    ) -> tuple[str, dict[str, Any], int] | None:
        head, scope = entry.head, entry.head.scope
        if held is not head.tombstones and (held or head.tombstones):
            return None  # somebody was erased since: what was seen then may be theirs
        if held and held.mark_of((scope.tenant, scope.user, scope.agent, scope.session), head.asked_at):
            return None
        if forbidding and is_forbidden({**scope.columns(), "raw": head.query}, forbidding):
            return None
        ids = entry.ids.astype(np.str_).tolist()
        places = _showable(entry, ids, held)
        record = {
            "call_id": head.call_id,
            "tenant_id": scope.tenant,
            "user_id": scope.user,
            "agent_id": scope.agent,
            "session_id": scope.session,
            "query": self._redacted(head),
            "verb": head.verb,
            "route": head.route,
            "weights": head.weights,
            "policy_hash": head.policy_hash,
            "generation": head.generation,
            "recalled_at": _microseconds(head.asked_at),
            "rows": _columns(entry, ids, places),
        }
        return CALL, record, len(places)

    def _redacted(self, head: CallHead) -> str:
        if head.call_id not in self._queries:
            self._queries[head.call_id] = redacted(head.query, head.scope.tenant, self._redact)
        return self._queries[head.call_id]

    def _finish(self, calls: list[dict[str, Any]]) -> None:
        """Seal the queries where the lake is encrypted."""
        if not calls or self._lake.encryption is None:
            return
        from lake.crypto.frames import seal  # only where a lake is encrypted

        sealed = seal(self._lake, RECALL_CALLS, call_frame(self._lake, calls))["query"]
        for call, query in zip(calls, sealed, strict=True):
            call["query"] = query


def redacted(query: str, tenant: str, policy: RedactPolicy) -> str:
    """A query as a landed text would be kept."""
    if not policy.is_enabled:
        return query
    from transforms.normalise import RESTRICTED_KINDS  # heavy, and off the hot path
    from transforms.redact import redact_text

    more = RESTRICTED_KINDS if tenant in policy.keep_restricted_tenants else ()
    return redact_text(query, (*policy.keep_kinds, *more))[0]


def _showable(entry: CallEntry, ids: list[str], held: Tombstones) -> list[int]:
    """Places of the candidates that may be named.

    The call itself saw to the tombstones of its time. Of a memory that is being erased, what rests on it is
    known only of rows that were read whole, which are those that were returned.
    """
    places = range(len(ids))
    if not held:
        return list(places)
    if held.is_erasing_memories:
        return [i for i in places if ids[i] in entry.returned]
    tenant = entry.head.scope.tenant
    return [i for i in places if held.mark_of((tenant, None, None, None), None, ids[i]) is None]


def _columns(entry: CallEntry, ids: list[str], places: list[int]) -> dict[str, list[Any]]:
    """``recall_rows.ROW_COLUMNS`` of the candidates at some places."""
    if not places:
        return _blank(_microseconds(entry.head.asked_at))
    names = [ids[i] for i in places]
    found: dict[str, list[Any]] = {
        name: (
            values[places].astype(np.int64) if name in _WHOLE else values[places].astype(np.float64)
        ).tolist()
        for name, values in entry.numbers.items()
    }
    found |= {name: [values[i] for i in places] for name, values in entry.names.items()}
    packed = entry.tokens or {}
    return found | {
        "memory_id": names,
        "rank": [entry.ranks[i] for i in places],
        "is_returned": [name in entry.returned for name in names],
        "is_packed": [name in packed for name in names],
        "tokens": [packed.get(name) for name in names],
    }


def _blank(at_us: int) -> dict[str, list[Any]]:
    """The one row of a call that found nothing: a miss is worth knowing, too."""
    zeros = dict.fromkeys(("score", *FACTORS, "memory_importance"), [0.0])
    texts: dict[str, list[Any]] = {"memory_id": [""], "kind": [""], "tier": [""], "outcome": [None]}
    flags = {"is_returned": [False], "is_packed": [False]}
    unknown: dict[str, list[Any]] = {"cosine": [None], "words": [None], "tokens": [None]}
    instants = {"last_accessed_at": [at_us], "event_at": [at_us]}
    return {**zeros, **texts, **flags, **unknown, **instants, "rank": [0], "access_count": [0]}
