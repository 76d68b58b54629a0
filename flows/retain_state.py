"""What retain remembers: which buckets need no look, and, while it runs, what has been taken out so far.

``state/retained.json`` is a hint: for each tenant bucket a hash of the data files it was last judged by, and
the next instant at which a row of it will be due. ``state/retaining.json`` exists while a run is under way:
counts of what is gone, and the one rewrite that may or may not have been committed when the run was killed.
Both hold counts, names of files and salted hashes of tenants; the second also, until the run is done, the ids
of sessions that lost an episode to a forbidden topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from flows.job import Job
from flows.notes import hint
from lake import tables
from lake.history import RETAINED
from lake.rights import standing
from lake.rights.subjects import salt
from transforms import ids
from transforms.schemas import STORED, Table
from transforms.standing import Standing

STATE = "state/retained.json"
JOURNAL = "state/retaining.json"
SECTIONS = ("retention", "decay", "staleness", "capacity", "cold", "facts")
RULES_VERSION = 1
"""Raise it when the same rows and policy come to other verdicts."""

Counts = dict[str, Any]
"""rows, late rows, and the earliest due instant (ISO 8601 or null)."""


def key_of(tenant_hash: str, table: str, tier: str, reason: str) -> str:
    """Name of one line of the ledger."""
    return "|".join((tenant_hash, table, tier, reason))


@dataclass
class Seen:
    """What the last run saw.

    Attributes:
        as_of: The latest instant it reasoned at; None where it judged by other rules.
        buckets: Hash of the files of each, and when something of it is due next.
        superseded: Since when a table has files that stand no more.
        looked_at: As ``as_of``, by whatever rules: all that was due by then is gone.
    """

    as_of: datetime | None = None
    buckets: dict[int, dict[str, Any]] = field(default_factory=dict)
    superseded: dict[str, str] = field(default_factory=dict)
    looked_at: datetime | None = None

    def is_settled(self, bucket: int, files: str, as_of: datetime) -> bool:
        """Whether nothing of a bucket can be due."""
        held = self.buckets.get(bucket)
        if held is None or self.as_of is None or as_of < self.as_of or held.get("files") != files:
            return False
        due = held.get("next_at")
        return due is None or datetime.fromisoformat(due) > as_of


def load(job: Job, method: str) -> Seen:
    """What the last run saw; nothing where it judged by other rules, or that cannot be read."""
    record = hint(job, STATE)
    superseded = record.get("superseded")
    kept = {str(k): str(v) for k, v in superseded.items()} if isinstance(superseded, dict) else {}
    try:
        as_of = datetime.fromisoformat(record["as_of"])
        if record["method"] != method:
            return Seen(superseded=kept, looked_at=as_of)
        buckets = {int(number): dict(one) for number, one in record["buckets"].items()}
        return Seen(as_of, buckets, kept, as_of)
    except (KeyError, TypeError, ValueError, AttributeError):
        return Seen(superseded=kept)


def save(job: Job, method: str, seen: Seen) -> None:
    """Remember."""
    as_of = max(job.as_of, seen.as_of) if seen.as_of else job.as_of
    record = {
        "method": method,
        "as_of": as_of.isoformat(),
        "buckets": {str(number): one for number, one in sorted(seen.buckets.items())},
        "superseded": seen.superseded,
    }
    job.lake.storage.write(STATE, json.dumps(record).encode())


def method_of(job: Job, instructions: Iterable[Standing]) -> str:
    """Names all that changes a verdict on the same rows at the same instant."""
    policy = {name: getattr(job.policy, name).model_dump(mode="json") for name in SECTIONS}
    told = json.dumps({"policy": policy, "rules": RULES_VERSION}, sort_keys=True)
    return ids.digest(told + standing_digest(job, instructions))


def standing_digest(job: Job, instructions: Iterable[Standing]) -> str:
    """A salted hash of instructions; empty where there are none, so that no salt is made for it."""
    told = sorted(repr(one) for one in instructions)
    if not told:
        return ""
    return blake2b("\n".join(told).encode("utf-8", "surrogatepass"), key=salt(job.lake)).hexdigest()[:32]


def instructions_of(job: Job) -> list[Standing]:
    """Everything that people asked for."""
    return standing.load_all(job.lake)


def files_by_bucket(job: Job) -> dict[int, str]:
    """A hash of the names of all data files that decide on a bucket. Files are never changed in place."""
    names: dict[int, list[str]] = {bucket: [] for bucket in range(job.lake.buckets)}
    for table in RETAINED:
        for name in tables.data_files(job.lake, table):
            bucket = int(name.partition("/")[0].removeprefix("tenant_bucket="))
            names[bucket].append(f"{table.name}/{name}")
    return {bucket: ids.digest("\n".join(sorted(found))) for bucket, found in names.items()}


@dataclass
class Journal:
    """Counts of what a run has taken out, kept beside the tables so that a killed run loses none.

    Args:
        job: The run.
        run_id: Of the run that began; one that goes on takes it over.
        removed: Counts by ``key_of``.
        audit_seq: Number of the newest audit event before this run's own; None until it is looked up.
        is_begun: Whether it is on disk.
        rebuilt: Tenant, owner and session that lost an episode to a forbidden topic.
        versions: Of each table that lost rows, before it lost the first.
    """

    job: Job
    run_id: str
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

    def close(self) -> None:
        """The run is in the ledger and in the audit."""
        self.job.lake.storage.delete(JOURNAL)

    def _write(self, pending: dict[str, Any] | None) -> None:
        record = {
            "run_id": self.run_id,
            "removed": self.removed,
            "audit_seq": self.audit_seq,
            "rebuilt": self.rebuilt,
            "versions": self.versions,
            "pending": pending,
        }
        self.job.lake.storage.write(JOURNAL, json.dumps(record).encode())
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


def resumed(job: Job, run_id: str) -> Journal:
    """The journal of the run that was killed, with all it took out; an empty one where none was."""
    record = hint(job, JOURNAL)
    if not record:
        return Journal(job, run_id)
    seq = record.get("audit_seq")
    journal = Journal(job, str(record.get("run_id", run_id)), dict(record.get("removed", {})), seq, True)
    journal.rebuilt = list(record.get("rebuilt", []))
    journal.versions = {str(k): int(v) for k, v in dict(record.get("versions", {})).items()}
    pending = record.get("pending")
    if pending and _is_committed(job, pending):
        journal.committed(pending["counts"])
    journal.settle()
    return journal


def _is_committed(job: Job, pending: Mapping[str, Any]) -> bool:
    """Whether the rewrite that was under way is in the table's log.

    Only this run wrote then, so it is the very next version; but a later run may have merged the files.
    """
    table = next(t for t in STORED if t.name == pending["table"])
    if set(pending["files"]) & tables.data_files(job.lake, table):
        return False
    number = int(pending["version"]) + 1
    raw = job.lake.storage.read(f"tables/{table.name}/_delta_log/{number:020d}.json") or b""
    actions = [json.loads(line) for line in raw.splitlines() if line.strip()]
    gone = {action["remove"]["path"] for action in actions if "remove" in action}
    made = [action["commitInfo"] for action in actions if "commitInfo" in action]
    return set(pending["files"]) <= gone and not any(one.get("operation") == "OPTIMIZE" for one in made)
