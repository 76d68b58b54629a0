"""The compliance report: was every lifetime kept, every request answered in time, and can both be proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flows import report_read
from flows.job import Job
from flows.report_due import past_due
from flows.report_files import head_of, plain_rows, require_folder, write_files
from lake import queries
from transforms.compliance import requests as asked
from transforms.compliance.findings import Finding, findings
from transforms.compliance.kept import KEPT_SCHEMA, kept, summed

NAME = "compliance"


@dataclass(frozen=True)
class Report:
    """The report before it is written.

    Attributes:
        figures: Single values, as JSON has them.
        tables: Every table by name; each becomes a CSV and a Parquet file.
        findings: What is not kept, and what is to be known.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    findings: tuple[Finding, ...]

    @property
    def is_kept(self) -> bool:
        """Whether nothing is amiss now."""
        return not any(finding.is_fault for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON: every number that the page shows stands here."""
        return {
            **self.figures,
            "is_kept": self.is_kept,
            "findings": [finding.as_dict() for finding in self.findings],
            "tables": {name: plain_rows(rows) for name, rows in self.tables.items()},
        }


def run_report_compliance(job: Job, out: Path) -> Report:
    """Write ``compliance.html``, ``compliance.json`` and each table as CSV and Parquet into a folder.

    Args:
        job: On which lake, at which instant.
        out: Folder; made where it is not there.

    Raises:
        UsageError: The folder lies inside the lake, or is a file.
        StorageError: It cannot be written.
    """
    from flows.report_page import compliance_html

    require_folder(job.lake, out)
    report = compliance(job)
    write_files(out, NAME, compliance_html(report), report.as_dict(), report.tables)
    return report


def compliance(job: Job) -> Report:
    """Everything the report says, read from the lake as it is now, reasoned at the job's as-of."""
    hashes = report_read.tenants(job)
    at = {"as_of": job.as_of}
    lines = kept(queries.query(job.lake, "removals_by_tier", at), past_due(job), hashes)
    standing = queries.query(job.lake, "requests_standing", at)
    counted, certificates = asked.stood(standing), report_read.certificates(job)
    tables = {
        "retention": lines,
        "retention_by_tier": summed(lines, "tier"),
        "retention_by_table": summed(lines, "table"),
        "retention_by_tenant": summed(lines, "tenant"),
        "removals": report_read.removals(job),
        "requests": standing,
        "requests_by_kind": counted,
        "time_to_erase": asked.spans(standing),
        "certificates": certificates,
        "holds": report_read.holds(job, hashes),
        "redactions": report_read.redactions(job),
        "quarantine": report_read.refused(job),
        "access": report_read.access(job),
        "policy": _policy(job),
    }
    chain = report_read.chain(job)
    figures = {
        **head_of(job, NAME),
        "tenants": len(hashes),
        "retention": summed(lines).row(0, named=True) if lines.height else _nothing(),
        "time_to_erase": asked.times(standing),
        "certificates": {"all": certificates.height, "whole": int(certificates["fault"].null_count())},
        "holds": tables["holds"].height,
        "audit": chain,
        "encryption": _encryption(job),
        "late_after_seconds": job.policy.rights.late_after_seconds,
    }
    return Report(figures, tables, tuple(findings(lines, counted, certificates, chain)))


def _nothing() -> dict[str, Any]:
    return summed(pl.DataFrame(schema=KEPT_SCHEMA)).row(0, named=True)


def _encryption(job: Job) -> dict[str, Any]:
    """Whether free text is encrypted; a key is never shown."""
    found = job.lake.encryption
    return {"is_encrypted": found is not None, "cipher": None if found is None else found.cipher}


def _policy(job: Job) -> pl.DataFrame:
    """``rule``, ``seconds`` (null: without limit): what is kept for how long, and when requests are due."""
    policy = job.policy
    spans = {f"tier {name}": seconds for name, seconds in policy.retention.ttl_seconds().items()}
    spans |= {f"kind {name}": seconds for name, seconds in policy.retention.by_kind_seconds.items()}
    spans |= {
        "refused rows": policy.retention.quarantine_seconds,
        "recalls": policy.retention.recalls_seconds,
        "answers of a model": policy.retention.model_results_seconds,
        "an erasure is due after": round(policy.rights.erase_due_days * 86_400),
        "any other request is due after": round(policy.rights.other_due_days * 86_400),
        "a removal is late after": policy.rights.late_after_seconds,
        "what a night took out, in files of the tables": policy.ingest.vacuum_after_hours * 3600,
        "what a night took out, hidden in files of the live index": round(
            policy.publish.hidden_days * 86_400
        ),
    }
    return pl.DataFrame(list(spans.items()), schema={"rule": pl.String, "seconds": pl.Int64}, orient="row")
