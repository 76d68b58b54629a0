"""A night that writes nothing: it runs on a copy of the lake that is thrown away afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from flows.job import SCRATCH, Job, exclusive
from lake import locks
from lake.faults import wrapped
from lake.lake import open_lake
from lake.migrations import backup
from transforms.errors import UsageError

_LEFT_OUT = {SCRATCH, "index", "locks", backup.PREFIX}
_IMMUTABLE = ".parquet"


@contextmanager
def scratch(job: Job) -> Iterator[Job]:
    """The job on a copy of its lake; data files are linked, not copied, since no run changes one.

    Raises:
        UsageError: The lake is on an object store, where nothing can be linked.
        StorageError: The copy cannot be written.
    """
    if not job.lake.is_local:
        raise UsageError(
            "a dry night needs a lake on a local disk",
            "Run slowwave consolidate --dry-run, which writes nothing anywhere.",
        )
    root = Path(job.lake.storage.uri)
    with locks.hold(job.lake, SCRATCH, 0):
        with exclusive(job), wrapped("copying the lake for a dry run"):
            shutil.rmtree(root / SCRATCH, ignore_errors=True)
            (root / SCRATCH).mkdir()
            copy = Path(tempfile.mkdtemp(dir=root / SCRATCH))
            _copy(root, copy)
        try:
            lake = open_lake(str(copy))
            keys = job.lake.keys.scratch(lake) if job.lake.keys else None
            yield replace(job, lake=replace(lake, keys=keys), has_diff=True)
        finally:
            shutil.rmtree(root / SCRATCH, ignore_errors=True)


def _copy(root: Path, copy: Path) -> None:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        if here == root:
            folders[:] = sorted(set(folders) - _LEFT_OUT)
        target = copy / here.relative_to(root)
        target.mkdir(exist_ok=True)
        for name in names:
            if name.endswith(_IMMUTABLE):
                os.link(here / name, target / name)
            else:
                shutil.copy2(here / name, target / name)
