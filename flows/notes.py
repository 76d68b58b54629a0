"""Notes of files that went in whole, or up to a point, so that no run need read that again.

A note is a hint and decides nothing on its own: one that cannot be read, or that speaks of commits the
tables no longer hold, counts as none, and the file is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel

from flows.job import Job
from flows.notes_kept import PART, WHOLE, drop_note, read_note, write_note
from lake import lineage
from lake.sources import Source
from transforms import ids
from transforms.policy import Policy
from transforms.readers.batch import NameReading
from transforms.readers.lines import PLACES, Point
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.validate import Defaults

READERS_VERSION = 5
"""Raise it when a reader or a rule makes other rows of the same bytes: every file is then read again."""
_TABLES = (EPISODES, QUARANTINE)


@dataclass(frozen=True)
class Note:
    """What a file that went in whole held, or a part of one.

    Args:
        rows_in: Rows found.
        left_out: Reason -> rows that are not part of the record.
        point: How far they go; None: to the end.
    """

    rows_in: int
    left_out: Mapping[str, int]
    point: Point | None = None


@dataclass
class Notes:
    """The notes of one run; what it found out about the tables' history is kept."""

    job: Job
    _known: dict[tuple[str, lineage.Mark], bool] = field(default_factory=dict)

    def key(self, source: Source, defaults: Defaults) -> str:
        """The name under which is noted what of this content went in."""
        policy = self.job.policy
        sections = (policy.ingest, policy.redact, *kept_by(policy))
        settings = "".join(section.model_dump_json() for section in sections)
        reader = f"{source.reader.name}@{READERS_VERSION}"
        content = [_content(source), *_beside_content(source)]
        return ids.row_id(*content, reader, repr(defaults), settings)

    def read(self, key: str) -> Note | None:
        """The note of the whole file, else of its part; None where there is none that holds."""
        return self._read(key, WHOLE) or self._read(key, PART)

    def _read(self, key: str, folder: str) -> Note | None:
        job = self.job
        record = _object(read_note(job.lake.storage, folder, key, is_moved=not job.is_dry))
        try:
            marks = {t.name: mark_of(record["marks"][t.name]) for t in _TABLES}
            left_out = {str(k): int(v) for k, v in record["left_out"].items()}
            note = Note(int(record["rows_in"]), left_out, _point(record) if folder == PART else None)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return note if all(self._holds(t, marks[t.name]) for t in _TABLES) else None

    def write(self, key: str, note: Note) -> None:
        """Note that rows of a file are in the tables as they stand now."""
        storage, marks = self.job.lake.storage, {t.name: lineage.mark(self.job.lake, t) for t in _TABLES}
        record = {"rows_in": note.rows_in, "left_out": dict(note.left_out), "marks": marks}
        if note.point is not None:
            record |= {"point": list(note.point), "state": ids.row_id(note.point.state)}
            write_note(storage, PART, key, json.dumps(record).encode())
            return
        write_note(storage, WHOLE, key, json.dumps(record).encode())
        drop_note(storage, PART, key)

    def _holds(self, table: Table, mark: lineage.Mark) -> bool:
        known = (table.name, mark)
        if known not in self._known:
            self._known[known] = lineage.holds(self.job.lake, table, mark)
        return self._known[known]


def kept_by(policy: Policy) -> tuple[BaseModel, ...]:
    """What decides how long a row stays: after a change of it a file brings back what a night had taken."""
    return policy.retention, policy.decay, policy.staleness, policy.capacity


def _content(source: Source) -> str:
    """What tells this content from any other: a digest of the file as it lies, or its store's tag."""
    tape = source.tape
    if tape is not None and tape.version is not None:
        return json.dumps([source.file_name, tape.version, tape.size_bytes])
    content = blake2b(digest_size=16)
    with (source.opener if tape is None else tape)() as stream:
        while block := stream.read(1 << 20):
            content.update(block)
    return content.hexdigest()


def _beside_content(source: Source) -> list[str]:
    """What else rows are read from: the name, to readers that read it, and files beside this one."""
    told = source.reader.told_by(source.file_name) if isinstance(source.reader, NameReading) else None
    return [json.dumps([told, source.companions])] if told or source.companions else []


def _point(record: Mapping[str, Any]) -> Point:
    """The point of a part.

    Raises:
        ValueError: It is none.
    """
    offset, number, place, state = record["point"]
    point = Point(int(offset), int(number), str(place), state)
    if type(state) is not str or record["state"] != ids.row_id(state):
        raise ValueError("another state")
    is_begun = point.number > 0 if point.place == "rows" else point.offset > 0 or state
    if not is_begun or min(point.offset, point.number) < 0 or point.place not in PLACES:
        raise ValueError("no point")
    return point


def hint(job: Job, key: str) -> dict[str, Any]:
    """A JSON object below ``state``; empty where there is none, or it is not readable."""
    return _object(job.lake.storage.read(key))


def _object(raw: bytes | None) -> dict[str, Any]:
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
