"""The tables' history on disk: files that no table is made of any more, and what killed writers left.

Only for a run that holds the lake's locks: beside a writer, a file that is about to be committed would go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lake import tables
from lake.lake import Lake
from lake.storage import S3Storage
from transforms.schemas import Table

_LOG = "_delta_log/"


@dataclass
class Cleared:
    """What went."""

    files: int = 0
    bytes: int = 0


def stale_files(lake: Lake, table: Table) -> dict[str, int]:
    """Bytes of files below a table that it is not made of, by name below the table; its log is none."""
    prefix = f"tables/{table.name}/"
    held = {e.key.removeprefix(prefix): e.size_bytes for e in lake.storage.entries(prefix.rstrip("/"))}
    if not held:
        return {}
    current = tables.data_files(lake, table)
    return {name: size for name, size in held.items() if not name.startswith(_LOG) and name not in current}


def clear(lake: Lake, wanted: Sequence[Table]) -> Cleared:
    """Remove superseded data files and temporary ones of some tables, however young.

    The log's entries stay: they hold counts and names of files, and hints beside the tables lean on them.

    Raises:
        StorageError: A file cannot be removed.
    """
    done = Cleared()
    for table in wanted:
        for name, size in stale_files(lake, table).items():
            lake.storage.delete(f"tables/{table.name}/{name}")
            done.files += 1
            done.bytes += size
        done.files += lake.storage.sweep(f"tables/{table.name}", 0)
    return done


def half_written(lake: Lake) -> int | None:
    """Files below tables and index that a killed writer left half in the store; None where it does not tell.

    On a local disk they are files, which are read back as all others are.
    """
    if not isinstance(lake.storage, S3Storage):
        return 0
    found = [lake.storage.half_written(f"{prefix}/") for prefix in ("tables", "index")]
    return None if None in found else sum(n for n in found if n)


_COUNTED = ("tables", "index", "landing", "recall_log")


def totals(lake: Lake) -> tuple[int, int]:
    """Files and bytes below the lake's tables, index, landing and recall log, dead ones among them."""
    held = [e for prefix in _COUNTED for e in lake.storage.entries(prefix)]
    return len(held), sum(entry.size_bytes for entry in held)
