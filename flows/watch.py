"""Watch mode: the files of drop folders are ingested as they arrive, until a signal ends it.

Nothing is moved, renamed or deleted: what has gone in is known by the lake's own notes, so a watch that was
killed and started again passes over it. Folders are looked at, not listened to: that works on every file
system.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path

from flows.commit import Tally
from flows.ingest import run_ingest
from flows.job import Job, exclusive
from flows.present_night import ingest_table
from flows.setup import Output, defaults_of, job_of
from flows.stopping import Stopped
from flows.verbs import told_skipped
from lake.companions import COMPANION_NAMES, beside
from lake.sources import NothingReadableError, Source, files_below, open_sources
from transforms.errors import BusyError, InputError, UsageError

LOOK_SECONDS = 5.0
"""Between two looks: what arrives waits that long at most, and a look at 10,000 files costs 0.1 s."""
STILL_SECONDS = 10.0
"""A file not written to for so long is whole at first sight; another has to be the same at two looks."""
UNFINISHED = (
    ".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".aria2", ".swp", ".lock",
    ".inprogress", ".in-progress", "._copying_", "~",
)  # fmt: skip
"""Ends of names under which programs write what they will rename when it is whole."""
Look = tuple[int, int]
"""Size and time of the last change of a file."""


@dataclass
class Drop:
    """A folder, and what of it was seen.

    Args:
        folder: Where files are dropped.
        seen: Name -> how the file looked last time.
        taken: Name -> how it looked when it was ingested.
        told: Names of files that cannot be read, which was said.
    """

    folder: Path
    seen: dict[str, Look] = field(default_factory=dict)
    taken: dict[str, Look] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def whole(self, now: float) -> dict[str, Look]:
        """Files that are whole and not taken yet, or changed since; looks once.

        Args:
            now: Seconds since the epoch.
        """
        before, self.seen = self.seen, dict(_looks(self.folder, self._tell))
        changed = {name for name, look in self.seen.items() if before.get(name) != look}
        young = {name for name in changed if now - self.seen[name][1] / 1e9 < STILL_SECONDS}
        explained, waiting = self._beside(changed), self._beside(young)
        self.taken = {n: look for n, look in self.taken.items() if n in self.seen and n not in explained}
        return {
            name: look
            for name, look in self.seen.items()
            if self.taken.get(name) != look and name not in young | waiting and self._is_readable(name)
        }

    def _beside(self, companions: Set[str]) -> set[str]:
        """Files that some of these explain: they wait for its end, and are read again when it changes."""
        known = [name for name in companions if name.rpartition("/")[2] in COMPANION_NAMES]
        return {name for name in self.seen for one in known if beside(name, one)}

    def _is_readable(self, name: str) -> bool:
        try:
            (self.folder / name).open("rb").close()
        except FileNotFoundError:  # gone since
            return False
        except OSError as error:
            self._tell(error)
            return False
        self.told.discard(name)
        return True

    def _tell(self, error: OSError) -> None:
        """Say once of a file or folder that it cannot be read."""
        path = Path(error.filename)
        name = path.relative_to(self.folder).as_posix() if path != self.folder else self.folder.name
        if name not in self.told:
            print(f"slowwave: {name} cannot be read: {error.strerror}", file=sys.stderr)
            self.told.add(name)


def _looks(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[tuple[str, Look]]:
    """Names below the folder, as paths from there, of files that are not under way."""
    for path in files_below(folder, on_error):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")) or name.lower().endswith(UNFINISHED):
            continue
        try:
            told = path.stat()
        except OSError:  # gone since
            continue
        yield name, (told.st_size, told.st_mtime_ns)


def watch(options: argparse.Namespace) -> Output:
    """Ingest what is in the folders and what comes, until a signal; one between two rounds ends it well.

    Raises:
        UsageError: No folder named, or something else.
        Stopped: A signal came while files were ingested; they are gone on with next time.
    """
    if not options.source or options.explain or options.as_of:
        raise UsageError("--watch takes folders", "Name one, without --explain and --as-of.")
    for name in options.source:
        if not Path(name).is_dir():
            raise UsageError(f"{name} is no folder", "--watch takes folders; make it first.")
    drops = [Drop(Path(name)) for name in options.source]
    total, trouble = Tally(), ""
    while True:
        try:
            found = [(drop, files) for drop in drops if (files := drop.whole(time.time()))]
        except Stopped:
            return _ended(total)
        if found:
            trouble = _round(options, found, total, trouble)
        try:
            time.sleep(LOOK_SECONDS)
        except Stopped:
            return _ended(total)


def _ended(total: Tally) -> Output:
    return Output(total.as_dict(), ingest_table(total.as_dict()))


def _round(
    options: argparse.Namespace, found: list[tuple[Drop, dict[str, Look]]], total: Tally, before: str
) -> str:
    """Ingest what is whole; where another run holds the lake, the next round does.

    Args:
        options: Of the call.
        found: Folders, and what is whole in them.
        total: Counts what became of it.
        before: What kept the round before from it.

    Returns:
        What kept it from it, which is said once; empty: nothing.
    """
    job, defaults = job_of(options), defaults_of(options)
    pairs = ((source, defaults) for drop, files in found for source in _wanted(drop, files, options, job))
    try:
        with exclusive(job):
            _, tally = run_ingest(job, pairs)
    except (BusyError, InputError) as error:
        if error.message != before:
            print(f"slowwave: {error.message}; tried again every {LOOK_SECONDS:.0f} s", file=sys.stderr)
        return error.message
    for drop, files in found:
        drop.taken.update(files)
    total.add(tally)
    if not options.json:
        counts = ("files", "landed", "duplicates", "quarantined")
        print(", ".join(f"{name} {getattr(tally, name):,}" for name in counts), file=sys.stderr)
    return ""


def _wanted(drop: Drop, files: Mapping[str, Look], options: argparse.Namespace, job: Job) -> Iterator[Source]:
    policy = job.policy.ingest
    try:
        yield from open_sources(
            str(drop.folder), options.format, policy=policy, on_skip=told_skipped, only=files
        )
    except NothingReadableError:
        return  # each of them was told
