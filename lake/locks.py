"""One holder at a time for a name, across processes and hosts: kernel locks locally, leases on a store.

A killed holder frees a local lock at once, because the kernel drops it with the process; a lease runs out
after ``leases.LEASE_SECONDS`` without renewal. Whoever works under a lock is fenced (``lake.fences``):
after another has taken it over, its commits are refused.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO

from lake import leases
from lake.faults import wrapped
from lake.fences import (
    POLL_SECONDS,
    TOKEN_BYTES,
    HolderFence,
    LeaseFence,
    behind,
    fence_of,
    held_token,
    lost,
    open_lock,
    read_token,
    wait_for_commits,
)
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage
from transforms.errors import BusyError

_LEASE_POLL_SECONDS = 0.5
_LEAST_TRIES = 4
"""A worker that asks whether a lock is held has it for microseconds; who declines at once tries past that."""


@contextmanager
def hold(lake: Lake, name: str, wait_seconds: float) -> Iterator[int]:
    """Hold the lock ``name`` of the lake inside the block, and let no commit of it pass once it is lost.

    Args:
        lake: Whose lock.
        name: Lower-case word, such as ``nightly`` or ``commit``.
        wait_seconds: How long to wait for another holder; 0 declines at once.

    Yields:
        The token: greater than that of every holder before. Workers of this block work under it
        (``under``), whether they are threads or processes of any host.

    Raises:
        BusyError: Another holder had it for the whole wait, or a lease was lost inside the block.
    """
    if isinstance(lake.storage, LocalStorage):
        with _flock(lake.storage, name, wait_seconds) as number:
            yield number
    else:
        with _lease(lake.storage, name, wait_seconds) as number:  # type: ignore[arg-type]
            yield number


def token(lake: Lake, name: str) -> int | None:
    """The token under which this block works (``hold`` or ``under``); None where it holds no such lock."""
    return held_token(lake.storage, name)


def under(lake: Lake, name: str, number: int) -> AbstractContextManager[None]:
    """Work for a run that holds a lock in another process or thread: commits pass its fence.

    Args:
        lake: Whose lock.
        name: Which.
        number: The run's token.
    """
    return behind(fence_of(lake.storage, name, number))


def require(lake: Lake, name: str, number: int) -> None:
    """Ask whether the run with that token still holds the lock.

    Raises:
        BusyError: It does not.
    """
    fence_of(lake.storage, name, number).passing().close()


def _busy(name: str, wait_seconds: float, let_it: str = "Let it finish") -> BusyError:
    waited = f" (waited {wait_seconds:.0f} s)" if wait_seconds else ""
    return BusyError(
        f"another run holds the {name} lock of this lake{waited}",
        f'{let_it}, or set run.on_busy = "wait" in slowwave.toml.',
    )


@contextmanager
def _flock(storage: LocalStorage, name: str, wait_seconds: float) -> Iterator[int]:
    with open_lock(storage, f"locks/{name}") as handle:
        _wait_for(handle, name, wait_seconds)
        try:
            number = _next_token(storage, handle, name)
            with behind(HolderFence(storage.uri, name, number)):
                yield number
        finally:  # said, not left to closing: a forked child may hold a copy of the handle
            fcntl.flock(handle, fcntl.LOCK_UN)


def _wait_for(handle: BinaryIO, name: str, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    tries = 0
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tries += 1
            if tries >= _LEAST_TRIES and time.monotonic() >= deadline:
                raise _busy(name, wait_seconds) from None
            time.sleep(POLL_SECONDS / (_LEAST_TRIES if tries < _LEAST_TRIES else 1))
        else:
            return


def _next_token(storage: LocalStorage, handle: BinaryIO, name: str) -> int:
    """Count the holders. Not synced: no worker of an earlier run outlives a power cut."""
    number = read_token(handle) + 1
    with wrapped(f"locking {name}"):
        os.pwrite(handle.fileno(), f"{number:0{TOKEN_BYTES}d}".encode(), 0)
    wait_for_commits(storage, name)
    return number


@contextmanager
def _lease(storage: S3Storage, name: str, wait_seconds: float) -> Iterator[int]:
    deadline = time.monotonic() + wait_seconds
    while (lease := leases.take(storage, name)) is None:
        if time.monotonic() >= deadline:
            ends = f"Let it finish (one that was killed counts for {leases.LEASE_SECONDS:.0f} s more)"
            raise _busy(name, wait_seconds, ends)
        time.sleep(_LEASE_POLL_SECONDS)
    with leases.renewed(lease), behind(LeaseFence(storage, name, lease.token, lease)):
        yield lease.token
    if lease.lost.is_set():
        raise lost(name)
