"""Upkeep of Delta tables: merging small files, and removing what no version needs any more."""

from __future__ import annotations

from deltalake import DeltaTable, PostCommitHookProperties

from lake import tables
from lake.commits import retried
from lake.lake import Lake
from lake.opened import forget, open_table
from transforms.merging import DataFile, merges
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import Table

SAFE_HOURS = 12
"""Longer than any write or merge takes."""


def merge(lake: Lake, table: Table, policy: UpkeepPolicy, *, most: int | None = None) -> int:
    """Merge small files of the partitions that have too many, a commit for each ``merge_bytes``.

    No row changes, no mark of the table moves (``lake.lineage``), and text that is sealed stays so. Killed
    anywhere and run again, the rest is merged.

    Args:
        lake: Where.
        table: Which.
        policy: How many files are too many, and how much is merged at once.
        most: Small files that a partition may have; the policy's ``partition_files`` where None.

    Returns:
        By how many files the table shrank.

    Raises:
        BusyError: Another run has written the files anew meanwhile; they stay as it left them.
    """
    state = open_table(lake, table)
    if state is None:
        return 0
    files = [DataFile(name, size) for name, size in state.sizes.items()]
    groups = merges(files, policy, policy.partition_files if most is None else most)
    waiting: list[str] = []
    gone = held = 0
    for place, group in enumerate(groups):
        waiting += [file.name for file in group]
        held += sum(file.size_bytes for file in group)
        gone += len(group) - 1
        after = sum(file.size_bytes for file in groups[place + 1]) if place + 1 < len(groups) else 0
        if not after or held + after > policy.merge_bytes:
            rows = tables.scan(lake, table, files=waiting, as_stored=True).collect()
            tables.rewrite(lake, table, waiting, rows, as_stored=True, is_merge=True)
            waiting, held = [], 0
    return gone


def compact(lake: Lake, table: Table) -> int:
    """Merge all small files of each partition. Returns by how many files the table shrank."""
    return merge(lake, table, UpkeepPolicy(partition_files=1), most=1)


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
            post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
        ),
        f"vacuuming {table.name}",
    )
    forget(lake, table)
    if retention_hours < SAFE_HOURS:
        return len(removed)
    return len(removed) + lake.storage.sweep(f"tables/{table.name}", retention_hours * 3600)
