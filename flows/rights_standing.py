"""Requests for a standing instruction: what each one changes. Doing it twice comes to the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flows.job import Job
from lake import locks
from lake.rights import standing, tombstones
from lake.rights.requests import Request
from transforms.standing import Standing
from transforms.subjects import Subject

LOCK = "standing"
_WAIT_SECONDS = 30.0
Counts = dict[str, int | str]


def pin(job: Job, request: Request) -> Counts:
    """Keep a memory whatever its decay."""
    memory = str(request.subject.memory)
    return _changed(job, request, lambda one: replace(one, pinned=_with(one.pinned, memory)))


def unpin(job: Job, request: Request) -> Counts:
    """Take a pin back."""
    memory = request.subject.memory
    return _changed(
        job, request, lambda one: replace(one, pinned=tuple(m for m in one.pinned if m != memory))
    )


def hold(job: Job, request: Request) -> Counts:
    """Remove nothing of the subject from now on."""
    return _changed(job, request, lambda one: replace(one, is_held=True))


def release(job: Job, request: Request) -> Counts:
    """Take a legal hold back."""
    return _changed(job, request, lambda one: replace(one, is_held=False))


def opt_out(job: Job, request: Request) -> Counts:
    """Remember nothing of the user from now on, and serve nothing of it."""
    # The tombstone first: it is what refuses rows.
    tombstones.place(job.lake, request.subject, None, request.request_id, mark="opted_out")
    at = request.requested_at
    return _changed(
        job,
        request,
        lambda one: replace(one, is_opted_out=True, opted_out_at=one.opted_out_at or at),
    )


def opt_in(job: Job, request: Request) -> Counts:
    """Remember the user again."""
    done = _changed(job, request, lambda one: replace(one, is_opted_out=False, opted_out_at=None))
    tombstones.lift(job.lake, request.subject, mark="opted_out")
    return done


def forbid_topic(job: Job, request: Request) -> Counts:
    """Store nothing more that mentions a topic; retain takes out what is stored."""
    topic = str(request.details["topic"])
    return _changed(
        job, request, lambda one: replace(one, forbidden_topics=_with(one.forbidden_topics, topic))
    )


def allow_topic(job: Job, request: Request) -> Counts:
    """Take a forbidden topic back."""
    topic = request.details["topic"]
    return _changed(
        job,
        request,
        lambda one: replace(one, forbidden_topics=tuple(t for t in one.forbidden_topics if t != topic)),
    )


def period(job: Job, request: Request) -> Counts:
    """Set, or with None take back, the user's own retention period."""
    seconds = request.details["seconds"]
    return _changed(
        job, request, lambda one: replace(one, period_seconds=None if seconds is None else int(seconds))
    )


def _changed(job: Job, request: Request, change: Callable[[Standing], Standing]) -> Counts:
    """Change the record of the request's subject (for a pin, of the memory's keeper); counts what stands."""
    keeper = request.details.get("keeper")
    subject = request.subject if keeper is None else Subject(**keeper)
    with locks.hold(job.lake, LOCK, _WAIT_SECONDS):
        after = change(standing.load(job.lake, subject))
        standing.save(job.lake, after)
    return {
        "pins": len(after.pinned),
        "topics": len(after.forbidden_topics),
        "is_held": int(after.is_held),
        "is_opted_out": int(after.is_opted_out),
        "period_seconds": after.period_seconds or 0,
    }


def _with(held: tuple[str, ...], one: str) -> tuple[str, ...]:
    return tuple(sorted({*held, one}))


ACTIONS: dict[str, Callable[[Job, Request], Counts]] = {
    "pin": pin,
    "unpin": unpin,
    "hold": hold,
    "release": release,
    "opt_out": opt_out,
    "opt_in": opt_in,
    "forbid_topic": forbid_topic,
    "allow_topic": allow_topic,
    "period": period,
}
