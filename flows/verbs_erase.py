"""Verbs of erasure and its certificates: options in, output out."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from flows.setup import Output, job_of
from lake.rights.subjects import salt, subject_hash
from transforms.errors import CheckError, InputError, UsageError
from transforms.legal_bases import basis_of
from transforms.subjects import Subject

ID_CHARS = 32
"""Of an id; one that is gone already can be named by all of it only."""
_CERTIFICATE = re.compile(r"certificates/[0-9a-z]+\.json", re.ASCII)


def erase(options: argparse.Namespace) -> Output:
    """Erase a subject, complete open erasures, or check a certificate."""
    if options.verify:
        return _verify(options)
    if options.resume:
        return _resume(options)
    if options.basis:
        basis_of(options.basis)
    subject = _whole(options, subject_of(options))
    if not options.yes:
        from flows.erase_plan import plan_erase, plan_text

        plan = plan_erase(job_of(options), subject, options.alias)
        return Output({"dry_run": True, "plan": plan}, plan_text(plan))
    if not options.basis:
        raise UsageError("an erasure needs its legal basis", "Name it: --basis gdpr-art-17.")
    from flows.erase import run_erase

    certificate = run_erase(
        job_of(options),
        subject,
        basis=options.basis,
        requested_by=options.requested_by,
        aliases=options.alias,
        canaries=options.canary,
    )
    return Output({"certificate": dict(certificate.data)}, certificate.text)


def subject_of(options: argparse.Namespace) -> Subject:
    """The subject that the flags name.

    Raises:
        UsageError: They name none, or a whole tenant without saying so.
    """
    if not options.tenant:
        raise UsageError("whose?", "Name the tenant: --tenant.")
    subject = Subject(options.tenant, options.user, options.agent, options.session, options.memory)
    if (subject.kind == "tenant") != bool(options.tenant_wide):
        raise UsageError(
            "the whole tenant must be asked for, and alone",
            "Name a --user, --agent, --session or --memory, or say --tenant-wide.",
        )
    if options.alias and subject.kind != "user":
        raise UsageError("an alias is another name of a user", "Name the --user, or leave --alias out.")
    return subject


def _whole(options: argparse.Namespace, subject: Subject) -> Subject:
    """The subject with the whole id of its memory, of which other verbs show the first characters only.

    Raises:
        UsageError: No memory, or several, begin with what is given.
    """
    if subject.memory is None or len(subject.memory) >= ID_CHARS:
        return subject
    from flows.rights_find import find

    return Subject(subject.tenant, memory=find(job_of(options), subject.tenant, subject.memory).id)


def _resume(options: argparse.Namespace) -> Output:
    """Complete open erasures; the first that fails is raised once all were tried."""
    from flows.erase import resume_open
    from flows.job import exclusive

    job = job_of(options)
    with exclusive(job):
        done = resume_open(job)
    failed = [one.error for one in done if one.error is not None]
    if failed:
        raise failed[0]
    certificates = [one.certificate for one in done if one.certificate is not None]
    text = "\n\n".join(one.text for one in certificates) or "no erasure is open"
    return Output({"certificates": [dict(one.data) for one in certificates]}, text)


def _verify(options: argparse.Namespace) -> Output:
    """Check a certificate's hash, and where the subject is named, that nothing of it is there."""
    from flows.erase_certificate import parse

    certificate = parse(_held(options))
    if not certificate.is_whole:
        raise CheckError(
            "the certificate's hash is not that of its content: it was changed",
            "Take the one in certificates/ of the lake.",
        )
    data = {"hash": "valid", "outcome": certificate.outcome, "request_id": certificate.request_id}
    text = f"the certificate is whole: {certificate.outcome}, request {certificate.request_id}"
    if not options.tenant:
        return Output({**data, "absence": None}, f"{text}\nname the subject to look for it again")
    from flows.erase_verify import look_again

    job, subject = job_of(options), subject_of(options)
    if subject_hash(salt(job.lake), subject) != certificate.data.get("subject_hash"):
        raise UsageError("the certificate is about another subject", "Name the one that it was issued for.")
    found = look_again(job, subject, options.alias, options.canary)
    told = f"{text}\nnothing of the subject is there: {found['files']:,} files read back"
    return Output({**data, "absence": found}, told)


def _held(options: argparse.Namespace) -> bytes:
    """A certificate: a file, or the one of that name in the lake, as an erasure tells it.

    Raises:
        InputError: Neither is there.
    """
    name = str(options.verify)
    try:
        return Path(name).read_bytes()
    except OSError as error:
        held = job_of(options).lake.storage.read(name) if _CERTIFICATE.fullmatch(name) else None
        if held is None:
            raise InputError(
                f"{name} cannot be read", "Name a file, or the lake's certificates/<request>.json."
            ) from error
        return held


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"erase": erase}
