"""Requests: the lasting log in table ``requests`` (hashes only), and what an open one needs to go on.

An open request lies whole below ``state/requests`` too, with real ids, so that a kill loses none; the
object goes when the request is done. The log outlives it and every erasure.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from lake import revisions, tables
from lake.lake import Lake
from lake.rights.subjects import salt, subject_hash, tenant_hash
from transforms.errors import LakeError
from transforms.schemas import REQUESTS
from transforms.subjects import Subject

PREFIX = "state/requests"
_DONE = "done"


@dataclass(frozen=True)
class Request:
    """One request as it stands.

    Attributes:
        request_id: 32 hex digits.
        kind: One of ``rights_tables.REQUEST_KINDS``.
        subject: Whom or what it is about; known while it is open.
        basis: Legal basis.
        requested_by: One of ``rights_tables.REQUESTERS``.
        requested_at: When.
        due_at: By when.
        state: One of ``rights_tables.REQUEST_STATES``.
        revision: 1, 2, ...
        evidence: Counts, hashes and codes; goes into the log.
        details: What it needs to be resumed; never goes into the log, and may be personal.
    """

    request_id: str
    kind: str
    subject: Subject
    basis: str
    requested_by: str
    requested_at: datetime
    due_at: datetime
    state: str = "open"
    revision: int = 1
    evidence: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


def open_request(
    lake: Lake,
    kind: str,
    subject: Subject,
    basis: str,
    requested_by: str,
    at: datetime,
    due_at: datetime,
    details: Mapping[str, Any] | None = None,
) -> Request:
    """Record a new request; durable when it returns, also where nothing is done about it.

    Raises:
        LakeError: The kind or who asks is none of the closed lists.
        StorageError: It cannot be written.
    """
    request = Request(
        secrets.token_hex(16), kind, subject, basis, requested_by, at, due_at, details=dict(details or {})
    )
    row = _row(lake, request, None)
    REQUESTS.conform(row)
    _keep(lake, request)
    tables.append(lake, REQUESTS, row)
    return request


def update(
    lake: Lake,
    request: Request,
    state: str,
    evidence: Mapping[str, Any],
    at: datetime,
    details: Mapping[str, Any] | None = None,
) -> Request:
    """Write the next revision of a request; ``done`` closes it and removes what it held for resuming.

    Args:
        lake: Where.
        request: As it stood.
        state: Where it stands now.
        evidence: Counts, hashes and codes; takes the place of what stood.
        at: Now.
        details: What it needs to be resumed; None leaves it.
    """
    kept = request.details if details is None else details
    after = replace(
        request, state=state, revision=request.revision + 1, evidence=dict(evidence), details=dict(kept)
    )
    row = _row(lake, after, at if state == _DONE else None)
    if state == _DONE:
        tables.append(lake, REQUESTS, row)  # first: a request must not vanish between the two
        lake.storage.delete(key_of(after.request_id))
    else:
        _keep(lake, after)
        tables.append(lake, REQUESTS, row)
    return after


def keep_details(lake: Lake, request: Request, details: Mapping[str, Any]) -> Request:
    """Note progress of an open request without a revision in the log."""
    after = replace(request, details=dict(details))
    _keep(lake, after)
    return after


def open_requests(lake: Lake) -> list[Request]:
    """Every request that is not done, oldest first, with its details.

    Raises:
        LakeError: One of them is damaged.
    """
    keys = [e.key for e in lake.storage.entries(PREFIX) if e.key.endswith(".json")]
    if not keys:
        return []
    held = [_parsed(key, raw) for key in keys if (raw := lake.storage.read(key)) is not None]
    done = set(standing_requests(lake).filter(pl.col("state") == _DONE)["request_id"])
    for request in held:
        if request.request_id in done:  # killed between the log and this
            lake.storage.delete(key_of(request.request_id))
    waiting = [request for request in held if request.request_id not in done]
    return sorted(waiting, key=lambda one: (one.requested_at, one.request_id))


def standing_requests(lake: Lake) -> pl.DataFrame:
    """The newest revision of each request (``schemas.REQUESTS``), by when it was made."""
    rows = revisions.latest(lake, REQUESTS)
    return rows.sort("requested_at", "request_id")


def overdue(rows: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Requests of ``standing_requests`` that are not done and should be."""
    return rows.filter((pl.col("state") != _DONE) & (pl.col("due_at") < pl.lit(at)))


def key_of(request_id: str) -> str:
    """Where an open request lies."""
    return f"{PREFIX}/{request_id}.json"


def _row(lake: Lake, request: Request, closed_at: datetime | None) -> pl.DataFrame:
    key = salt(lake)
    row = {
        "request_id": request.request_id,
        "kind": request.kind,
        "subject_kind": request.subject.kind,
        "subject_hash": subject_hash(key, request.subject),
        "tenant_hash": tenant_hash(key, request.subject.tenant),
        "basis": request.basis,
        "requested_by": request.requested_by,
        "requested_at": request.requested_at,
        "due_at": request.due_at,
        "state": request.state,
        "closed_at": closed_at,
        "evidence": json.dumps(dict(request.evidence), sort_keys=True),
        "revision": request.revision,
        "is_removed": False,
    }
    return pl.DataFrame([row], schema=REQUESTS.polars)


def _keep(lake: Lake, request: Request) -> None:
    record = {
        **{name: getattr(request, name) for name in ("request_id", "kind", "basis", "requested_by", "state")},
        "revision": request.revision,
        "subject": request.subject.as_dict(),
        "requested_at": request.requested_at.astimezone(UTC).isoformat(),
        "due_at": request.due_at.astimezone(UTC).isoformat(),
        "evidence": dict(request.evidence),
        "details": dict(request.details),
    }
    lake.storage.write(key_of(request.request_id), json.dumps(record, sort_keys=True).encode())


def _parsed(key: str, raw: bytes) -> Request:
    """An open request from its object.

    Raises:
        LakeError: It is damaged.
    """
    try:
        record = json.loads(raw)
        instants = {name: datetime.fromisoformat(record[name]) for name in ("requested_at", "due_at")}
        return Request(**{**record, **instants, "subject": Subject(**record["subject"])})
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{key} is damaged", "Restore it from a backup, or make the request again."
        ) from error
