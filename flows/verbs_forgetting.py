"""Verbs of decay, retain, cold storage: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows.setup import Output, job_of
from transforms.errors import UsageError
from transforms.subjects import Subject


def decay(options: argparse.Namespace) -> Output:
    """Score every memory, and show what would be forgotten and why."""
    from flows.decay import run_decay
    from flows.present_forgetting import decay_text

    subject = _subject(options) if _is_scoped(options) else None
    if options.out and Path(options.out).exists():
        raise UsageError(f"{Path(options.out).name} exists already", "Name another file.")
    result = run_decay(job_of(options), subject=subject, out=options.out, is_complete=True)
    return Output(result.as_dict(), decay_text(result))


def retain(options: argparse.Namespace) -> Output:
    """Take out what is due, or say what would go."""
    from dataclasses import replace

    from flows.job import exclusive
    from flows.present_forgetting import retain_text
    from flows.retain import run_retain

    job = replace(job_of(options), is_dry=options.dry_run)
    with exclusive(job):
        result = run_retain(job)
    return Output({**result.as_dict(), "dry_run": options.dry_run}, retain_text(result, options.dry_run))


def cold(options: argparse.Namespace) -> Output:
    """List what lies in cold storage, or bring it back."""
    from flows.commit import bring_back
    from flows.job import exclusive
    from flows.present_forgetting import cold_text
    from lake.cold import cold_rows

    job, subject = job_of(options), _subject(options)
    if options.restore:
        with exclusive(job):
            count = bring_back(job, subject)
        return Output({"restored": count}, f"{count:,} episodes are back from cold storage")
    rows = [
        _shown(row)
        for row in cold_rows(job.lake, subject).sort("event_at", "episode_id").iter_rows(named=True)
    ]
    return Output({"cold": rows}, cold_text(rows))


_SHOWN = ("episode_id", "user_id", "agent_id", "session_id", "kind", "role", "content", "event_at",
          "cooled_at")  # fmt: skip


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    told = {name: row[name] for name in _SHOWN}
    instants = {name: row[name].isoformat() for name in ("event_at", "cooled_at")}
    return {**told, **instants}


def _is_scoped(options: argparse.Namespace) -> bool:
    return any((options.tenant, options.user, options.agent, options.session))


def _subject(options: argparse.Namespace) -> Subject:
    """Whose rows a call is about.

    Raises:
        UsageError: No tenant is named.
    """
    if not options.tenant:
        raise UsageError(f"{options.verb} needs a tenant", "Pass --tenant; --user or --agent narrows it.")
    return Subject(options.tenant, options.user, options.agent, options.session)


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"decay": decay, "retain": retain, "cold": cold}
