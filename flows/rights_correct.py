"""Corrections: of an episode, said anew and the wrong one erased; of a fact, taken back and asserted anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.rights_find import Found, find
from lake import landing, revisions, tables
from lake.rights import requests
from lake.rights.requests import Request
from transforms.claims.corrections import FIELD, SOURCE, correction_of
from transforms.claims.keys import key_of
from transforms.claims.sentences import sentence_of
from transforms.errors import UsageError
from transforms.schemas import FACTS
from transforms.subjects import Subject

_KEPT = (
    "tenant_id",
    "user_id",
    "agent_id",
    "session_id",
    "kind",
    "role",
    "speaker",
    "tool_name",
    "tool_arguments",
    "steps",
    "outcome",
    "tags",
    "is_injected",
    "parent_id",
    "turn_index",
    "retention_tier",
    "expires_at",
    "event_at",
)
"""Columns of a wrong episode that the right one has, too."""
Counts = dict[str, int | str]


def details_of(job: Job, tenant: str, memory: str, text: str, new_object: str | None) -> dict[str, Any]:
    """What a correction needs to be done, and done again after a kill.

    Raises:
        UsageError: There is no such memory, it is neither an episode nor a fact, or what is given
            cannot stand in its place.
    """
    found = find(job, tenant, memory)
    if found.is_episode:
        if new_object is not None:
            raise UsageError("an episode has no object", "Leave --object out, or name a fact.")
        row = _episode(found.row, text)
    elif found.table is FACTS:
        row = _fact(job, found, text, new_object)
    else:
        raise UsageError(
            f"{found.id[:8]} is derived: it follows what it rests on",
            "Correct the episode or the fact that slowwave explain shows behind it.",
        )
    refused = landing.check(job.lake, row, job.policy, datetime.now(UTC), SOURCE)
    if refused is not None:
        raise UsageError(f"the corrected text cannot be stored: {refused.reason}", refused.detail)
    return {"memory": found.id, "is_fact": found.table is FACTS, "row": row}


def before_and_after(found: Found, text: str, new_object: str | None) -> tuple[str, str]:
    """What the memory says and what it would say: of a fact its sentence, of an episode its text."""
    if found.is_episode:
        return str(found.row["content"] or ""), text
    parts = {name: found.row[name] for name in ("subject", "predicate", "aspect", "polarity")}
    claim = {**parts, "object": new_object, "operation": "assert", "speaker": ""}
    return str(found.row["fact"]), str(sentence_of(pl.DataFrame([claim]))[0])


def correct(job: Job, request: Request, *, is_exclusive: bool) -> tuple[Counts, bool]:
    """Land the correction; erase a wrong episode, look whether a wrong fact has been retired.

    Args:
        job: The run.
        request: The request.
        is_exclusive: Whether the caller holds ``flows.job.exclusive``.

    Returns:
        Counts, and whether all is done: a fact changes with the next consolidation.

    Raises:
        SlowwaveError: It could not be landed, or the erasure, a request of its own, failed.
    """
    refused = _land(job, request)
    if refused is not None:  # its subject was erased or opted out since it asked: nothing is left to correct
        return {"landed": 0, "refused": refused}, True
    if request.details["is_fact"]:
        is_done = _is_retired(job, request)
        return {"landed": 1, "facts_retired": int(is_done)}, is_done
    erased = _erase(job, request, is_exclusive=is_exclusive)
    return {"landed": 1, "erase_request": erased}, True


def _land(job: Job, request: Request) -> str | None:
    """Land the row under an id of its request, so that landing it again adds nothing; why not, if refused."""
    row = dict(request.details["row"])
    named = {**row.pop(FIELD), "request_id": request.request_id}
    row |= {"id": f"correction-{request.request_id}", FIELD: named}
    at = request.requested_at
    receipt = landing.append(job.lake, [row], policy=job.policy, now=at, source=SOURCE)
    return receipt.refused[0].reason if receipt.refused else None


def _episode(wrong: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The right episode: all of the wrong one but its text and what followed from that."""
    kept = {name: _plain(wrong[name]) for name in _KEPT if wrong[name] is not None}
    return {**kept, "content": text, FIELD: {}}


def _fact(job: Job, found: Found, text: str, new_object: str | None) -> dict[str, Any]:
    """An episode in which the person says what holds instead."""
    fact, limit = found.row, job.policy.claims.max_object_chars
    if new_object is None:
        raise UsageError("a fact needs its new object", 'Say it: --object "window".')
    key = key_of(pl.Series([new_object]))[0]
    if not key or len(new_object) > limit:
        raise UsageError(f"the object has to have 1 to {limit} characters", "Say it shorter.")
    if key == fact["object_key"]:
        raise UsageError("the fact holds that object already", "Nothing has to be corrected.")
    scope = {name: fact[name] for name in ("tenant_id", "user_id", "agent_id") if fact[name]}
    told = correction_of(fact, new_object, "")
    kept = {"kind": "conversation", "role": "user", "retention_tier": job.policy.facts.retention_tier}
    said = (
        {"event_at": job.as_of.isoformat()}
        if fact["last_confirmed_at"] < job.as_of <= datetime.now(UTC)
        else {}
    )
    return {**scope, **kept, **said, "content": text, FIELD: told}


def _is_retired(job: Job, request: Request) -> bool:
    """Whether the wrong fact holds no more."""
    tenant, fact_id = request.subject.tenant, request.details["memory"]
    named = (pl.col("tenant_id") == tenant) & (pl.col("fact_id") == fact_id)
    rows = tables.scan(job.lake, FACTS, buckets=[job.lake.bucket(tenant)]).filter(named).collect()
    stood = revisions.alive(revisions.newest(FACTS, rows))
    return bool(stood["retired_at"].is_not_null().all())


def _erase(job: Job, request: Request, *, is_exclusive: bool) -> str:
    """Erase the wrong episode under a request of its own; the same one after a kill. Returns its id."""
    from flows import erase

    subject = Subject(request.subject.tenant, memory=request.details["memory"])
    asked = request.details.get("erase_request")
    if asked is None:
        opened = erase.record(job, subject, request.basis, request.requested_by)
        details = {**request.details, "erase_request": opened.request_id}
        requests.keep_details(job.lake, request, details)
    else:
        waiting = (one for one in requests.open_requests(job.lake) if one.request_id == asked)
        found = next(waiting, None)
        if found is None:
            return str(asked)
        opened = found
    if is_exclusive:
        erase.complete(job, opened)
    else:
        told = {"basis": request.basis, "requested_by": request.requested_by}
        erase.run_erase(job, subject, **told, request=opened)
    return opened.request_id


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
