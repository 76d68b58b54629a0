"""Backup: a copy of the lake elsewhere; restore: a lake of a copy, without whom was erased since."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from flows.erase import run_erase
from flows.job import Job, Progress, exclusive
from lake.copies import backup as making
from lake.copies import erasures, record, restore
from lake.copies.backup import Made
from lake.copies.places import note_place
from lake.copies.record import Copy
from lake.lake import Lake
from lake.storage import open_storage
from transforms.errors import UsageError
from transforms.subjects import SUBJECT_KINDS

BASIS = "other:restored-backup"
"""Legal basis of erasing again: the request itself was answered before, and its certificate names its own."""


def run_backup(job: Job, uri: str, *, as_of: datetime | None, keep: int) -> Made:
    """Copy the lake; other runs wait meanwhile, rows land on.

    Args:
        job: The run.
        uri: Folder or ``s3://`` prefix of the backup.
        as_of: The tables as they were committed then; None is now.
        keep: Copies that stay.

    Raises:
        UsageError: The backup lies in the lake, or nothing is to stay.
        BusyError: Another run holds the lake.
        LakeError: The place holds something else.
    """
    if keep < 1:
        raise UsageError("--keep must be 1 or more", "1 keeps the copy that is being made.")
    backup = open_storage(uri)
    making.require_apart(job.lake.storage, backup)
    with exclusive(job):
        record.claim(backup, job.lake.lake_id)
        note_place(job.lake, backup.uri)  # before any content is there
        with job.progress.task("backup", None, "bytes") as advance:
            return making.make(job.lake, backup, datetime.now(UTC), as_of=as_of, keep=keep, advance=advance)


def run_tell_erasures(lake: Lake, uri: str) -> int:
    """Put the lake's tombstones beside the copies of a backup, and nothing else. Returns how many."""
    backup = open_storage(uri)
    record.claim(backup, lake.lake_id)
    return making.tell_erasures(lake, backup)


def checked(uri: str, name: str | None, progress: Progress) -> Copy:
    """Read a copy back, every byte of it.

    Raises:
        LakeError: A file is missing or damaged; names it.
    """
    backup = open_storage(uri)
    copy = record.load(backup, name)
    with progress.task("check", copy.size_bytes, "bytes") as advance:
        restore.check(backup, copy, advance)
    return copy


def run_restore(
    uri: str, name: str | None, target: str, told: list[str], progress: Progress, job_on: Callable[[], Job]
) -> tuple[Copy, int]:
    """Make a lake of a copy, and erase anew whom it still holds although erased since.

    Args:
        uri: The backup.
        name: Of the copy; None is the newest.
        target: Where the lake shall be.
        told: Addresses that tell of erasures (``lake.copies.erasures.record_at``).
        progress: Where to show how far it is.
        job_on: Makes the job on the restored lake, with its keys.

    Returns:
        The copy, and how many subjects were erased anew.

    Raises:
        LakeError: A file of the copy is damaged, or the target is not empty. There is no lake then.
        InputError: An address tells of no erasure of this lake.
    """
    backup, storage = open_storage(uri), open_storage(target)
    copy = record.load(backup, name)
    marks = erasures.gathered(backup, record.ERASURES)
    for address in told:
        marks = erasures.merged(marks, erasures.record_at(address, copy.lake_id))
    with progress.task("restore", copy.size_bytes, "bytes") as advance:
        lake = restore.put_back(backup, copy, storage, marks, advance)
    again = _erased_anew(job_on, lake, erasures.later(marks, erasures.of_copy(backup, copy)))
    restore.done(lake)
    return copy, again


def _erased_anew(job_on: Callable[[], Job], lake: Lake, marks: erasures.Marks) -> int:
    """Erase subjects of tombstones that have rows again: owners first, with whom most memories go."""
    erased = 0
    for kinds in (frozenset(SUBJECT_KINDS) - {"memory"}, {"memory"}):
        held = erasures.still_held(lake, {n: told for n, told in marks.items() if told["kind"] in kinds})
        for subject in sorted(held.values(), key=lambda one: one.parts):
            run_erase(job_on(), subject, basis=BASIS, requested_by="operator")
            erased += 1
    restore.refuse_again(lake.storage, marks)
    return erased
