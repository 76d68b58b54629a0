"""The ledger of retention: what went, what is held and what waits, in counts, and one audit event a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.retain_plan import Plan, match_of
from flows.retain_remove import counted
from flows.retain_state import Counts, Journal, added, key_of
from lake import tables
from lake.rights import audit
from lake.rights.subjects import salt, tenant_hash
from transforms.schemas import REMOVALS, STORED

IDS_SHOWN = 20
"""Ids that a dry run lists of each line."""
_TABLES = {table.name: table for table in STORED}


@dataclass
class Lines:
    """Counts of a run by line of the ledger, and for a dry run what would go.

    Attributes:
        tenants: Hashes of all whose rows were judged.
        held: Rows under legal hold, by ``retain_state.key_of``.
        waiting: Rows that wait for their summary.
        going: Rows that go.
        shown: For a dry run: tenant, table, tier, reason, rows and some ids of each line.
    """

    tenants: set[str] = field(default_factory=set)
    held: dict[str, Counts] = field(default_factory=dict)
    waiting: dict[str, Counts] = field(default_factory=dict)
    going: dict[str, Counts] = field(default_factory=dict)
    shown: list[dict[str, Any]] = field(default_factory=list)

    def add(self, job: Job, plan: Plan) -> None:
        """Take up the verdicts of a bucket."""
        named = pl.concat([rows.select("tenant_id") for rows in plan.verdicts.values()]).unique()
        hashing = salt(job.lake)
        self.tenants |= {tenant_hash(hashing, tenant) if tenant else "" for (tenant,) in named.iter_rows()}
        for name, rows in plan.verdicts.items():
            due = rows.filter(pl.col("state") != "stays")
            for state, lines in (("held", self.held), ("waiting", self.waiting), ("goes", self.going)):
                for key, more in counted(job, _TABLES[name], due.filter(pl.col("state") == state)).items():
                    lines[key] = added(lines.get(key), more)
            if job.is_dry:
                self.shown += _listed(name, due)

    def told(self, journal: Journal, *, is_dry: bool) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        removed = self.going if is_dry else journal.removed
        told: dict[str, Any] = {
            "removed": _by_table(removed),
            "held": _totals(self.held),
            "waiting": _totals(self.waiting),
            "late": sum(one["late"] for one in removed.values()),
        }
        if is_dry:
            order = ("tenant", "table", "tier", "reason", "state")
            told["lines"] = sorted(self.shown, key=lambda line: [line[name] for name in order])
        return told


def _listed(name: str, due: pl.DataFrame) -> list[dict[str, Any]]:
    """Lines of a table with some ids; a person reads them, they go nowhere else."""
    key = match_of(_TABLES[name])[-1]
    grouped = due.group_by("tenant_id", "tier", "reason", "state").agg(
        rows=pl.len(), first_due_at=pl.col("due_at").min(), ids=pl.col(key).sort().head(IDS_SHOWN)
    )
    return [
        {
            "tenant": tenant or "",
            "table": name,
            "tier": tier,
            "reason": reason,
            "state": state,
            "rows": rows,
            "first_due_at": first.isoformat(),
            "ids": ids,
        }
        for tenant, tier, reason, state, rows, first, ids in grouped.iter_rows()
    ]


def _by_table(lines: dict[str, Counts]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for key, counts in lines.items():
        _, table, _, reason = key.split("|")
        found.setdefault(table, Counter())[reason] += counts["rows"]
    return {table: dict(sorted(reasons.items())) for table, reasons in sorted(found.items())}


def _totals(lines: dict[str, Counts]) -> dict[str, int]:
    return {table: sum(reasons.values()) for table, reasons in _by_table(lines).items()}


def close_run(job: Job, journal: Journal, lines: Lines) -> None:
    """Write the run into the ledger and into the audit, each once, and drop its journal."""
    rows = _ledger(job, journal, lines)
    if rows.height:
        if journal.audit_seq is None:
            newest = audit.head(job.lake)
            journal.audit_seq = newest.seq if newest else 0
        journal.settle()
        runs = tables.scan(job.lake, REMOVALS).filter(pl.col("run_id") == journal.run_id)
        if runs.head(1).collect().is_empty():
            tables.append(job.lake, REMOVALS, rows)
        _audit(job, journal, rows)
    if journal.is_begun:
        journal.close()


def _ledger(job: Job, journal: Journal, lines: Lines) -> pl.DataFrame:
    """Rows of ``schemas.REMOVALS``; where nothing waits any more, one says so."""
    nothing: Counts = {"rows": 0, "late": 0, "due_at": None}
    found = []
    for key in sorted({*journal.removed, *lines.held, *lines.waiting, *_waited(job, lines)}):
        gone, held, waiting = (one.get(key, nothing) for one in (journal.removed, lines.held, lines.waiting))
        tenant_hash, table, tier, reason = key.split("|")
        moments = [one["due_at"] for one in (gone, held, waiting) if one["due_at"]]
        found.append(
            {
                "run_id": journal.run_id,
                "as_of_at": job.as_of,
                "tenant_hash": tenant_hash,
                "table": table,
                "tier": tier,
                "reason": reason,
                "rows_due": gone["rows"] + held["rows"] + waiting["rows"],
                "rows_removed": gone["rows"],
                "rows_held": held["rows"],
                "rows_waiting": waiting["rows"],
                "rows_late": gone["late"],
                "oldest_due_at": datetime.fromisoformat(min(moments)) if moments else None,
            }
        )
    return pl.DataFrame(found, schema=REMOVALS.polars)


def _waited(job: Job, lines: Lines) -> list[str]:
    """Lines of the tenants that were judged in which something waited when it was last looked at."""
    known = tables.scan(job.lake, REMOVALS).filter(pl.col("tenant_hash").is_in(list(lines.tenants)))
    line = ["tenant_hash", "table", "tier", "reason"]
    order = pl.struct("as_of_at", "run_id")
    last = known.group_by(line).agg(pl.col("rows_waiting").sort_by(order).last())
    waited = last.filter(pl.col("rows_waiting") > 0).select(line).collect()
    return [key_of(*names) for names in waited.iter_rows()]


def _audit(job: Job, journal: Journal, rows: pl.DataFrame) -> None:
    """One event with the run's counts, unless the run that was killed had added it."""
    newest = audit.head(job.lake)
    later = range((journal.audit_seq or 0) + 1, (newest.seq if newest else 0) + 1)
    raw = (job.lake.storage.read(audit.key_of(seq)) or b"" for seq in later)
    if any(journal.run_id.encode() in event for event in raw):
        return
    sums = {name: int(rows[f"rows_{name}"].sum()) for name in ("due", "removed", "held", "waiting", "late")}
    tables_of = rows.group_by("table").agg(pl.col("rows_removed").sum()).sort("table")
    by_table = {table: count for table, count in tables_of.iter_rows() if count}
    audit.append(job.lake, "retain", at=job.as_of, request_id=journal.run_id, counts={**sums, **by_table})
