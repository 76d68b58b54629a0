"""Verbs of reports and exports: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from flows.job import Job
from flows.setup import Output, job_of, past_job
from transforms.errors import UsageError
from transforms.subjects import Subject


def export(options: argparse.Namespace) -> Output:
    """Everything held about a person."""
    from flows.export import run_export
    from flows.job import exclusive

    if not options.tenant:
        raise UsageError("export needs a tenant", "Pass --tenant, and --user or --agent.")
    subject = Subject(options.tenant, options.user, options.agent, options.session)
    job = job_of(options)
    if options.form == "jsonl":
        return _lines(job, subject, options)
    with exclusive(job):
        done = run_export(
            job,
            subject,
            Path(options.out),
            basis=options.basis,
            requested_by=options.requested_by,
            aliases=tuple(options.alias),
            is_forced=options.force,
        )
    rows = sum(done.counts.values())
    warning = done.as_dict()["warning"]
    held = ", ".join(f"{count:,} {name}" for name, count in done.counts.items() if count)
    text = [
        f"export {done.request_id}: {rows:,} rows in {done.file}",
        *([f"  {held}"] if held else []),
        *(["  rows that name a user are not in it"] if subject.user is None else []),
        f"  sha256 {done.sha256}",
        *([f"WARNING: {warning}"] if warning else []),
    ]
    return Output(done.as_dict(), "\n".join(text))


def _lines(job: Job, subject: Subject, options: argparse.Namespace) -> Output:
    """Episodes as JSON lines."""
    from flows.export_lines import run_export_lines
    from flows.job import exclusive

    with exclusive(job):
        done = run_export_lines(job, subject, Path(options.out), is_forced=options.force)
    held = ", ".join(f"{count:,} {name}" for name, count in done["counts"].items() if count) or "nothing"
    return Output(done, f"{held} in {done['file']}\n  sha256 {done['sha256']}")


def report(options: argparse.Namespace) -> Output:
    """Write a report; the exit code is that of a failed check where something is not as it must be."""
    if options.name is None:
        raise UsageError(f"which report: {', '.join(REPORTS)}", "slowwave report compliance --out DIR")
    return REPORTS[options.name](options)


def _compliance(options: argparse.Namespace) -> Output:
    from flows.present import table
    from flows.report_compliance import run_report_compliance
    from flows.report_page import HEADS
    from transforms.errors import CheckError

    out = Path(options.out)
    done = run_report_compliance(past_job(options), out)
    rows = done.tables["retention_by_tier"].select("tier", *HEADS).rows()
    tiers = [(tier or "no tier", *rest) for tier, *rest in rows]
    lines = [
        "all obligations are met" if done.is_kept else "NOT all obligations are met",
        *(f"  {finding.text} {', '.join(finding.where)}".rstrip() for finding in done.findings),
        table("", ("tier", *HEADS.values()), tiers),
        f"page: {out / 'compliance.html'}",
    ]
    data = {"out": str(out), **done.as_dict()}
    return Output(data, "\n".join(lines), 0 if done.is_kept else CheckError.exit_code)


def _capacity(options: argparse.Namespace) -> Output:
    from flows.report_capacity import capacity_output

    return capacity_output(options)


def _health(options: argparse.Namespace) -> Output:
    from flows.report_health import health_output

    return health_output(options)


def _cost(options: argparse.Namespace) -> Output:
    from flows.report_cost import cost_output

    return cost_output(options)


def _quality(options: argparse.Namespace) -> Output:
    from flows.report_quality import quality_output

    return quality_output(options)


REPORTS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "compliance": _compliance,
    "capacity": _capacity,
    "health": _health,
    "cost": _cost,
    "quality": _quality,
}
VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"export": export, "report": report}
