"""A lake brought to this version in place: backup, steps in order, and its record last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from lake.lake import RECORD, VERSION, Lake
from lake.migrations import backup
from lake.migrations.registry import steps_from
from lake.migrations.step import Step
from lake.storage import S3Storage
from transforms.errors import BusyError, LakeError


@dataclass(frozen=True)
class Planned:
    """A step, and what it has left to do."""

    step: Step
    changes: tuple[str, ...]


def planned(lake: Lake, version: int) -> list[Planned]:
    """What a migration would do.

    Raises:
        LakeError: It cannot be done in place; says what to do instead.
    """
    return [Planned(step, tuple(step.plan(lake))) for step in steps_from(lake, version)]


def migrate(lake: Lake, version: int, at: datetime) -> tuple[list[Planned], str | None]:
    """Bring the lake to this version. Killed at any instant, it goes on when it is run again.

    Only for a run that holds the lake's locks.

    Args:
        lake: Of this version or an earlier one.
        version: Its version, as its record says.
        at: Now, which dates the backup.

    Returns:
        What was left to do, and the folder of the backup; None where nothing was.

    Raises:
        LakeError: It cannot be done in place; nothing was changed.
        BusyError: Another process migrated it meanwhile.
        StorageError: The disk is full or the store fails; run it again.
    """
    wanted = planned(lake, version)
    folder = None
    if wanted:
        before = _record(lake)
        folder = backup.keep(lake, version, at)
        for one in wanted:
            one.step.apply(lake)
        if version != VERSION:
            _replace_record(lake, before)
    backup.finish(lake)
    return wanted, folder


def _record(lake: Lake) -> bytes:
    raw = lake.storage.read(RECORD)
    if raw is None:
        raise LakeError(f"{RECORD} of {lake.uri} is gone", "Restore it from a backup of the lake.")
    return raw


def _replace_record(lake: Lake, before: bytes) -> None:
    """Write the version, unless somebody else has written the record since it was read."""
    after = (json.dumps({**json.loads(before), "version": VERSION}, indent=1) + "\n").encode()
    if isinstance(lake.storage, S3Storage):
        held = lake.storage.read_tagged(RECORD)
        is_done = held is not None and held[0] == before and lake.storage.replace(RECORD, after, held[1])
    else:  # the lock that the caller holds is the kernel's: nobody else is between these two lines
        is_done = lake.storage.read(RECORD) == before
        if is_done:
            lake.storage.write(RECORD, after)
    if not is_done:
        raise BusyError(
            f"{RECORD} of {lake.uri} changed while the lake was migrated", "Run slowwave migrate again."
        )
