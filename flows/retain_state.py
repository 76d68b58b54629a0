"""What retain remembers: which buckets need no look, because nothing in them can be due.

``state/retained.json`` is a hint: for each tenant bucket a hash of the data files it was last judged by, and
the next instant at which a row of it will be due.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from flows.job import Job
from flows.notes import hint
from lake import tables
from lake.data_files import bucket_of
from lake.file_names import rows_digest
from lake.history import RETAINED
from lake.rights import standing
from lake.rights.subjects import salt
from transforms import ids
from transforms.standing import Standing

STATE = "state/retained.json"
SECTIONS = ("retention", "decay", "staleness", "capacity", "cold", "facts")
RULES_VERSION = 1
"""Raise it when the same rows and policy come to other verdicts."""


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
    """A hash of all data files that decide on a bucket, the same before and after files are merged."""
    told: dict[int, list[str]] = {bucket: [] for bucket in range(job.lake.buckets)}
    for table in RETAINED:
        names: dict[int, list[str]] = {}
        for name in tables.data_files(job.lake, table):
            names.setdefault(bucket_of(name), []).append(name)
        for bucket, held in names.items():
            told[bucket].append(f"{table.name} {rows_digest(held)}")
    return {bucket: ids.digest("\n".join(found)) for bucket, found in told.items()}
