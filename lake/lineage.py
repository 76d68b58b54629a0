"""Marks of a table's history, by which a hint kept beside the tables tells that they were put back.

A mark names a commit: its version and a hash of its log entry. A table restored from a backup, emptied
or made anew does not hold the commit any more, whatever its version has grown to since. Commits that only
merge or remove files move no mark.

The log is cut off behind (``lake.table_log``). Before that an anchor is set: the mark of the table as it
stands, and since when its history is known to be one. A mark whose own entry is gone holds where the
anchor does.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from lake import tables
from lake.lake import Lake
from lake.log_entries import entry_key, settled
from transforms.schemas import Table

ANCHORS = "state/anchors.json"

Mark = tuple[int, str]
"""Version, and hash of its log entry; (-1, "") before the first row."""


def mark(lake: Lake, table: Table) -> Mark:
    """The mark of the table as it stands: of the last commit that changed a row."""
    return mark_at(lake, table, settled(lake.storage, table, tables.version(lake, table)))


def mark_at(lake: Lake, table: Table, version: int) -> Mark:
    """The mark of a version; its hash is empty where the log no longer holds it."""
    return version, _entry_hash(lake, table, version)


def holds(lake: Lake, table: Table, given: Mark) -> bool:
    """Whether the table's history still holds the commit; one read, or two where its entry has expired."""
    version, entry = given
    if version < 0:
        return True
    found = _entry_hash(lake, table, version)
    if found or not entry:
        return bool(entry) and found == entry
    held = _anchors(lake).get(table.name)
    return held is not None and held[0] <= version <= held[1] and _entry_hash(lake, table, held[1]) == held[2]


def set_anchor(lake: Lake, table: Table, oldest: int) -> None:
    """Note the table as it stands, before entries of its log go.

    Args:
        lake: Where.
        table: Which.
        oldest: The first version that its log holds.
    """
    anchors = _anchors(lake)
    version, entry = mark(lake, table)
    held = anchors.get(table.name)
    if held is None:
        since = oldest
    elif held[1] <= version and _entry_hash(lake, table, held[1]) == held[2]:
        since = held[0]
    else:  # put back from a backup, or made anew: no mark of before that has expired is to be trusted
        since = max(version, held[1] + 1)
    if (after := (since, version, entry)) != held:
        lake.storage.write(ANCHORS, json.dumps({**anchors, table.name: after}, sort_keys=True).encode())


def _anchors(lake: Lake) -> dict[str, tuple[int, int, str]]:
    """By table: since which version its history is known to be one, and the mark it stood at."""
    raw = lake.storage.read(ANCHORS)
    try:
        record: Any = json.loads(raw) if raw else {}
        return {str(name): (int(one[0]), int(one[1]), str(one[2])) for name, one in record.items()}
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return {}


def _entry_hash(lake: Lake, table: Table, version: int) -> str:
    """A hash of a log entry; empty where there is none."""
    raw = lake.storage.read(entry_key(table, version)) if version >= 0 else None
    return "" if raw is None else blake2b(raw, digest_size=16).hexdigest()
