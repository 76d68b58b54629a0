"""Requests of people's rights: recorded, done, written into the audit, closed.

A request that is killed midway stays open with all it needs; ``resume_open`` completes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flows.job import Job
from flows.rights_correct import correct
from flows.rights_standing import ACTIONS
from lake.rights import audit, requests
from lake.rights.requests import Request
from lake.rights.subjects import salt, subject_hash
from transforms.errors import SlowwaveError
from transforms.legal_bases import basis_of
from transforms.subjects import Subject

CORRECT = "correct"
KINDS = (*ACTIONS, CORRECT)
"""Kinds of requests that are done here."""


def ask(
    job: Job,
    kind: str,
    subject: Subject,
    *,
    basis: str,
    requested_by: str,
    details: Mapping[str, Any] | None = None,
) -> Request:
    """Record a request and do it.

    Args:
        job: The run.
        kind: One of ``KINDS``.
        subject: Whom or what it is about.
        basis: Legal basis (``transforms.legal_bases``).
        requested_by: One of ``rights_tables.REQUESTERS``.
        details: What it needs beside.

    Returns:
        The request as it stands: ``done``, or ``open`` where a later step has to do the rest.

    Raises:
        UsageError: The basis is none of the list.
        SlowwaveError: Doing it failed; the request is open, and ``resume_open`` tries again.
    """
    now = datetime.now(UTC)
    due = now + timedelta(days=job.policy.rights.other_due_days)
    opened = requests.open_request(
        job.lake, kind, subject, basis_of(basis), requested_by, now, due, details or {}
    )
    return complete(job, opened, is_first=True)


def complete(job: Job, request: Request, *, is_first: bool = False) -> Request:
    """Do a request, or, inside ``exclusive``, the rest of one; doing it twice comes to the same.

    Raises:
        SlowwaveError: It failed; the request stays open.
    """
    if request.kind == CORRECT:
        counts, is_done = correct(job, request, is_exclusive=not is_first)
    else:
        counts, is_done = ACTIONS[request.kind](job, request), True
    if not is_done:
        if is_first:
            _audit(job, request, f"{request.kind}_requested", counts, is_first=True)
        return replace(request, evidence=counts)
    entry = _audit(job, request, f"{request.kind}_done", counts, is_first=is_first)
    evidence = {**counts, "audit_seq": entry.seq, "audit_hash": entry.hash}
    return requests.update(job.lake, request, "done", evidence, datetime.now(UTC))


def resume_open(job: Job) -> list[Request]:
    """Complete every open request of ``KINDS`` that can be; call it inside ``exclusive``.

    One that fails stays open for the next night, in plain sight of status, requests and doctor.

    Returns:
        Those that are done now.
    """
    done = []
    for request in requests.open_requests(job.lake):
        if request.kind in KINDS:
            with suppress(SlowwaveError):
                after = complete(job, request)
                done += [after] if after.state == "done" else []
    return done


def as_dict(job: Job, request: Request) -> dict[str, Any]:
    """The shape that ``--json`` prints: hashes and counts, no ids of people."""
    return {
        "request_id": request.request_id,
        "kind": request.kind,
        "state": request.state,
        "subject_kind": request.subject.kind,
        "subject_hash": subject_hash(salt(job.lake), request.subject),
        "basis": request.basis,
        "requested_by": request.requested_by,
        "requested_at": request.requested_at.isoformat(),
        "due_at": request.due_at.isoformat(),
        "evidence": dict(request.evidence),
    }


def _audit(
    job: Job, request: Request, kind: str, counts: Mapping[str, int | str], *, is_first: bool
) -> audit.Entry:
    """An event of this request; after a kill, the one that is there already."""
    if not is_first:
        for entry in audit.entries(job.lake):
            if entry.request_id == request.request_id and entry.kind == kind:
                return entry
    return audit.append(
        job.lake,
        kind,
        at=datetime.now(UTC),
        subject_hash=subject_hash(salt(job.lake), request.subject),
        request_id=request.request_id,
        counts=counts,
    )
