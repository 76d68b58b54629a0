"""What a run of retain has taken out so far, kept beside the tables so that a killed one loses no count.

While a bucket's rows are taken out, ``state/retaining/<bucket>.json`` holds the counts of what is gone, and
the one rewrite that may or may not have been committed when its process died. Buckets have nothing to do
with each other, so each can be worked on by another process. ``state/retaining.json`` is the run's own, from
when its ledger is written. All hold counts, names of files and salted hashes of tenants; those of buckets
also, until the run is done, the ids of sessions that lost an episode to a forbidden topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flows.job import Job
from flows.notes import hint
from lake import tables
from lake.log_entries import read_commit
from transforms.schemas import STORED, Table

JOURNAL = "state/retaining.json"
JOURNALS = "state/retaining"
_TABLES = {table.name: table for table in STORED}

Counts = dict[str, Any]
"""rows, late rows, and the earliest due instant (ISO 8601 or null)."""


def key_of(tenant_hash: str, table: str, tier: str, reason: str) -> str:
    """Name of one line of the ledger."""
    return "|".join((tenant_hash, table, tier, reason))


def place_of(bucket: int) -> str:
    """Where the journal of a bucket lies."""
    return f"{JOURNALS}/{bucket}.json"


@dataclass
class Journal:
    """Counts of what a run has taken out, of one bucket or, in those of earlier checkouts, of all.

    Args:
        job: The run.
        run_id: Of the run that began; one that goes on takes it over.
        key: Where it lies.
        removed: Counts by ``key_of``.
        audit_seq: Number of the newest audit event before this run's own; None until it is looked up.
        is_begun: Whether it is on disk.
        rebuilt: Tenant, owner and session that lost an episode to a forbidden topic.
        versions: Of each table that lost rows, before it lost the first.
    """

    job: Job
    run_id: str
    key: str = JOURNAL
    removed: dict[str, Counts] = field(default_factory=dict)
    audit_seq: int | None = None
    is_begun: bool = False
    rebuilt: list[list[str | None]] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)

    def begin(self, table: Table, files: Iterable[str], counts: Mapping[str, Counts]) -> None:
        """Note a rewrite that is about to be committed, and what it takes out."""
        version = tables.version(self.job.lake, table)
        self.versions.setdefault(table.name, version)
        pending = {
            "table": table.name,
            "version": version,
            "files": sorted(files),
            "counts": dict(counts),
        }
        self._write(pending)

    def committed(self, counts: Mapping[str, Counts]) -> None:
        """Take up what the rewrite took out; noted on disk with the next one, or by ``settle``."""
        for key, more in counts.items():
            self.removed[key] = added(self.removed.get(key), more)

    def settle(self) -> None:
        """Note that no rewrite is under way."""
        self._write(None)

    def take(self, other: Journal) -> None:
        """Take up what the journal of a bucket tells."""
        self.committed(other.removed)
        self.rebuilt += other.rebuilt
        for name, version in other.versions.items():
            self.versions[name] = min(version, self.versions.get(name, version))

    def _write(self, pending: dict[str, Any] | None) -> None:
        record = {
            "run_id": self.run_id,
            "removed": self.removed,
            "audit_seq": self.audit_seq,
            "rebuilt": self.rebuilt,
            "versions": self.versions,
            "pending": pending,
        }
        self.job.lake.storage.write(self.key, json.dumps(record).encode())
        self.is_begun = True


def added(held: Counts | None, more: Counts) -> Counts:
    """Two counts together."""
    if held is None:
        return dict(more)
    due = [one["due_at"] for one in (held, more) if one["due_at"]]
    return {
        "rows": held["rows"] + more["rows"],
        "late": held["late"] + more["late"],
        "due_at": min(due) if due else None,
    }


def left(job: Job) -> list[str]:
    """Where journals of buckets lie."""
    return [entry.key for entry in job.lake.storage.entries(JOURNALS) if entry.key.endswith(".json")]


def resumed(job: Job, run_id: str, key: str) -> Journal:
    """A journal that a process left, with all it took out; an empty one where none did."""
    record = hint(job, key)
    if not record:
        return Journal(job, run_id, key)
    journal = Journal(job, str(record.get("run_id", run_id)), key, dict(record.get("removed", {})))
    journal.audit_seq, journal.is_begun = record.get("audit_seq"), True
    journal.rebuilt = list(record.get("rebuilt", []))
    journal.versions = {str(k): int(v) for k, v in dict(record.get("versions", {})).items()}
    pending = record.get("pending")
    if pending:
        if _is_committed(job, pending):
            journal.committed(pending["counts"])
        journal.settle()
    return journal


def drop(job: Job) -> None:
    """The run is in the ledger and in the audit: its journals go, its own last."""
    for key in left(job):
        job.lake.storage.delete(key)
    if job.lake.storage.read(JOURNAL) is not None:
        job.lake.storage.delete(JOURNAL)


def _is_committed(job: Job, pending: Mapping[str, Any]) -> bool:
    """Whether the rewrite that was under way is in the table's log.

    Nobody else takes rows out of these files meanwhile, so the first commit that took one away tells; but
    that may be one of a later run that merged them.
    """
    table, wanted = _TABLES[pending["table"]], set(pending["files"])
    if wanted & tables.data_files(job.lake, table):
        return False
    number = int(pending["version"])
    while (found := read_commit(job.lake.storage, table, number := number + 1)) is not None:
        if found.removed & wanted:
            return wanted <= found.removed and not found.is_upkeep
    return False
