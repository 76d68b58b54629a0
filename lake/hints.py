"""Hints kept beside the tables, carried over commits that brought no new rows.

A hint says up to which commit of a table a job has been through it. A commit that takes files away puts
rows that were there already in their place (erasure, retention, a purge, a compaction), so a job that had
been through the table before has been through it after. Without this the next night would read everything
that was written anew. Nothing else is needed: which commits are such is told by the table's own log, so a
run that was killed anywhere carries the hints over when it is run again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lake import lineage
from lake.lake import Lake
from lake.log_entries import arrived, read_commit, settled
from transforms.schemas import STORED, Table

EMBEDDED = "state/embedded-"
CONSOLIDATED = "state/consolidated.json"
_TABLES: Mapping[str, Table] = {table.name: table for table in STORED}


def settled_version(lake: Lake, table: Table, version: int) -> int:
    """The last version to which only commits lead that brought no new rows."""
    while version >= 0 and _is_neutral(lake, table, version + 1):
        version += 1
    return version


def _is_neutral(lake: Lake, table: Table, version: int) -> bool:
    commit = read_commit(lake.storage, table, version)
    return commit is not None and (not commit.added or bool(commit.removed))


def carry_over(lake: Lake) -> int:
    """Carry every hint of embedding and consolidation over. Returns how many changed.

    One whose own mark no longer holds is left: its job begins anew anyway.
    """
    changed = 0
    for entry in lake.storage.entries("state"):
        is_embedded = entry.key.startswith(EMBEDDED)
        if not (is_embedded or entry.key == CONSOLIDATED):
            continue
        record = _record(lake.storage.read(entry.key))
        after = _embedded(lake, record) if is_embedded else _consolidated(lake, record)
        if after is not None and after != record:
            lake.storage.write(entry.key, json.dumps(after).encode())
            changed += 1
    return changed


def _record(raw: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _embedded(lake: Lake, record: dict[str, Any]) -> dict[str, Any] | None:
    """A hint of embedding: version, mark and files to look through again, table by table."""
    try:
        parts = dict(record["tables"])
        for name, one in parts.items():
            version, retry = int(one["version"]), set(map(str, one["retry_files"]))
            now = _carried(lake, name, (version, str(one["mark"][1])))
            if now is None or now[0] == version:
                continue
            retry = _retry(lake, name, version, now[0], retry) if retry else retry
            parts[name] = {"version": now[0], "retry_files": sorted(retry), "mark": now}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None
    return {**record, "tables": parts}


def _retry(lake: Lake, name: str, version: int, until: int, retry: set[str]) -> set[str]:
    """Files with a refused text, under the names that their rows have at a later version."""
    commits = [read_commit(lake.storage, _TABLES[name], number) for number in range(version + 1, until + 1)]
    held = [commit for commit in commits if commit is not None]
    return arrived(held, retry, retry).difference(*(commit.removed for commit in held))


def _consolidated(lake: Lake, record: dict[str, Any]) -> dict[str, Any] | None:
    try:
        marks = dict(record["marks"])
        version, entry = marks["episodes"]
        now = _carried(lake, "episodes", (int(version), str(entry)))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None if now is None else {**record, "marks": {**marks, "episodes": now}}


def _carried(lake: Lake, name: str, given: lineage.Mark) -> list[Any] | None:
    """Where a mark stands after it was carried over; None where it does not hold."""
    table = _TABLES.get(name)
    if table is None or given[0] < 0 or not lineage.holds(lake, table, given):
        return None
    last = settled_version(lake, table, given[0])
    return list(lineage.mark_at(lake, table, settled(lake.storage, table, last)))
