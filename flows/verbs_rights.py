"""Verbs of pins, holds, opt-outs, forbidden topics, periods and corrections: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from flows.setup import Output, job_of
from transforms.errors import UsageError
from transforms.legal_bases import basis_of
from transforms.subjects import Subject

if TYPE_CHECKING:
    from flows.job import Job
    from flows.rights_find import Found
    from lake.rights.requests import Request
    from transforms.standing import Standing

_DAY_SECONDS = 86_400


def pin(options: argparse.Namespace) -> Output:
    """Keep a memory whatever its decay."""
    job = job_of(options)
    found = _memory(job, options)
    asked = _ask(job, options, "pin", _memory_subject(options, found.id), {"keeper": found.keeper.as_dict()})
    return _told(job, asked, f"{found.id[:8]} is pinned")


def unpin(options: argparse.Namespace) -> Output:
    """Take a pin back; also of a memory that has gone."""
    from lake.rights import standing

    job = job_of(options)
    tenant = _tenant(options)
    held = [
        (one, memory)
        for one in standing.load_all(job.lake)
        for memory in one.pinned
        if one.subject.tenant == tenant and memory.startswith(options.id) and options.id
    ]
    if len(held) != 1:
        found = (
            f"{len(held)} pinned memories begin with {options.id}" if held else f"{options.id} is not pinned"
        )
        raise UsageError(found, "Give the whole id of a pinned memory.")
    one, memory = held[0]
    subject = Subject(tenant, memory=memory)
    return _told(
        job,
        _ask(job, options, "unpin", subject, {"keeper": one.subject.as_dict()}),
        f"{memory[:8]} is not pinned",
    )


def hold(options: argparse.Namespace) -> Output:
    """Legal hold."""
    job = job_of(options)
    subject = _held_subject(job, options)
    from flows.rights_find import is_known

    told = f"nothing of this {subject.kind} is removed"
    warning = None
    if not is_known(job, subject):
        warning = f"nothing of this {subject.kind} is in the lake yet; the hold stands for what comes"
        told = f"WARNING: {warning}"
    said = _told(job, _ask(job, options, "hold", subject), told)
    said.data["warning"] = warning
    return said


def release(options: argparse.Namespace) -> Output:
    """Take a legal hold back."""
    job = job_of(options)
    subject = _held_subject(job, options)
    _require(_standing(job, subject).is_held, f"this {subject.kind} is not held", "See slowwave status.")
    asked = _ask(job, options, "release", subject)
    text = f"the hold on this {subject.kind} is lifted"
    return _told(job, asked, "\n".join([text, *_open_erasures(job, subject)]))


def _open_erasures(job: Job, subject: Subject) -> list[str]:
    """A line for each open erasure of the subject, of a part of it, or of what it is a part of."""
    from flows.erase_objects import covers
    from lake.rights import requests

    return [
        f"erasure {one.request_id} is open: the next night or slowwave erase --resume completes it"
        for one in requests.open_requests(job.lake)
        if one.kind == "erase"
        and one.subject.tenant == subject.tenant
        and (covers(one.subject, subject) or covers(subject, one.subject))
    ]


def opt_out(options: argparse.Namespace) -> Output:
    """Remember nothing of a user from now on."""
    job = job_of(options)
    asked = _ask(job, options, "opt_out", _user(options))
    text = "nothing of this user is stored or served; erase removes what is stored already"
    return _told(job, asked, text)


def opt_in(options: argparse.Namespace) -> Output:
    """Take an opt-out back."""
    from lake.rights import tombstones

    job = job_of(options)
    subject = _user(options)
    tombstone = tombstones.load(job.lake).of(subject)
    is_out = tombstone is not None and "opted_out" in tombstone.until
    _require(is_out, "this user has not opted out", "Nothing has to be taken back.")
    asked = _ask(job, options, "opt_in", subject)
    return _told(
        job, asked, "what comes in from now on is stored; files that held refused rows are read again"
    )


def forbid_topic(options: argparse.Namespace) -> Output:
    """Store nothing more on a topic."""
    from transforms.topics_forbidden import MOST_TOPICS, topic_of

    job = job_of(options)
    subject, topic = _owner(options), topic_of(options.topic)
    held = _standing(job, subject).forbidden_topics
    _require(topic not in held, "this topic is forbidden already", "Nothing has to be done.")
    _require(len(held) < MOST_TOPICS, f"{MOST_TOPICS} topics are forbidden", "Take some of them back first.")
    asked = _ask(job, options, "forbid_topic", subject, {"topic": topic})
    return _told(job, asked, "the topic is not stored any more; the next retain removes rows that mention it")


def allow_topic(options: argparse.Namespace) -> Output:
    """Take a forbidden topic back."""
    from transforms.topics_forbidden import topic_of

    job = job_of(options)
    subject, topic = _owner(options), topic_of(options.topic)
    is_there = topic in _standing(job, subject).forbidden_topics
    _require(is_there, "this topic is not forbidden", "Write it as it was forbidden.")
    asked = _ask(job, options, "allow_topic", subject, {"topic": topic})
    return _told(job, asked, "the topic is stored again; files that held refused rows are read again")


def period(options: argparse.Namespace) -> Output:
    """The user's own retention period."""
    from transforms.standing import MIN_PERIOD_SECONDS

    job = job_of(options)
    subject, least = _user(options), MIN_PERIOD_SECONDS // _DAY_SECONDS
    seconds = None
    if options.days != "policy":
        is_number = options.days.isascii() and options.days.isdigit() and len(options.days) < len("100000")
        _require(
            is_number and int(options.days) >= least,
            f"{options.days!r} is no period of {least} days or more",
            "Write a whole number of days, or policy.",
        )
        seconds = int(options.days) * _DAY_SECONDS
    asked = _ask(job, options, "period", subject, {"seconds": seconds})
    told = "as the policy says" if seconds is None else f"for at most {options.days} days"
    return _told(job, asked, f"what is known of this user is kept {told}")


