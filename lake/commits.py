"""Commits to Delta logs: tried again after conflicts, behind the fences of held locks, synced to disk."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from lake.faults import is_passing, storage_fault, wrapped
from lake.fences import committing
from lake.lake import Lake
from lake.storage import sync_directory, sync_file
from transforms.errors import BusyError
from transforms.schemas import Table

ATTEMPTS = 12
_TRIES = 3
"""As in ``lake.opened``."""
_WRITTEN_BACK_SECONDS = 300.0
"""The kernel has written older changes to disk of its own accord, many times over."""
_SAME_SECONDS = 5.0
"""Further apart than the times that the clock and a file system give the same instant."""
_synced_at: dict[str, float] = {}
"""When this process last began to sync a table's log."""

Result = TypeVar("Result")


def retried(action: Callable[[], Result], where: str) -> Result:
    """Run a commit, again with jitter after each conflict with another writer, or a broken-off answer.

    Args:
        action: May be run again after it was done: it looks whether it was.
        where: What is being done, for errors.

    Raises:
        BusyError: Other writers won every time, or a lock that this run works under was taken over.
    """
    broken_off = 0
    for attempt in range(ATTEMPTS):
        try:
            with committing():
                return action()
        except CommitFailedError:
            pass
        except (DeltaError, OSError) as error:
            broken_off += 1
            if broken_off == _TRIES or not is_passing(error):
                raise storage_fault(error, where) from error
        time.sleep(random.uniform(0, 0.05 * 2 ** min(attempt, 6)))  # noqa: S311 jitter, not a secret
    raise BusyError(f"{where}: other writers won {ATTEMPTS} times", "Run again, or lower the concurrency.")


def write_commit(
    state: DeltaTable, table: Table, actions: Sequence[AddAction | RemoveAction], batch_id: str
) -> None:
    """One commit of data files that are written.

    Args:
        state: The table, which no commit has changed since.
        table: Which.
        actions: Data files that come and go.
        batch_id: Kept with the table, by which it can be told that the commit was done.

    Raises:
        CommitFailedError: Another writer has committed since.
    """
    state.create_write_transaction(
        list(actions),
        "append",
        table.arrow(),
        list(table.partition_by) or None,
        commit_properties=CommitProperties(app_transactions=[Transaction(batch_id, 1)]),
        # The log is cut off by lake.table_log alone: hints beside the tables lean on its entries.
        post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
    )


def sync_log(lake: Lake, table: Table) -> None:
    """Make the newest commits survive a power cut: ours, and those of others that ours stands on."""
    root = lake.root
    if root is None:
        return
    log = root / "tables" / table.name / "_delta_log"
    began = time.time()
    # Each commit of a long run would sync all of the run's entries once more.
    latest = max(began - _WRITTEN_BACK_SECONDS, _synced_at.get(str(log), 0.0) - _SAME_SECONDS)
    with wrapped(f"syncing {table.name}"):
        for path in log.glob("*.json"):
            if path.stat().st_mtime >= latest:
                sync_file(path)
        sync_directory(log)
    _synced_at[str(log)] = began
