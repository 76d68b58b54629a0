"""One commit of many small files: a folder of a thousand takes a few commits, and not a thousand.

A file waits with its rows for the next commit where that comes to what a commit of its own would: no row
of it has the id of another that waits, none names its own id, and nobody's rows are turned away.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from flows.commit import Buffer, Tally, commit
from flows.job import Job
from flows.notes import Note, Notes
from lake.rights.admission import admission
from lake.sources import Source
from transforms.readers.lines import Point
from transforms.validate import Defaults

FILES_AT_ONCE = 200
"""That wait for one commit: a kill has so many read again, and a commit costs as much as reading ten."""


_PLACE = re.compile(r" \(\d+\)\Z", re.ASCII)


def placed(name: str, place: int) -> str:
    """What rows say of their file, where the run has read others of its name before."""
    return f"{name} ({place})" if place > 1 else name


def unplaced(name: str) -> str:
    """The name of the file itself."""
    return _PLACE.sub("", name)


@dataclass
class File:
    """One source on its way in.

    Args:
        source: What is read.
        defaults: The scope of rows that name none.
        key: Of its notes; None: it cannot be read so far.
        is_final: Whether no other run could do better.
        rows_in: Rows found so far.
        left_out: Reason -> rows so far that are not part of the record.
        place: Among the files of its name and tenant that the run reads; the first is 1.
    """

    source: Source
    defaults: Defaults
    key: str | None = None
    is_final: bool = True
    rows_in: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    place: int = 1


class SharedCommits:
    """What waits for the next commit of a run."""

    def __init__(self, job: Job, notes: Notes, tally: Tally) -> None:
        """Nothing waits."""
        self._job, self._notes, self._tally = job, notes, tally
        self._buffer, self._has_claims = Buffer(), False
        self._files: list[File] = []
        self._ids: set[str] = set()
        self._current: list[pl.Series] = []

    def take(
        self, episodes: pl.DataFrame, claimed: pl.Series, refused: pl.DataFrame, source_bytes: int = 0
    ) -> None:
        """Hold rows of the file that is being read; what waits goes in first where they cannot share."""
        if self._files and (len(claimed) or not self._ids.isdisjoint(episodes["episode_id"])):
            self.commit()
        self._has_claims |= len(claimed) > 0
        self._current.append(episodes["episode_id"])
        self._buffer.episodes.append(episodes)
        self._buffer.claimed.append(claimed)
        self._buffer.quarantine.append(refused)
        self._buffer.source_bytes += source_bytes

    @property
    def is_full(self) -> bool:
        """Whether a commit is due."""
        return self._buffer.is_full(self._job.policy.ingest)

    def commit(self, current: File | None = None) -> None:
        """Commit, and note the files that went in whole with it.

        Args:
            current: The file that is being read; with rows that its subject may yet allow it is read again.
        """
        files, self._files = self._files, []  # of a commit that fails none is noted
        self._ids, self._current, self._has_claims = set(), [], False
        is_final = commit(self._job, self._buffer, self._tally)
        for file in files if current is None else [*files, current]:
            file.is_final = file.is_final and is_final
        for file in files:
            self.note(file)

    def end(self, file: File, left_before: Counter[str]) -> None:
        """A file was read to its end: it waits where it can, else it goes in now."""
        is_shared = len(self._files) < FILES_AT_ONCE and not self._has_claims and self._buffer.height > 0
        if is_shared and admission(self._job.lake).is_open:
            self._files.append(file)
            self._ids.update(*self._current)
            self._current = []
            return
        self.commit(file)
        file.left_out = self._tally.left_out - left_before
        self.note(file)

    def note(self, file: File, point: Point | None = None) -> None:
        """Note what of a file went in; of one that another run could do better with, nothing."""
        if file.key and file.is_final:
            self._notes.write(file.key, Note(file.rows_in, file.left_out, point))