def correct(options: argparse.Namespace) -> Output:
    """Put an episode or a fact right."""
    from flows.rights_correct import before_and_after, details_of

    job = job_of(options)
    found = _memory(job, options)
    details = details_of(job, _tenant(options), found.id, options.to, options.object)
    basis_of(options.basis)
    is_fact = bool(details["is_fact"])
    if not options.yes:
        before, after = before_and_after(found, options.to, options.object)
        plan = {"id": found.id, "table": found.table.name, "stored": 1, "erased": int(not is_fact)}
        plan |= {"before": before, "after": after}
        what = "the old object is taken back" if is_fact else "the wrong episode is erased"
        return Output(
            {"dry_run": True, "plan": plan},
            f"would store the correction of {found.id[:8]}; {what}\n  before: {before}\n  after:  {after}\n"
            "Nothing was changed: add --yes.",
        )
    asked = _ask(job, options, "correct", _memory_subject(options, found.id), details)
    is_open = "the fact changes with the next consolidation, which closes the request"
    return _told(job, asked, "corrected" if asked.state == "done" else is_open)


def requests(options: argparse.Namespace) -> Output:
    """List requests."""
    from flows.rights_list import listed

    is_scoped = any((options.tenant, options.user, options.agent, options.session))
    subject = Subject(_tenant(options), options.user, options.agent, options.session) if is_scoped else None
    return listed(job_of(options), subject)


def _ask(
    job: Job,
    options: argparse.Namespace,
    kind: str,
    subject: Subject,
    details: Mapping[str, Any] | None = None,
) -> Request:
    from flows.rights import ask

    return ask(job, kind, subject, basis=options.basis, requested_by=options.requested_by, details=details)


def _told(job: Job, request: Request, text: str) -> Output:
    from flows.rights import as_dict

    due = "" if request.state == "done" else f", due {request.due_at:%Y-%m-%d}"
    told = f"{text}\nrequest {request.request_id}: {request.kind}, {request.state}{due}"
    return Output({"request": as_dict(job, request)}, told)


def _require(condition: bool, message: str, remedy: str) -> None:
    if not condition:
        raise UsageError(message, remedy)


def _tenant(options: argparse.Namespace) -> str:
    _require(bool(options.tenant), f"{options.verb} needs a tenant", "Pass --tenant.")
    return str(options.tenant)


def _user(options: argparse.Namespace) -> Subject:
    tenant = _tenant(options)
    is_user = bool(options.user) and not (options.agent or options.session)
    _require(is_user, f"{options.verb} is about one user", "Pass --tenant and --user alone.")
    return Subject(tenant, user=options.user)


def _owner(options: argparse.Namespace) -> Subject:
    """A user or an agent."""
    tenant = _tenant(options)
    is_owner = bool(options.user) != bool(options.agent) and not options.session
    _require(is_owner, f"{options.verb} is about one user or agent", "Pass --tenant, and --user or --agent.")
    return Subject(tenant, user=options.user, agent=options.agent)


def _held_subject(job: Job, options: argparse.Namespace) -> Subject:
    tenant = _tenant(options)
    memory = options.memory
    if memory is not None:
        from flows.rights_find import find

        memory = find(job, tenant, memory).id
    subject = Subject(tenant, options.user, options.agent, options.session, memory)
    _require(
        (subject.kind == "tenant") == bool(options.tenant_wide),
        "the whole tenant must be asked for, and alone",
        "Name a --user, --agent, --session or --memory, or say --tenant-wide.",
    )
    return subject


def _memory(job: Job, options: argparse.Namespace) -> Found:
    """The memory of the call; it must be of the user, agent and session that are named."""
    from flows.rights_find import find

    found = find(job, _tenant(options), options.id)
    asked = {"user_id": options.user, "agent_id": options.agent, "session_id": options.session}
    is_mine = all(value is None or found.row.get(name) == value for name, value in asked.items())
    _require(is_mine, f"this scope has no memory {options.id}", "Leave the user, agent and session out.")
    return found


def _memory_subject(options: argparse.Namespace, memory: str) -> Subject:
    return Subject(_tenant(options), memory=memory)


def _standing(job: Job, subject: Subject) -> Standing:
    from lake.rights import standing

    return standing.load(job.lake, subject)


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "pin": pin,
    "unpin": unpin,
    "hold": hold,
    "release": release,
    "opt-out": opt_out,
    "opt-in": opt_in,
    "forbid-topic": forbid_topic,
    "allow-topic": allow_topic,
    "period": period,
    "correct": correct,
    "requests": requests,
}
