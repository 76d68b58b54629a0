"""The verb of refused rows: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from flows.job import Job, exclusive
from flows.present import one_line, table
from flows.setup import Output, defaults_of, job_of
from lake.chain import PREFIX_CHARS
from transforms.errors import UsageError

if TYPE_CHECKING:
    from flows.quarantine import Chosen

RAW_CHARS = 80


def quarantine(options: argparse.Namespace) -> Output:
    """List, retry or drop refused rows."""
    return _ACTIONS[options.action](options)


def _list(options: argparse.Namespace) -> Output:
    from flows.quarantine import counted, held, with_text
    from flows.report_files import plain_rows

    job, chosen = job_of(options), _chosen(options)
    rows = held(job, chosen)
    groups = plain_rows(counted(rows))
    shown = plain_rows(with_text(job, rows.slice(options.offset, options.limit)))
    data = {"rows": rows.height, "groups": groups, "shown": shown}
    if rows.is_empty():
        return Output(data, "no refused rows")
    cells = [(one["rows"], one["reason"], one["source"] or "", one["source_file"] or "") for one in groups]
    text = table(f"{rows.height:,} refused rows", ("rows", "reason", "format", "file"), cells)
    left = rows.height - options.offset - options.limit
    more = [f"{left:,} more: --limit, --offset"] if left > 0 else []
    return Output(data, "\n".join([text, *(_lines(row) for row in shown), *more]))


def _lines(row: Mapping[str, Any]) -> str:
    place = one_line(f"{row['source_file'] or '-'}:{row['source_line'] or '-'}")
    why = f"{row['reason']}: {one_line(row['detail'] or '')}"
    return f"{row['quarantine_id'][:PREFIX_CHARS]} {place} {why}\n  {one_line(row['raw'], RAW_CHARS)}"


def _retry(options: argparse.Namespace) -> Output:
    from flows.quarantine import retry

    job, chosen = _changing(options), _chosen(options)
    with exclusive(job):
        done = retry(job, chosen, defaults_of(options))
    landed = f"{done.landed:,} {'would land' if job.is_dry else 'landed'}"
    lines = [f"{done.tried:,} refused rows read again: {landed}, {done.held:,} were held already"]
    lines += [f"  {count:,} stay: {reason}" for reason, count in done.refused.items()]
    return Output({**asdict(done), "dry_run": job.is_dry}, "\n".join(lines))


def _drop(options: argparse.Namespace) -> Output:
    from flows.quarantine import drop

    job, chosen = _changing(options), _chosen(options)
    with exclusive(job):
        count = drop(job, chosen)
    would = "would be taken out" if job.is_dry else "taken out"
    return Output({"dropped": count, "dry_run": job.is_dry}, f"{count:,} refused rows {would}")


def _changing(options: argparse.Namespace) -> Job:
    """The job of a call that changes something.

    Raises:
        UsageError: Nothing says which rows are meant.
    """
    if _chosen(options).is_everything and not options.all:
        raise UsageError(
            f"quarantine {options.action} needs to know which rows",
            "Name ids, --reason, --source-file or --of-tenant; or pass --all.",
        )
    return replace(job_of(options), is_dry=options.dry_run)


def _chosen(options: argparse.Namespace) -> Chosen:
    """Which rows are meant; to retry, a tenant and a user are what rows are given that lack them.

    Raises:
        UsageError: Rows are asked for by what quarantine does not know of them.
    """
    from flows.quarantine import Chosen

    is_filter = options.action != "retry"
    if is_filter and (options.agent or options.session):
        raise UsageError("quarantine knows no agent and no session of a row", "Leave them out.")
    tenant = options.tenant if is_filter and options.of_tenant is None else options.of_tenant
    user = options.user if is_filter else None
    return Chosen(tuple(options.id), options.reason, options.source_file, tenant, user)


_ACTIONS: dict[str, Callable[[argparse.Namespace], Output]] = {"list": _list, "retry": _retry, "drop": _drop}
VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"quarantine": quarantine}
