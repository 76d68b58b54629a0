"""The health report: one check for each way in which a memory goes wrong, and how they stood before."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from flows import report_health_answers as answers
from flows import report_health_rows as rows
from flows import report_health_work as work
from flows.job import Job
from flows.report_files import head_of, plain_rows, require_folder, write_files
from flows.report_health_read import FAULTS, PREFIX, STATE_NAME, Sources
from flows.setup import Output, past_job
from lake import tables as lake_tables
from lake.rights.subjects import salt, subject_hash, tenant_hash
from transforms.errors import CheckError, SlowwaveError
from transforms.health.checks import Check, broken_off, check_of, findings_frame
from transforms.health.thresholds import CODES, FAIL, Limit, Measure, as_counts, limits, verdict
from transforms.schemas import INSTANT
from transforms.subjects import Subject

NAME = "health"
BREAKS = (pl.exceptions.PolarsError, duckdb.Error, *FAULTS)
"""What a check may break off with, beside our own errors."""
TREND_SCHEMA = pl.Schema(
    {
        "as_of_at": INSTANT,
        "check": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "unit": pl.String(),
    }
)
STATES_SCHEMA = pl.Schema({"as_of_at": INSTANT, "check": pl.String(), "state": pl.String()})


def _poisoning(sources: Sources) -> list[Measure]:
    return [*rows.poisoning(sources), answers.low_trust(sources)]


CHECKS: Mapping[str, Callable[[Sources], list[Measure]]] = {
    "growth": rows.growth,
    "stale": answers.stale,
    "contradiction": rows.contradiction,
    "poisoning": _poisoning,
    "drift": answers.drift,
    "crowding": answers.crowded,
    "irrelevance": answers.irrelevance,
    "index": work.index,
    "backlog": work.backlog,
    "erasure": work.erasure,
    "compaction": work.compaction,
    "quarantine": rows.quarantine,
    "audit": work.audit,
    "runs": rows.runs,
}
"""What takes the measures of each of ``remedies.TITLES``, in their order."""


@dataclass(frozen=True)
class Report:
    """The report before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        checks: In the order of ``remedies.TITLES``.
        as_of: The instant it is reasoned at.
        nights: Last nights that the page shows.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    checks: tuple[Check, ...]
    as_of: datetime
    nights: int

    @property
    def counts(self) -> dict[str, Any]:
        """State of the whole, and names of checks that are not ok."""
        return counts_of(self.checks)

    @property
    def is_failing(self) -> bool:
        """Whether a check fails."""
        return any(check.state == FAIL for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON: every number that the page shows stands here."""
        return {
            **self.figures,
            **self.counts,
            "checks": [check.as_dict() for check in self.checks],
            "tables": {name: plain_rows(found) for name, found in self.tables.items()},
        }


def counts_of(checks: tuple[Check, ...]) -> dict[str, Any]:
    """``thresholds.as_counts`` of checks."""
    return as_counts({check.name: check.state for check in checks})


Take = Callable[[Sources], list[Measure]]


def taken(sources: Sources, takes: Mapping[str, Take] = CHECKS) -> tuple[Check, ...]:
    """Checks, made now; one that breaks off is not known, with the reason, and the others go on."""
    known = limits(sources.job.policy.health)
    with lake_tables.held_open():
        return tuple(_taken(name, take, sources, known) for name, take in takes.items())


def _taken(name: str, take: Take, sources: Sources, known: Mapping[str, Limit]) -> Check:
    try:
        return check_of(name, take(sources), known)
    except SlowwaveError as error:
        return broken_off(name, str(error))
    except BREAKS as error:
        return broken_off(name, f"unexpected {type(error).__name__}")  # its message may quote a row


def run_report_health(job: Job, out: Path, days: float | None = None) -> Report:
    """Write ``health.html``, ``health.json`` and each table as CSV and Parquet into a folder.

    Args:
        job: On which lake, at which instant.
        out: Folder; made where it is not there.
        days: How far back to look; None: ``health.window_days``.

    Raises:
        UsageError: The folder lies inside the lake, or is a file.
        StorageError: It cannot be written.
    """
    from flows.report_health_page import health_html

    require_folder(job.lake, out)
    report = health(job, days)
    write_files(out, NAME, health_html(report), report.as_dict(), report.tables)
    return report


def health(job: Job, days: float | None = None) -> Report:
    """Every check as the lake is now, reasoned at the job's as-of, with the tables it rests on."""
    sources = Sources(job, job.policy.health.window_days if days is None else days)
    checks = taken(sources)
    figures = {
        **head_of(job, NAME),
        "window_days": sources.days,
    }
    told = {
        "checks": _told(checks),
        "measures": findings_frame(checks),
        **{name: _read(made, sources) for name, made in _TABLES.items()},
    }
    known = {name: found for name, found in told.items() if found is not None}
    return Report(figures, known, checks, job.as_of, job.policy.health.trend_nights)


def _told(checks: tuple[Check, ...]) -> pl.DataFrame:
    """A row a check, as its JSON has it."""
    records = [{n: v for n, v in check.as_dict().items() if n != "measures"} for check in checks]
    numbers = ("value", "warn_at", "fail_at")
    return pl.DataFrame(
        records, schema={n: pl.Float64() if n in numbers else pl.String() for n in records[0]}
    )


def _read(made: Callable[[Sources], pl.DataFrame], sources: Sources) -> pl.DataFrame | None:
    """A table; None where what it is made of cannot be read, which its check has told already."""
    try:
        return made(sources)
    except (SlowwaveError, *BREAKS):
        return None


def trend(sources: Sources) -> pl.DataFrame:
    """``TREND_SCHEMA``: measures of health as earlier nights took them."""
    held = sources.measured.filter(pl.col("name") != STATE_NAME)
    named = held.with_columns(check=pl.col("name").str.strip_prefix(PREFIX), measure="part")
    return named.select(TREND_SCHEMA.names()).sort("as_of_at", "check", "measure")


def states(sources: Sources) -> pl.DataFrame:
    """``STATES_SCHEMA``: how each check stood at earlier nights."""
    held = sources.measured.filter(pl.col("name") == STATE_NAME)
    names = {code: state for state, code in CODES.items()}
    state = pl.col("value").replace_strict(
        list(names), list(names.values()), default=None, return_dtype=pl.String
    )
    return held.select("as_of_at", check="part", state=state).sort("as_of_at", "check")


def writers(sources: Sources) -> pl.DataFrame:
    """``Sources.writers`` by salted hashes: no name of an agent or session stands in a report."""
    key = salt(sources.job.lake)
    fields = {"agent_id": "agent", "session_id": "session"}
    found = sources.writers
    hashed = [
        name if kind not in fields else subject_hash(key, Subject(tenant, **{fields[kind]: name}))
        for tenant, kind, name in found.select("tenant_id", "kind", "writer").iter_rows()
    ]
    tenants = [tenant_hash(key, tenant) for tenant in found["tenant_id"]]
    shown = found.with_columns(
        tenant_hash=pl.Series(tenants, dtype=pl.String),
        writer=pl.Series(hashed, dtype=pl.String),
        kind=pl.col("kind").str.strip_suffix("_id"),
    )
    return shown.select("tenant_hash", *(name for name in found.columns if name != "tenant_id"))


_TABLES: Mapping[str, Callable[[Sources], pl.DataFrame]] = {
    "trend": trend,
    "states": states,
    "tables": lambda sources: sources.sizes,
    "overdue": lambda sources: sources.overdue,
    "refused": lambda sources: sources.refused,
    "steps": lambda sources: sources.runs,
    "writers": writers,
}


def health_output(options: argparse.Namespace) -> Output:
    """``slowwave report health``; the exit code is that of a failed check where one fails."""
    from flows.present import table

    out = Path(options.out)
    done = run_report_health(past_job(options), out, options.days)
    shown = [(_SIGNS[check.state], check.name, check.sentence) for check in done.checks]
    data = {"out": str(out), **done.as_dict()}
    remedies = [
        f"{check.name}: {check.leading.remedy} See {check.runbook}."
        for check in done.checks
        if check.name in (*done.counts["failing"], *done.counts["warnings"]) and check.leading
    ]
    lines = [
        verdict(done.counts),
        table("", ("state", "check", "what was found"), shown, wraps=("what was found",)),
        *remedies,
        f"page: {out / f'{NAME}.html'}",
    ]
    return Output(data, "\n".join(lines), CheckError.exit_code if done.is_failing else 0)


_SIGNS = {"ok": "ok", "warn": "WARNING", "fail": "FAILED", "unknown": "not known"}
