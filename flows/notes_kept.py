"""Where notes of files lie, and when they go: each name has the span of ``DAYS`` days it was last met in.

A note that is met again is moved into the span of now, so one that lies two spans back is of a file that no
run has met for ``DAYS`` days or longer. All that its end costs is that such a file is read once more.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from lake.lake import Lake
from lake.storage import Storage

DAYS = 90
WHOLE, PART = "state/ingested", "state/ingesting"
"""Folders of notes: of whole files, and of files up to a point."""
STATE = "state/notes.json"
"""In which span notes were last looked through."""
_SPAN = re.compile(r"\.(\d{6})\.json$", re.ASCII)


def read_note(storage: Storage, folder: str, key: str, *, is_moved: bool = True) -> bytes | None:
    """A note, wherever it lies.

    Args:
        storage: Of the lake.
        folder: ``WHOLE`` or ``PART``.
        key: Of the file.
        is_moved: Whether it comes into the span of now; a dry run leaves it.
    """
    now = _place(folder, key)
    raw = storage.read(now)
    for place in _earlier(folder, key):
        if raw is not None:
            break
        raw = storage.read(place)
        if raw is not None and is_moved:
            storage.write(now, raw)
            storage.delete(place)
    return raw


def write_note(storage: Storage, folder: str, key: str, raw: bytes) -> None:
    """Write a note into the span of now."""
    storage.write(_place(folder, key), raw)


def drop_note(storage: Storage, folder: str, key: str) -> None:
    """Take a note away, wherever it lies."""
    for place in (_place(folder, key), *_earlier(folder, key)):
        if storage.read(place) is not None:
            storage.delete(place)


def expire(lake: Lake, at: datetime) -> int:
    """Remove notes that no run has met for long; looked at once a span.

    Args:
        lake: Whose.
        at: Now.

    Returns:
        How many went.
    """
    span, before = _span(at), _looked_in(lake)
    if before == span:
        return 0
    found = [entry.key for folder in (WHOLE, PART) for entry in lake.storage.entries(folder)]
    gone = [key for key in found if _is_old(key, span, is_known=before is not None)]
    for key in gone:
        lake.storage.delete(key)
    if found or before is not None:
        lake.storage.write(STATE, json.dumps({"span": span}).encode())
    return len(gone)


def _is_old(key: str, span: int, *, is_known: bool) -> bool:
    """Whether a note was not met in this span nor the one before; the oldest notes have no span."""
    told = _SPAN.search(key)
    return int(told[1]) < span - 1 if told else is_known


def _looked_in(lake: Lake) -> int | None:
    try:
        return int(json.loads(lake.storage.read(STATE) or b"")["span"])
    except (ValueError, KeyError, TypeError):
        return None


def now() -> datetime:
    """The present: notes age by the clock, whatever instant a run is as of."""
    return datetime.now(UTC)


def _span(at: datetime) -> int:
    return at.astimezone(UTC).toordinal() // DAYS


def _place(folder: str, key: str, back: int = 0) -> str:
    return f"{folder}/{key[:2]}/{key}.{_span(now()) - back:06d}.json"


def _earlier(folder: str, key: str) -> tuple[str, str]:
    """The span before, and where notes lay before there were spans."""
    return _place(folder, key, 1), f"{folder}/{key[:2]}/{key}.json"
