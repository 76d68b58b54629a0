"""What writers and readers left in segments for a night to take up: how much, and since when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import Entry, LocalStorage

_STAMP = re.compile(r"/sealed-(\d{8}T\d{12})")
_LINE_BYTES = 1 << 20
_OPENED = 64
"""Segments whose first line is read; of more, those that were written to last can wait no longer."""


@dataclass(frozen=True)
class Waiting:
    """Segments below a prefix.

    Attributes:
        segments: How many hold anything.
        size_bytes: What they hold.
        oldest_at: When the first line that could be dated was written; None where none could.
    """

    segments: int
    size_bytes: int
    oldest_at: datetime | None


def waiting(lake: Lake, prefix: str, instant_names: Sequence[str]) -> Waiting:
    """What waits below a prefix; reads a line of each of the oldest segments, no more.

    Args:
        lake: Where.
        prefix: ``landing.PREFIX`` or ``recall_segments.PREFIX``.
        instant_names: Fields of a line's row that say when it was written, the first that is there counts.
    """
    held = [entry for entry in lake.storage.entries(prefix) if entry.size_bytes]
    moments = [moment for moment in _moments(lake, held, instant_names) if moment is not None]
    return Waiting(len(held), sum(entry.size_bytes for entry in held), min(moments, default=None))


def _moments(lake: Lake, held: Sequence[Entry], names: Sequence[str]) -> list[datetime | None]:
    if not isinstance(lake.storage, LocalStorage):
        return [_stamped(entry.key) for entry in held]
    oldest = sorted(held, key=lambda entry: (int(entry.tag.rpartition("-")[2]), entry.key))[:_OPENED]
    return [_first(lake.storage, entry.key, names) for entry in oldest]


def _stamped(key: str) -> datetime | None:
    """When an object of an object store was put, by its name."""
    found = _STAMP.search(key)
    return datetime.strptime(found[1], "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC) if found else None


def _first(storage: LocalStorage, key: str, names: Sequence[str]) -> datetime | None:
    """The instant of the first line of a segment."""
    with wrapped(f"reading {key}"):
        try:
            with storage.path(key).open("rb") as file:
                line = file.readline(_LINE_BYTES)
        except FileNotFoundError:  # taken up meanwhile
            return None
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    row = next(iter(record.values()), None) if isinstance(record, dict) and len(record) == 1 else record
    return next((at for name in names if (at := _instant(row, name)) is not None), None)


def _instant(row: Any, name: str) -> datetime | None:
    value = row.get(name) if isinstance(row, dict) else None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
