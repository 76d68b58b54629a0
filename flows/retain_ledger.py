"""The ledger of retention: what went, what is held and what waits, in counts, and one audit event a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from flows.job import Job
from flows.retain_journal import Counts, Journal, added, drop, key_of
from flows.retain_plan import Plan, match_of
from flows.retain_remove import counts_by
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
        tenants: Hashes of those whose rows were judged and that had some waiting before.
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

    def take(self, other: Lines) -> None:
        """Take up those of another bucket."""
        self.tenants |= other.tenants
        for name in ("held", "waiting", "going"):
            lines = getattr(self, name)
            for key, more in getattr(other, name).items():
                lines[key] = added(lines.get(key), more)
        self.shown += other.shown

    def as_json(self) -> dict[str, Any]:
        """What another process needs of it; no id is in it, unless a dry run listed some."""
        names = ("held", "waiting", "going", "shown")
        return {"tenants": sorted(self.tenants), **{name: getattr(self, name) for name in names}}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> Lines:
        """``as_json`` read back."""
        held, waiting, going = (dict(record[name]) for name in ("held", "waiting", "going"))
        return cls(set(record["tenants"]), held, waiting, going, list(record["shown"]))

    def told(self, removed: Mapping[str, Counts], *, is_dry: bool) -> dict[str, Any]:
        """The shape that ``--json`` prints, with what was taken out; of a dry run, with what would go."""
        removed = self.going if is_dry else removed
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


def lines_by_bucket(job: Job, plan: Plan, waited: frozenset[str]) -> dict[int, Lines]:
    """Lines of the verdicts on buckets that have any; ``waited`` is from ``waited_tenants``."""
    found = defaultdict[int, Lines](Lines)
    if waited:
        named = [rows.select("tenant_bucket", "tenant_id").unique() for rows in plan.verdicts.values()]
        hashing = salt(job.lake)
        for bucket, tenant in pl.concat(named).unique().iter_rows():
            hashed = tenant_hash(hashing, tenant) if tenant else ""
            if hashed in waited:
                found[bucket].tenants.add(hashed)
    for name, rows in plan.verdicts.items():
        due = rows.filter(pl.col("state") != "stays")
        for (bucket, state), key, more in counts_by(job, _TABLES[name], due, ("tenant_bucket", "state")):
            lines = getattr(found[bucket], _STATES[state])
            lines[key] = added(lines.get(key), more)
        if job.is_dry:
            for bucket, line in _listed(name, due):
                found[bucket].shown.append(line)
    return found


_STATES = {"held": "held", "waiting": "waiting", "goes": "going"}


def _listed(name: str, due: pl.DataFrame) -> Iterator[tuple[int, dict[str, Any]]]:
    """Lines of a table with some ids, and their bucket; a person reads them, they go nowhere else."""
    key = match_of(_TABLES[name])[-1]
    grouped = due.group_by("tenant_bucket", "tenant_id", "tier", "reason", "state").agg(
        rows=pl.len(), first_due_at=pl.col("due_at").min(), ids=pl.col(key).sort().head(IDS_SHOWN)
    )
    for bucket, tenant, tier, reason, state, rows, first, ids in grouped.iter_rows():
        yield (
            bucket,
            {
                "tenant": tenant or "",
                "table": name,
                "tier": tier,
                "reason": reason,
                "state": state,
                "rows": rows,
                "first_due_at": first.isoformat(),
                "ids": ids,
            },
        )


def _by_table(lines: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for key, counts in lines.items():
        _, table, _, reason = key.split("|")
        found.setdefault(table, Counter())[reason] += counts["rows"]
    return {table: dict(sorted(reasons.items())) for table, reasons in sorted(found.items())}


def _totals(lines: dict[str, Counts]) -> dict[str, int]:
    return {table: sum(reasons.values()) for table, reasons in _by_table(lines).items()}


def close_run(job: Job, run: Journal, removed: Mapping[str, Counts], lines: Lines) -> None:
    """Write the run into the ledger and into the audit, each once, and drop its journals.

    Args:
        job: The run.
        run: Its own journal.
        removed: What was taken out, of all buckets.
        lines: What is held and waits, of all buckets.
    """
    rows = _ledger(job, run.run_id, removed, lines)
    if rows.height:
        if run.audit_seq is None:
            newest = audit.head(job.lake)
            run.audit_seq = newest.seq if newest else 0
        run.settle()
        if ledger_of(job, run.run_id).is_empty():
            tables.append(job.lake, REMOVALS, rows)
        tell_audit(job, run, rows)
    drop(job)


def ledger_of(job: Job, run_id: str) -> pl.DataFrame:
    """Rows of the ledger that a run wrote."""
    return tables.scan(job.lake, REMOVALS).filter(pl.col("run_id") == run_id).collect()


def _ledger(job: Job, run_id: str, removed: Mapping[str, Counts], lines: Lines) -> pl.DataFrame:
    """Rows of ``schemas.REMOVALS``; where nothing waits any more, one says so."""
    nothing: Counts = {"rows": 0, "late": 0, "due_at": None}
    found = []
    for key in sorted({*removed, *lines.held, *lines.waiting, *_waited(job, lines)}):
        gone, held, waiting = (one.get(key, nothing) for one in (removed, lines.held, lines.waiting))
        tenant_hash, table, tier, reason = key.split("|")
        moments = [one["due_at"] for one in (gone, held, waiting) if one["due_at"]]
        found.append(
            {
                "run_id": run_id,
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


def waited_tenants(job: Job) -> frozenset[str]:
    """Hashes of tenants of which something waited when it was last looked at."""
    return frozenset(_waiting(job).select(pl.col("tenant_hash").unique()).collect()["tenant_hash"])


def _waited(job: Job, lines: Lines) -> list[str]:
    """Lines of the tenants that were judged in which something waited when it was last looked at."""
    if not lines.tenants:
        return []
    waited = _waiting(job).filter(pl.col("tenant_hash").is_in(sorted(lines.tenants)))
    return [key_of(*names) for names in waited.select(_LINE).collect().iter_rows()]


_LINE = ("tenant_hash", "table", "tier", "reason")


def _waiting(job: Job) -> pl.LazyFrame:
    order = pl.struct("as_of_at", "run_id")
    known = tables.scan(job.lake, REMOVALS).group_by(_LINE)
    return known.agg(pl.col("rows_waiting").sort_by(order).last()).filter(pl.col("rows_waiting") > 0)


def tell_audit(job: Job, journal: Journal, rows: pl.DataFrame) -> None:
    """One event with a run's counts, unless the run that was killed had added it."""
    newest = audit.head(job.lake)
    later = range((journal.audit_seq or 0) + 1, (newest.seq if newest else 0) + 1)
    raw = (job.lake.storage.read(audit.key_of(seq)) or b"" for seq in later)
    if any(journal.run_id.encode() in event for event in raw):
        return
    sums = {name: int(rows[f"rows_{name}"].sum()) for name in ("due", "removed", "held", "waiting", "late")}
    tables_of = rows.group_by("table").agg(pl.col("rows_removed").sum()).sort("table")
    by_table = {table: count for table, count in tables_of.iter_rows() if count}
    at = rows["as_of_at"][0]
    audit.append(job.lake, "retain", at=at, request_id=journal.run_id, counts={**sums, **by_table})
