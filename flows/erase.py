"""Erase: everything of one subject out of every file below the lake, proved by reading them back.

The request and a tombstone are on disk before anything else, so that from this instant nothing of the
subject is served or stored, whatever becomes of the run. Each step can be run again: a run that was killed
anywhere comes to the same state and the same proof when the next one completes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flows.erase_certificate import Certificate, issue
from flows.erase_rules import EPISODE_TABLES, held_rule
from flows.erase_steps import STEPS
from flows.erase_work import Work, work_of
from flows.job import SCRATCH, Job, exclusive
from lake import locks
from lake.erasure.removal import count
from lake.rights import audit, requests, tombstones
from lake.rights.requests import Request
from lake.rights.subjects import salt, subject_hash
from transforms.errors import BusyError, CheckError, SlowwaveError
from transforms.legal_bases import basis_of
from transforms.subjects import Subject

KIND = "erase"


def run_erase(
    job: Job,
    subject: Subject,
    *,
    basis: str,
    requested_by: str,
    aliases: Sequence[str] = (),
    canaries: Sequence[str] = (),
    request: Request | None = None,
) -> Certificate:
    """Erase a subject, and prove it.

    Args:
        job: The run.
        subject: Whom or what.
        basis: Legal basis (``transforms.legal_bases``); stands in the certificate.
        requested_by: One of ``rights_tables.REQUESTERS``.
        aliases: Further names of a user, under which it spoke in rows that name no user.
        canaries: Texts that must be in no file afterwards.
        request: One that is open already, to be completed.

    Returns:
        The certificate; its outcome is ``complete``, or ``held`` where a legal hold keeps rows.

    Raises:
        UsageError: The basis is none of the list.
        BusyError: Another run holds the lake; the request is recorded, and the next night completes it.
        CheckError: Reading back found something; the request stays open and is tried again.
    """
    opened = request or record(job, subject, basis, requested_by, aliases, canaries)
    try:
        with exclusive(job):
            return complete(job, opened)
    except BusyError as error:
        raise BusyError(
            f"the erasure is recorded as request {opened.request_id}, but another run holds the lake",
            "The next night completes it, or run slowwave erase --resume; until then nothing of the subject"
            " is served or stored.",
        ) from error


def record(
    job: Job,
    subject: Subject,
    basis: str,
    requested_by: str,
    aliases: Sequence[str] = (),
    canaries: Sequence[str] = (),
) -> Request:
    """Record a request and refuse the subject from now on; durable when it returns.

    Raises:
        UsageError: The basis is none of the list.
    """
    now = datetime.now(UTC)
    due = now + timedelta(days=job.policy.rights.erase_due_days)
    details = {"aliases": sorted(set(aliases)), "canaries": sorted(set(canaries))}
    opened = requests.open_request(job.lake, KIND, subject, basis_of(basis), requested_by, now, due, details)
    tombstones.place(job.lake, subject, None, opened.request_id)
    _audit(job, opened, "erase_requested", {"due": due.isoformat(timespec="seconds")})
    return opened


@dataclass(frozen=True)
class Resumed:
    """What became of one open request; neither where a legal hold still stands in its way."""

    request_id: str
    certificate: Certificate | None = None
    error: SlowwaveError | None = None


def resume_open(job: Job) -> list[Resumed]:
    """Complete every open erasure, oldest first; call it inside ``exclusive``.

    One that fails keeps its request open and does not keep the others from being tried.
    """
    done = []
    for request in requests.open_requests(job.lake):
        if request.kind != KIND:
            continue
        _audit_missing(job, request)
        if request.state == "held" and is_held_still(job, request):
            done.append(Resumed(request.request_id))
            continue
        try:
            done.append(Resumed(request.request_id, complete(job, request)))
        except SlowwaveError as error:
            done.append(Resumed(request.request_id, error=error))
    return done


def is_held_still(job: Job, request: Request) -> bool:
    """Whether a legal hold still keeps rows of a request."""
    work = work_of(job, request)
    return any(count(job.lake, held_rule(work, table)).rows for table in EPISODE_TABLES)


def complete(job: Job, request: Request) -> Certificate:
    """Work on a request until it is done; call it inside ``exclusive``.

    Raises:
        CheckError: Reading back found something.
        SlowwaveError: A step failed. In either case the request stays open and says so in log and audit.
    """
    with locks.hold(job.lake, SCRATCH, 0):  # a dry night's copy of the lake holds what must go
        tombstones.place(job.lake, request.subject, None, request.request_id)
        work = work_of(job, request)
        try:
            for name, act in STEPS:
                _timed(work, name, act)
        except SlowwaveError as error:
            _failed(work, error)
            raise
        return issue(work)


def _timed(work: Work, name: str, act: Callable[[Work], None]) -> None:
    began = time.perf_counter()
    with work.job.progress.task(f"erase: {name}", None):
        act(work)
    steps: dict[str, float] = work.evidence.setdefault("steps", {})
    steps[name] = round(time.perf_counter() - began, 3)
    work.save()


def _failed(work: Work, error: SlowwaveError) -> None:
    """Say that a try failed, where that can be written at all."""
    counts: dict[str, Any] = {"error": error.code}
    if isinstance(error, CheckError):
        counts["leaks"] = int(work.evidence.get("verification", {}).get("leaks", 0))
    try:
        work.request = requests.update(work.lake, work.request, "failed", counts, datetime.now(UTC))
        _audit(work.job, work.request, "erase_failed", counts)
    except SlowwaveError:  # the disk may be full; the request is open as it was
        return


def _audit_missing(job: Job, request: Request) -> None:
    """Audit a request whose recording was killed before it came to that."""
    known = {entry.kind for entry in audit.entries(job.lake) if entry.request_id == request.request_id}
    if not known:
        _audit(job, request, "erase_requested", {"due": request.due_at.isoformat(timespec="seconds")})


def _audit(job: Job, request: Request, kind: str, counts: dict[str, Any]) -> audit.Entry:
    named = subject_hash(salt(job.lake), request.subject)
    return audit.append(
        job.lake,
        kind,
        at=datetime.now(UTC),
        subject_hash=named,
        request_id=request.request_id,
        counts=counts,
    )
