"""The file of a session: lines that are added under a lock, or all replaced at once.

On a local disk the file itself is locked by the kernel, so that a killed writer frees it, and a half-written
last line is cut off by the next one. On an object store the object is read and replaced on condition that
nobody else has replaced it since. Either way a change is made of what stands, so two processes on one
session lose nothing of each other's.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage, make_directory, sync_directory
from transforms.errors import BusyError

PREFIX = "working"
SUFFIX = ".jsonl"
_TRIES = 60
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Write:
    """What a change does to a file.

    Attributes:
        data: Whole lines; as all there is, none of it removes the file.
        is_all: Whether they replace everything, or are added.
        is_synced: Whether they must survive a power cut.
    """

    data: bytes
    is_all: bool = False
    is_synced: bool = True


Step = Callable[[bytes], Write | None]
"""From the whole lines that stand, none where there is no file, to what is written; None leaves them."""


def read(lake: Lake, key: str) -> bytes:
    """Whole lines of a file; none where there is none."""
    return _whole(lake.storage.read(key) or b"")


def change(lake: Lake, key: str, step: Step) -> None:
    """Change a file by what stands in it; done when it returns.

    Args:
        lake: Where.
        key: Which.
        step: May be called again. What it looks up holds for every change after this one.

    Raises:
        StorageError: The disk is full or fails; what stood stands.
        BusyError: An object was replaced by others again and again.
    """
    if isinstance(lake.storage, LocalStorage):
        with wrapped(f"writing {key}"):
            _change_file(lake.storage, key, step)
    else:
        _change_object(lake.storage, key, step)  # type: ignore[arg-type]


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _change_file(storage: LocalStorage, key: str, step: Step) -> None:
    file = _locked(storage, key)
    try:
        held = _read_all(file)
        whole = _whole(held)
        write = step(whole)
        if write is None:
            if not whole:
                storage.path(key).unlink(missing_ok=True)
        elif write.is_all:
            _replace(storage, key, write)
        else:
            _append(file, whole, held, write)
            if not held and write.is_synced:
                sync_directory(storage.path(key).parent)
    finally:
        os.close(file)


def _locked(storage: LocalStorage, key: str) -> int:
    """Descriptor of the file that stands under the key, locked; made where there is none."""
    path = storage.path(key)
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except FileNotFoundError:
            make_directory(path.parent)
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if path.stat().st_ino == os.fstat(file).st_ino:
                return file
        except FileNotFoundError:  # removed by whoever held the lock
            pass
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _read_all(file: int) -> bytes:
    size, data = os.fstat(file).st_size, b""
    while len(data) < size:
        part = os.pread(file, size - len(data), len(data))
        if not part:
            break
        data += part
    return data


def _append(file: int, whole: bytes, held: bytes, write: Write) -> None:
    """Add lines; none of them is there when it raises."""
    if len(held) > len(whole):
        os.ftruncate(file, len(whole))
    try:
        view = memoryview(write.data)
        while view:
            view = view[os.write(file, view) :]
        if write.is_synced:
            os.fdatasync(file)
    except OSError:
        os.ftruncate(file, len(whole))
        raise


def _replace(storage: LocalStorage, key: str, write: Write) -> None:
    """Put other lines in the place of all: writers that wait for the lock then find another file."""
    if write.data:
        storage.write(key, write.data)
    else:
        storage.path(key).unlink(missing_ok=True)
        sync_directory(storage.path(key).parent)


def _change_object(storage: S3Storage, key: str, step: Step) -> None:
    for turn in range(_TRIES):
        held = storage.read_tagged(key)
        whole = _whole(held[0]) if held is not None else b""
        write = step(whole)
        if write is None:
            return
        data = write.data if write.is_all else whole + write.data
        if held is None:
            if not data or storage.create(key, data):
                return
        elif storage.replace(key, data, held[1]):
            # A store removes without condition: what others add to an empty object meanwhile stays.
            return
        time.sleep(random.uniform(0, _PAUSE_SECONDS * (1 + turn)))  # noqa: S311 a pause is no secret
    raise BusyError(f"{key} is being written by many at once", "Try again.")
