"""Notes of files that went in whole, so that the next night need not read them again.

A note is a hint and decides nothing on its own: one that cannot be read, or that speaks of commits the
tables no longer hold, counts as none, and the file is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from flows.job import Job
from lake import lineage
from lake.sources import Source
from transforms import ids
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.validate import Defaults

READERS_VERSION = 1
"""Raise it when a reader or a rule makes other rows of the same bytes: every file is then read again."""
STANDARD_INPUT = "standard input"
_TABLES = (EPISODES, QUARANTINE)


@dataclass(frozen=True)
class Note:
    """What a file that went in whole held."""

    rows_in: int
    left_out: Mapping[str, int]


@dataclass
class Notes:
    """The notes of one run; what it found out about the tables' history is kept."""

    job: Job
    _known: dict[tuple[str, lineage.Mark], bool] = field(default_factory=dict)

    def key(self, source: Source, defaults: Defaults) -> str | None:
        """Where the note lies that this content went in whole; None for standard input."""
        if source.file_name == STANDARD_INPUT:
            return None
        content = blake2b(digest_size=16)
        with source.open() as stream:
            while block := stream.read(1 << 20):
                content.update(block)
        policy = self.job.policy
        settings = policy.ingest.model_dump_json() + policy.redact.model_dump_json()
        reader = f"{source.reader.name}@{READERS_VERSION}"
        name = ids.row_id(content.hexdigest(), reader, repr(defaults), settings)
        return f"state/ingested/{name[:2]}/{name}.json"

    def read(self, key: str) -> Note | None:
        """The note, None where there is none that holds."""
        record = hint(self.job, key)
        try:
            marks = {t.name: mark_of(record["marks"][t.name]) for t in _TABLES}
            note = Note(int(record["rows_in"]), {str(k): int(v) for k, v in record["left_out"].items()})
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return note if all(self._holds(t, marks[t.name]) for t in _TABLES) else None

    def write(self, key: str, note: Note) -> None:
        """Note that a file's rows are in the tables as they stand now."""
        marks = {table.name: lineage.mark(self.job.lake, table) for table in _TABLES}
        record = {"rows_in": note.rows_in, "left_out": dict(note.left_out), "marks": marks}
        self.job.lake.storage.write(key, json.dumps(record).encode())

    def _holds(self, table: Table, mark: lineage.Mark) -> bool:
        known = (table.name, mark)
        if known not in self._known:
            self._known[known] = lineage.holds(self.job.lake, table, mark)
        return self._known[known]


def hint(job: Job, key: str) -> dict[str, Any]:
    """A JSON object below ``state``; empty where there is none, or it is not readable."""
    raw = job.lake.storage.read(key)
    try:
        record = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def mark_of(value: object) -> lineage.Mark:
    """A mark as JSON gives it back.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, list) and len(value) == 2 and type(value[0]) is int and isinstance(value[1], str):
        return value[0], value[1]
    raise ValueError("no mark")
