"""The report on quality: how memory serves over time, and the audit of one person or agent."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flows import metrics
from flows import metrics_read as read
from flows import report_quality_course as courses
from flows.job import Job
from flows.metrics_read import Window
from flows.report_files import head_of, plain_rows, require_folder, write_files
from flows.report_quality_audit import Audit, audited
from flows.setup import Output, past_job
from lake.rights import tombstones
from transforms.errors import UsageError
from transforms.subjects import Subject

NAME = "quality"
MOST_DAYS = 36_500


@dataclass(frozen=True)
class Report:
    """The report before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        audit: Of one person or agent, where one is named; its tables are among ``tables``.
        faults: What must not be, as sentences.
        remarks: What is to be known to read the numbers.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    audit: Audit | None
    faults: tuple[str, ...]
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON: every number that the page shows stands here."""
        return {
            **self.figures,
            "audit": None if self.audit is None else dict(self.audit.figures),
            "faults": list(self.faults),
            "remarks": list(self.remarks),
            "tables": {name: plain_rows(rows) for name, rows in self.tables.items()},
        }


def quality_output(options: argparse.Namespace) -> Output:
    """``slowwave report quality``: write the files and say the main numbers.

    Raises:
        UsageError: The scope is none that is reported on, nothing of it is held, or the folder is no place
            for a report.
    """
    from flows.report_quality_page import quality_text

    subject = subject_of(options)
    if options.days is not None and options.days > MOST_DAYS:
        raise UsageError(f"--days {options.days} is too long", f"Look back at most {MOST_DAYS:,} days.")
    out = Path(options.out)
    report = run_report_quality(past_job(options), out, subject, options.days)
    return Output({"out": str(out), **report.as_dict()}, quality_text(report, out))


def subject_of(options: argparse.Namespace) -> Subject | None:
    """Whom the flags name: a user, an agent, a tenant, or nobody in particular.

    Raises:
        UsageError: A user or agent without a tenant, both of them, or a session.
    """
    if options.session is not None:
        raise UsageError(
            "the report on quality looks at a user or an agent, not at a session", "Leave --session out."
        )
    if not options.tenant:
        if options.user is not None or options.agent is not None or options.tenant is not None:
            raise UsageError("the audit of a user or an agent needs its tenant", "Pass --tenant beside it.")
        return None
    return Subject(options.tenant, options.user, options.agent)


def run_report_quality(job: Job, out: Path, subject: Subject | None, days: float | None = None) -> Report:
    """Write ``quality.html``, ``quality.json`` and each table as CSV and Parquet into a folder.

    Args:
        job: On which lake, at which instant.
        out: Folder; made where it is not there.
        subject: A tenant narrows the report; a user or an agent of it adds the audit.
        days: How far back calls are looked at; None: ``metrics.window_days``.

    Raises:
        UsageError: The folder lies inside the lake, or is a file; nothing of the subject is held.
        StorageError: The folder cannot be written.
    """
    from flows.report_quality_page import quality_html

    require_folder(job.lake, out)
    report = quality(job, subject, days)
    write_files(out, NAME, quality_html(report), report.as_dict(), report.tables)
    return report


def quality(job: Job, subject: Subject | None, days: float | None = None) -> Report:
    """Everything the report says; see ``run_report_quality``."""
    window = read.window_of(job, days, None if subject is None else subject.tenant)
    _require_present(job, subject)
    told = None if subject is None or subject.kind == "tenant" else audited(job, subject)
    looked = metrics.looked_at(job, window, has_waiting=True)
    tables = courses.course(job, window, looked)
    tables["scores_all"] = courses.scores(job, window)
    tables["nights"] = courses.nights(job, window)
    if subject is None:
        tables["tenants"] = _shown(job, courses.by_tenant(looked))
    if told is not None and subject is not None:
        mine = looked.calls.filter(subject.owns())
        tables |= {f"audit_{name}": rows for name, rows in told.tables.items()}
        tables["audit_activity"] = courses.activity(mine, window)
    figures = {
        **head_of(job, NAME),
        "tenant": window.tenant,
        "window_days": window.days,
        "since": window.since.isoformat(),
        "period": courses.period_of(window),
        "space": read.served_space(job),
        "near_cosine": job.policy.recall.duplicate_cosine,
        "idle_days": job.policy.staleness.after_days,
        "measures": plain_rows(tables["whole"])[0],
    }
    remarks = _remarks(tables["whole"], window, has_vectors=figures["space"] is not None)
    return Report(figures, tables, told, _faults(tables["whole"]), remarks)


def _require_present(job: Job, subject: Subject | None) -> None:
    """Refuse a tenant that was erased, or that the lake does not know.

    Raises:
        UsageError: It is one of these.
    """
    if subject is None:
        return
    if tombstones.load(job.lake).of(Subject(subject.tenant)):
        raise UsageError(
            "this tenant was erased or has opted out, and nothing of it is shown", "Name another one."
        )
    if not read.is_known(job, subject.tenant):
        raise UsageError(f"the lake holds nothing of tenant {subject.tenant}", "Check the id.")


def _shown(job: Job, tenants: pl.DataFrame) -> pl.DataFrame:
    """Rows of tenants that may be named."""
    refusing = tombstones.load(job.lake)
    named = [name for name in tenants["tenant"] if not refusing.of(Subject(name))]
    return tenants.filter(pl.col("tenant").is_in(named))


def _faults(whole: pl.DataFrame) -> tuple[str, ...]:
    row = whole.row(0, named=True)
    found = []
    if row["expired_rows"]:
        found.append(f"{row['expired_rows']:,} of {row['judged_rows']:,} served rows were past their expiry.")
    if row["superseded_ratio"]:
        count = round(row["superseded_ratio"] * row["fact_rows"])
        found.append(f"{count:,} of {row['fact_rows']:,} served facts had been retired before the call.")
    return tuple(found)


def _remarks(whole: pl.DataFrame, window: Window, *, has_vectors: bool) -> tuple[str, ...]:
    row = whole.row(0, named=True)
    found = []
    if not has_vectors:
        found.append("No index is published that can be read: near duplicates are told by equal text only.")
    if not row["calls"]:
        return (f"No call is on record in the {window.days:g} days before the as-of.", *found)
    if not row["known_calls"]:
        found.append("No agent says what it uses (slowwave used, Recall.used): hit rate and use are unknown.")
    if not row["timed_calls"]:
        found.append("No call has its latency on record.")
    if not row["judged_rows"] and row["returned_rows"]:
        found.append("No call was made under this policy: whether rows were served late cannot be judged.")
    return tuple(found)
