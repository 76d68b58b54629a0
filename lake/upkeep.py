"""Upkeep of Delta tables: merging small files, and removing what no version needs any more."""

from __future__ import annotations

from deltalake import DeltaTable, WriterProperties

from lake.faults import wrapped
from lake.lake import Lake
from lake.opened import forget
from lake.parts import ROW_GROUP_ROWS
from lake.storage import sync_file
from lake.tables import data_files, open_table, retried, sync_log
from transforms.schemas import Table

_WRITER = WriterProperties(compression="ZSTD", compression_level=1, max_row_group_size=ROW_GROUP_ROWS)
SAFE_HOURS = 12
"""Longer than any write or merge takes."""


def compact(lake: Lake, table: Table) -> int:
    """Merge small files partition by partition. Returns by how many files the table shrank."""
    if open_table(lake, table) is None:
        return 0
    before = data_files(lake, table)
    result = retried(
        lambda: DeltaTable(lake.table_uri(table)).optimize.compact(writer_properties=_WRITER),
        f"compacting {table.name}",
    )
    forget(lake, table)
    root = lake.root
    if root is not None:
        with wrapped(f"compacting {table.name}"):
            for name in data_files(lake, table) - before:
                sync_file(root / "tables" / table.name / name)
    sync_log(lake, table)
    return int(result["numFilesRemoved"]) - int(result["numFilesAdded"])


def vacuum(lake: Lake, table: Table, retention_hours: int) -> int:
    """Remove what no version of the last hours needs: superseded files, and those of killed writers.

    Args:
        lake: Where.
        table: Which.
        retention_hours: From ``SAFE_HOURS`` on, files that no commit names go, too; below it they
            stay, because they may be those of a writer that is about to commit.

    Returns:
        How many files went.
    """
    if open_table(lake, table) is None:
        return 0
    removed = retried(
        lambda: DeltaTable(lake.table_uri(table)).vacuum(
            retention_hours=retention_hours,
            dry_run=False,
            enforce_retention_duration=False,
            full=retention_hours >= SAFE_HOURS,
        ),
        f"vacuuming {table.name}",
    )
    if retention_hours < SAFE_HOURS:
        return len(removed)
    return len(removed) + lake.storage.sweep(f"tables/{table.name}", retention_hours * 3600)
