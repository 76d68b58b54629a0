"""Verbs of encryption keys: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime

from flows.job import Job
from flows.keys import (
    SECTION_REMEDY,
    encrypted,
    key_counts,
    keys_of,
    make_master_file,
    run_destroy,
    run_rotate,
    run_sweep,
)
from flows.setup import Output, config_of, job_of, lake_uri
from lake.lake import open_lake
from transforms.errors import UsageError
from transforms.subjects import Subject

STILL_SERVED = "their text is still served from the index until slowwave publish (or the next night)"


def keys(options: argparse.Namespace) -> Output:
    """Make, show, rotate or destroy keys."""
    return _ACTIONS[options.action](options)


def _new_master(options: argparse.Namespace) -> Output:
    if not options.file:
        raise UsageError("new-master needs a file", "Name a new one: slowwave keys new-master --file FILE")
    make_master_file(options.file)
    text = (
        f"made {options.file}. Keep a copy in a safe place that is no backup of the lake: without it nothing"
        " that is encrypted opens again."
    )
    return Output({"file": options.file}, text)


def _init(options: argparse.Namespace) -> Output:
    from flows.job import exclusive

    config = config_of(options)
    make = encrypted(config, is_asked=True)
    lake = open_lake(lake_uri(options, config))
    with exclusive(job_of(options, config, lake)):
        lake = make(lake)
    keyring = config.encryption.keyring if config.encryption else ""
    return Output(
        {"lake": lake.uri, "is_encrypted": True, "keyring": keyring},
        f"the lake at {lake.uri} is encrypted; its keys lie at {keyring}",
    )


def _status(options: argparse.Namespace) -> Output:
    from flows.present import table
    from lake.crypto.access import keys_of as keys_of_lake
    from lake.crypto.leftovers import leftovers

    job = _job(options)
    counts = key_counts(keys_of_lake(job.lake), datetime.now(UTC))
    left = leftovers(job.lake)
    rows = [(name.replace("_", " "), "" if value is None else value) for name, value in counts.items()]
    rows.append(("rows whose key was destroyed", sum(left.values())))
    return Output({**counts, "leftovers": left}, table("", ("keys", "of this lake"), rows))


def _rotate(options: argparse.Namespace) -> Output:
    counts = run_rotate(_job(options), datetime.now(UTC), has_data=options.data)
    text = f"{counts['wrapped']:,} of {counts['keys']:,} keys wrapped by the new master key"
    more = f"; {counts['renewed']:,} subjects have a new key for new rows" if options.data else ""
    return Output(dict(counts), f"{text}{more}")


def _destroy(options: argparse.Namespace) -> Output:
    from lake.crypto.access import keys_of as keys_of_lake

    subject = _subject(options)
    job = _job(options)
    if not options.yes:
        count = keys_of_lake(job.lake).count(subject)
        text = (
            f"{count:,} keys of this {subject.kind} would go for good, and all text they sealed with them."
            " slowwave erase takes the rows out, too. To destroy the keys alone, add --yes."
        )
        return Output({"dry_run": True, "subject_kind": subject.kind, "keys": count}, text)
    gone = run_destroy(job, subject, datetime.now(UTC))
    return Output(
        {"dry_run": False, "subject_kind": subject.kind, "keys": gone},
        f"{gone:,} keys of this {subject.kind} are destroyed; {STILL_SERVED}",
    )


def _sweep(options: argparse.Namespace) -> Output:
    from lake.crypto.leftovers import leftovers

    job = _job(options)
    counts = run_sweep(job, datetime.now(UTC)) if options.yes else leftovers(job.lake)
    told = ", ".join(f"{count:,} in {name}" for name, count in counts.items()) or "none"
    verb = "taken out" if options.yes else "that --yes takes out"
    text = f"rows whose key was destroyed, {verb}: {told}"
    if options.yes and counts:
        text += f"; {STILL_SERVED}"
    return Output({"dry_run": not options.yes, "leftovers": counts}, text)


def _subject(options: argparse.Namespace) -> Subject:
    if not options.tenant:
        raise UsageError("destroy needs a tenant", "Pass --tenant, and --user, --agent or --tenant-wide.")
    if options.session:
        raise UsageError(
            "a session has no key of its own", "slowwave erase --session takes its rows out of the lake."
        )
    if not (options.user or options.agent or options.tenant_wide):
        raise UsageError("destroy needs a subject", "Pass --user, --agent or --tenant-wide.")
    return Subject(options.tenant, user=options.user, agent=options.agent)


def _job(options: argparse.Namespace) -> Job:
    """The job of a call, on an encrypted lake, with its keys."""
    config = config_of(options)
    keyring = keys_of(config, previous_file=options.previous_key_file)
    if keyring is None:
        raise UsageError("no keyring is named", SECTION_REMEDY)
    return job_of(options, config, open_lake(lake_uri(options, config), keyring))


_ACTIONS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "new-master": _new_master,
    "init": _init,
    "status": _status,
    "rotate": _rotate,
    "destroy": _destroy,
    "sweep": _sweep,
}
VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"keys": keys}
