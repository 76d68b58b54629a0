"""The log of a Delta table kept short: checkpoints, and entries that have had their time removed.

The table library would cut the log off by itself; then an entry could go that a hint beside the tables leans
on. Here the last commit that changed a row stays, and an anchor is set before anything goes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from deltalake import DeltaTable

from lake import lineage
from lake.commits import retried, sync_log
from lake.lake import Lake
from lake.log_entries import read_commit
from lake.storage import sync_file
from transforms.policy_upkeep import UpkeepPolicy
from transforms.schemas import Table

_ENTRY = re.compile(r"/(\d{20})\.(json|checkpoint(?:\.[\d.]+)?\.parquet)$", re.ASCII)


def keep_log(
    lake: Lake, table: Table, policy: UpkeepPolicy, now: datetime | None = None, *, least_hours: int = 0
) -> int:
    """Give a table's log the checkpoint it is due, and remove what is older than is kept.

    Args:
        lake: Where.
        table: Which.
        policy: How often, and how long.
        now: The present, to tell the age of entries by; the clock's where None.
        least_hours: So long entries stay at least, because versions of that age are still to be read.

    Returns:
        How many files of the log went.
    """
    found = _entries(lake, table)
    commits = sorted(version for version, key in found if key.endswith(".json"))
    if not commits:
        return 0
    checkpoints = sorted({version for version, key in found if key.endswith(".parquet")})
    if commits[-1] - (checkpoints[-1] if checkpoints else -1) >= policy.checkpoint_commits:
        checkpoints.append(_checkpoint(lake, table))
    kept_since = (now or datetime.now(UTC)) - timedelta(hours=max(policy.log_after_hours, least_hours))
    until = min(_first_kept(lake, table, commits, kept_since), lineage.mark(lake, table)[0])
    begin = max((version for version in checkpoints if version <= until), default=-1)
    old = sorted(key for version, key in found if version < begin)
    if old:
        lineage.set_anchor(lake, table, commits[0])
        for key in old:
            lake.storage.delete(key)
    return len(old)


def _entries(lake: Lake, table: Table) -> list[tuple[int, str]]:
    """Versions and keys of a log's entries and checkpoints."""
    held = lake.storage.entries(f"tables/{table.name}/_delta_log")
    return [(int(match[1]), entry.key) for entry in held if (match := _ENTRY.search(entry.key))]


def _checkpoint(lake: Lake, table: Table) -> int:
    """Write a checkpoint of the table as it stands. Returns its version."""

    def write() -> int:
        state = DeltaTable(lake.table_uri(table))
        state.create_checkpoint()
        return int(state.version())

    version = retried(write, f"a checkpoint of {table.name}")
    root = lake.root
    if root is not None:
        for path in (root / "tables" / table.name / "_delta_log").glob(f"{version:020d}.checkpoint*.parquet"):
            sync_file(path)
    sync_log(lake, table)
    return version


def _first_kept(lake: Lake, table: Table, commits: list[int], since: datetime) -> int:
    """The first version whose entry is young enough to stay."""
    for version in commits:
        commit = read_commit(lake.storage, table, version)
        if commit is not None and commit.at_ms > since.timestamp() * 1000:
            return version
    return commits[-1]
