"""Marks of a table's history, by which a hint kept beside the tables tells that they were put back.

A mark names a commit: its version and a hash of its log entry. A table restored from a backup, emptied
or made anew does not hold the commit any more, whatever its version has grown to since.
"""

from __future__ import annotations

from hashlib import blake2b

from lake import tables
from lake.lake import Lake
from transforms.schemas import Table

Mark = tuple[int, str]
"""Version, and hash of its log entry; (-1, "") before the first row."""


def mark(lake: Lake, table: Table) -> Mark:
    """The mark of the table as it stands."""
    return mark_at(lake, table, tables.version(lake, table))


def mark_at(lake: Lake, table: Table, version: int) -> Mark:
    """The mark of a version; its hash is empty where the log no longer holds it."""
    return version, _entry_hash(lake, table, version)


def holds(lake: Lake, table: Table, given: Mark) -> bool:
    """Whether the table's history still holds the commit; one read, and no where its entry has expired."""
    version, entry = given
    return version < 0 or (entry != "" and _entry_hash(lake, table, version) == entry)


def _entry_hash(lake: Lake, table: Table, version: int) -> str:
    if version < 0:
        return ""
    raw = lake.storage.read(f"tables/{table.name}/_delta_log/{version:020d}.json")
    return "" if raw is None else blake2b(raw, digest_size=16).hexdigest()
