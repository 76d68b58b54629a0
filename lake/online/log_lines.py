"""Logged entries to lines of a segment, off the hot path: redacted, sealed, and only what may be kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import orjson

from lake.answers import FACTORS
from lake.lake import Lake
from lake.online.log_entries import CallEntry, CallHead, Entry, UseEntry
from lake.recall_segments import CALL, USED, call_frame
from lake.rights import standing, tombstones
from lake.rights.tombstones import Tombstones
from lake.scope import EPOCH
from transforms.policy import RedactPolicy
from transforms.rights_tables import RECALL_CALLS
from transforms.standing import Standing
from transforms.topics_forbidden import is_forbidden

_WHOLE = ("access_count", "last_accessed_at", "event_at")


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
            "weighting": head.weights,
            "policy_hash": head.policy_hash,
            "seconds": head.seconds,
            "budget_tokens": head.budget_tokens,
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
    zeros = {name: [0.0] for name in ("score", *FACTORS, "closeness", "memory_importance")}
    texts: dict[str, list[Any]] = {"memory_id": [""], "kind": [""], "tier": [""], "outcome": [None]}
    flags = {"is_returned": [False], "is_packed": [False]}
    unknown: dict[str, list[Any]] = {"cosine": [None], "word_match": [None], "tokens": [None]}
    instants = {"last_accessed_at": [at_us], "event_at": [at_us]}
    return {**zeros, **texts, **flags, **unknown, **instants, "rank": [0], "access_count": [0]}
