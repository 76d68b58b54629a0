"""Tombstones: whose rows never come back. A file a subject, named by its salted hash; it holds no id.

Two marks, each with a request of its own, stand in it: ``erased_subject`` refuses what happened up to
``until`` (everything while the erasure is open), ``opted_out`` refuses everything until it is lifted. The
tombstone of one memory refuses its id whatever the time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from lake.lake import Lake
from lake.rights.refusals import MARKS, Mark, Tombstone, Tombstones, scope_of
from lake.rights.subjects import salt, subject_hash
from lake.rights.watched import Place, Watched, place_of
from transforms.errors import LakeError
from transforms.subjects import SUBJECT_KINDS, Subject

__all__ = ["MARKS", "Mark", "Tombstone", "Tombstones", "lift", "load", "place", "refused"]

PREFIX = "tombstones"
_EVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def load(lake: Lake) -> Tombstones:
    """The tombstones as they stand: one listing, and none where nothing changed on a local disk.

    Raises:
        LakeError: One of them is damaged.
    """
    source = _watched.read(lake)
    where = place_of(lake)
    held = _loaded.get(where)
    if held is None or held[0] is not source:
        held = source, Tombstones(salt(lake) if source else b"-", source)
        _loaded[where] = held
    return held[1]


def refused(lake: Lake, rows: Sequence[Mapping[str, Any]]) -> list[Mark | None]:
    """Why each of a few rows is refused, with the columns of ``Tombstones.marks``; None where it is not."""
    held = load(lake)
    return [held.mark_of(scope_of(row), row.get("event_at"), row.get("episode_id")) for row in rows]


def place(
    lake: Lake,
    subject: Subject,
    until: datetime | None,
    request_id: str,
    *,
    mark: Mark = "erased_subject",
) -> None:
    """Refuse a subject's rows from now on; the subject's other mark stays.

    Args:
        lake: Where.
        subject: Whose.
        until: Rows that happened up to then; None for all, until it is placed again or lifted.
        request_id: Hex id of the request.
        mark: Why.
    """
    at = None if until is None else until.astimezone(UTC).isoformat()
    _write(lake, subject, {**_marks(lake, subject), mark: {"until": at, "request_id": request_id}})


def lift(lake: Lake, subject: Subject, *, mark: Mark = "erased_subject") -> None:
    """Take a mark back; the last one takes the tombstone with it."""
    _write(lake, subject, {name: told for name, told in _marks(lake, subject).items() if name != mark})


def _marks(lake: Lake, subject: Subject) -> dict[str, Any]:
    key = key_of(lake, subject)
    raw = lake.storage.read(key)
    if raw is None:
        return {}
    _parsed(key, raw)
    return dict(json.loads(raw)["marks"])


def _write(lake: Lake, subject: Subject, marks: Mapping[str, Any]) -> None:
    key = key_of(lake, subject)
    if marks:
        record = {"kind": subject.kind, "marks": marks}
        lake.storage.write(key, json.dumps(record, sort_keys=True).encode())
    else:
        lake.storage.delete(key)


def key_of(lake: Lake, subject: Subject) -> str:
    """Where a subject's tombstone lies."""
    return f"{PREFIX}/{subject_hash(salt(lake), subject)}.json"


def _parsed(key: str, data: bytes) -> Tombstone:
    """One file.

    Raises:
        LakeError: It is damaged.
    """
    try:
        record = json.loads(data)
        kind, marks = record["kind"], record["marks"]
        if kind not in SUBJECT_KINDS or not marks or not set(marks) <= set(MARKS):
            raise ValueError(key)
        until = {
            m: _EVER if v["until"] is None else datetime.fromisoformat(v["until"]) for m, v in marks.items()
        }
        if any(at.tzinfo is None for at in until.values()):
            raise ValueError(key)
        is_open = any(value["until"] is None for value in marks.values())
        return Tombstone(kind, until, {m: str(v["request_id"]) for m, v in marks.items()}, is_open)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LakeError(
            f"{key} is damaged", "Restore it from a backup: it keeps erased rows from coming back."
        ) from error


_watched = Watched(PREFIX, _parsed)
_loaded: dict[Place, tuple[Mapping[str, Tombstone], Tombstones]] = {}
