"""Fencing: who writes under a lock proves before each commit that nobody has taken the lock over since.

Each time a lock is taken its number, the token, grows by one. A holder that slept through its lease, or a
worker whose run was killed, finds a newer token and stops instead of writing. On a local disk the check
and the commit are one: whoever takes the lock waits for commits that are under way. On an object store
the check comes right before the commit, which itself fails where another writer has committed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from lake.faults import wrapped
from lake.leases import Lease, token_of
from lake.storage import LocalStorage, S3Storage, Storage
from transforms.errors import BusyError

POLL_SECONDS = 0.05
_COMMIT_SECONDS = 60.0
"""Longer than any commit under way takes; a worker that was stopped within one is told of, not waited for."""
TOKEN_BYTES = 20
"""A token is written in full width, so that one write replaces the one before."""


class Fence(Protocol):
    """What a commit has to pass."""

    where: str
    name: str
    token: int

    def passing(self) -> ExitStack:
        """To be held around the commit.

        Raises:
            BusyError: Another holder has taken the lock over, or nobody holds it any more.
        """


_FENCES: ContextVar[tuple[Fence, ...]] = ContextVar("fences of held locks", default=())


@contextmanager
def behind(fence: Fence) -> Iterator[None]:
    """Every commit inside the block passes the fence; threads that it starts have to enter their own."""
    mark = _FENCES.set((*_FENCES.get(), fence))
    try:
        yield
    finally:
        _FENCES.reset(mark)


@contextmanager
def committing() -> Iterator[None]:
    """Pass all fences around one commit.

    Raises:
        BusyError: A lock that this run works under was taken over.
    """
    with ExitStack() as stack:
        for fence in _FENCES.get():
            stack.enter_context(fence.passing())
        yield


def held_token(storage: Storage, name: str) -> int | None:
    """The token under which this block works; None where it does not work under that lock."""
    return next((f.token for f in reversed(_FENCES.get()) if (f.where, f.name) == (storage.uri, name)), None)


def fence_of(storage: Storage, name: str, token: int) -> Fence:
    """The fence of a lock that another process or thread holds."""
    if isinstance(storage, LocalStorage):
        return FileFence(storage, name, token)
    return LeaseFence(storage, name, token)  # type: ignore[arg-type]


def lost(name: str) -> BusyError:
    """What a run is told whose lock was taken over."""
    return BusyError(
        f"the {name} lock ran out while this run worked, and another run may have begun",
        "Run again when no other run works on this lake; nothing is written twice.",
    )


@dataclass
class HolderFence:
    """The fence of who holds a kernel lock: nobody can take that over."""

    where: str
    name: str
    token: int

    def passing(self) -> ExitStack:
        """See ``Fence.passing``."""
        return ExitStack()


class FileFence:
    """The fence of workers of a run on this machine."""

    def __init__(self, storage: LocalStorage, name: str, token: int) -> None:
        self._storage, self.where, self.name, self.token = storage, storage.uri, name, token

    def passing(self) -> ExitStack:
        """See ``Fence.passing``."""
        stack = ExitStack()
        if self._is_held():  # asked before, too: who has lost the lock shall not keep its next holder waiting
            gate = stack.enter_context(open_lock(self._storage, gate_key(self.name)))
            fcntl.flock(gate, fcntl.LOCK_SH)
            stack.callback(fcntl.flock, gate, fcntl.LOCK_UN)
            if self._is_held():
                return stack
        stack.close()
        raise lost(self.name)

    def _is_held(self) -> bool:
        with open_lock(self._storage, f"locks/{self.name}") as lock:
            return read_token(lock) == self.token and _is_locked(lock)


class LeaseFence:
    """The fence of a lease; ``lease`` is that of the holder itself, which also knows its own clock."""

    def __init__(self, storage: S3Storage, name: str, token: int, lease: Lease | None = None) -> None:
        self._storage, self.where, self.name, self.token = storage, storage.uri, name, token
        self._lease = lease

    def passing(self) -> ExitStack:
        """See ``Fence.passing``."""
        is_lost = self._lease is not None and self._lease.lost.is_set()
        if is_lost or token_of(self._storage, self.name) != self.token:
            raise lost(self.name)
        return ExitStack()


def gate_key(name: str) -> str:
    """Where commits of workers under a lock hold a shared lock of their own."""
    return f"locks/{name}.commits"


def read_token(lock: BinaryIO) -> int:
    """The token in a lock's file; 0 where there is none that can be read."""
    lock.seek(0)
    with suppress(ValueError):
        return int(lock.read(TOKEN_BYTES))
    return 0


def wait_for_commits(storage: LocalStorage, name: str) -> None:
    """Wait for commits under the token before.

    Raises:
        BusyError: One does not come to its end.
    """
    deadline = time.monotonic() + _COMMIT_SECONDS
    with open_lock(storage, gate_key(name)) as gate:
        while not _locked(gate):
            if time.monotonic() >= deadline:
                raise BusyError(
                    f"a worker of an earlier run stands in the middle of a commit under the {name} lock",
                    "End that process, then run again.",
                )
            time.sleep(POLL_SECONDS)
        fcntl.flock(gate, fcntl.LOCK_UN)


def open_lock(storage: LocalStorage, key: str) -> BinaryIO:
    """A lock's file to read and write, made where there is none."""
    path = storage.path(key)
    with wrapped(f"locking {key.removeprefix('locks/')}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")


def _locked(handle: BinaryIO) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(lock: BinaryIO) -> bool:
    """Whether somebody holds the lock; it is asked for a moment, which takers of it wait out."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False
