"""Open and sealed segment files of landed rows on a local disk: appended under a lock, sealed by a rename.

A process writes to a segment of its own for each tenant bucket, so a torn line can only be the last
of a file. Sealing renames the file under the same lock; a writer that then finds its file renamed
begins a new one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lake.faults import wrapped
from lake.storage import LocalStorage, Storage, make_directory, sync_directory

OPEN, SEALED = "open-", "sealed-"
SEGMENT_BYTES = 8_000_000
"""A fuller segment is left for ingest and a new one is begun."""
_AT_ONCE = 16
"""Segments asked of an object store at once: what takes time is its answer, not its bytes."""


class Segment:
    """This process's open segment of one bucket. Safe between threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._path: Path | None = None
        self._file = -1

    def append(self, made: Callable[[], bytes]) -> None:
        """Add whole lines; on disk when it returns, and none of them there when it raises.

        Args:
            made: Gives the lines, none among them. Called while the file is locked: what it looks up
                holds for a sealing that comes after it.

        Raises:
            OSError: The disk is full or fails.
        """
        with self._lock:
            file = self._locked_file()
            start = os.fstat(file).st_size
            is_whole = False
            try:
                if data := made():
                    _write_all(file, data)
                    os.fdatasync(file)
                is_whole = True
            finally:
                if is_whole:
                    fcntl.flock(file, fcntl.LOCK_UN)
                else:
                    self._abandon(start)

    def forget(self) -> None:
        """In a forked child: close what the parent holds, so that its locks end with it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _abandon(self, size: int) -> None:
        """Cut what was half written off, and never write behind it: the cut itself may have failed."""
        file, self._file = self._file, -1
        try:
            os.ftruncate(file, size)
        finally:
            os.close(file)

    def _locked_file(self) -> int:
        """Descriptor of a segment that is open, not sealed, not full, and locked."""
        while True:
            if self._file < 0:
                self._begin()
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if self._is_current():
                return self._file
            os.close(self._file)
            self._file = -1

    def _is_current(self) -> bool:
        here = os.fstat(self._file)
        try:
            there = self._path.stat() if self._path else None
        except FileNotFoundError:
            return False
        return there is not None and there.st_ino == here.st_ino and here.st_size < SEGMENT_BYTES

    def _begin(self) -> None:
        make_directory(self._directory)
        self._path = self._directory / f"{OPEN}{os.getpid()}-{secrets.token_hex(6)}.jsonl"
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        sync_directory(self._directory)


_segments: dict[Path, Segment] = {}
_segments_lock = threading.Lock()


def segment(directory: Path) -> Segment:
    """The segment of this process for a bucket's directory."""
    with _segments_lock:
        if directory not in _segments:
            _segments[directory] = Segment(directory)
        return _segments[directory]


def _forget_all() -> None:
    """A forked child starts with segments and locks of its own, whatever the parent was doing."""
    global _segments_lock  # noqa: PLW0603 the lock may have been held while forking
    _segments_lock = threading.Lock()
    for held in _segments.values():
        held.forget()
    _segments.clear()


os.register_at_fork(after_in_child=_forget_all)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def seal_file(path: Path) -> None:
    """Close a segment to its writer; nothing happens where another ingest was quicker.

    Raises:
        OSError: It cannot be locked or renamed.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        path.rename(path.with_name(path.name.replace(OPEN, SEALED, 1)))
    except FileNotFoundError:
        return
    finally:
        os.close(file)


def seal_all(storage: Storage, prefix: str, where: str) -> list[str]:
    """Close every open segment below a prefix to its writers. Returns the keys of all sealed ones, by name.

    Args:
        storage: Of the lake; an object store holds sealed segments only.
        prefix: Where the segments are.
        where: Named in a fault.

    Raises:
        StorageError: A segment cannot be renamed.
    """
    if isinstance(storage, LocalStorage):
        for entry in storage.entries(prefix):
            if f"/{OPEN}" in entry.key:
                with wrapped(where):
                    seal_file(storage.path(entry.key))
    return [entry.key for entry in storage.entries(prefix) if f"/{SEALED}" in entry.key]


def read_all(storage: Storage, keys: Sequence[str]) -> list[bytes | None]:
    """Bytes of segments, in order; None of one that is gone."""
    if isinstance(storage, LocalStorage):
        return [storage.read(key) for key in keys]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-segments") as pool:
        return list(pool.map(storage.read, keys))


def delete_all(storage: Storage, keys: Sequence[str]) -> None:
    """Remove segments; killed midway, the rest is met again."""
    if isinstance(storage, LocalStorage):
        for key in keys:
            storage.delete(key)
        return
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-segments") as pool:
        list(pool.map(storage.delete, keys))
