"""Commits to Delta logs: tried again after conflicts, behind the fences of held locks, synced to disk."""

from __future__ import annotations

import os
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
_synced: dict[str, set[tuple[str, int, int]]] = {}
"""Entries of each log that this process has synced: name, place and time of change."""

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
    latest = time.time() - _WRITTEN_BACK_SECONDS
    found = set[tuple[str, int, int]]()
    known = _synced.get(str(log), set())
    with wrapped(f"syncing {table.name}"):
        with os.scandir(log) as entries:
            for entry in entries:
                stat = entry.stat() if entry.name.endswith(".json") else None
                if stat is None or stat.st_mtime < latest:
                    continue
                mark = entry.name, stat.st_ino, stat.st_mtime_ns
                # Each commit of a long run would sync all of the run's entries once more.
                if mark not in known:
                    sync_file(log / entry.name)
                found.add(mark)
        sync_directory(log)
    _synced[str(log)] = found
