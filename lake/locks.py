"""One holder at a time for a name, across processes: kernel locks locally, leases on an object store.

A killed holder frees a local lock at once, because the kernel drops it with the process; a lease
runs out after ``LEASE_SECONDS`` without renewal. Clocks of machines that share a lake may differ by
``LEASE_SECONDS`` less one renewal.
"""

from __future__ import annotations

import fcntl
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage
from transforms.errors import BusyError, SlowwaveError

LEASE_SECONDS = 60.0
_POLL_SECONDS = 0.05


@contextmanager
def hold(lake: Lake, name: str, wait_seconds: float) -> Iterator[None]:
    """Hold the lock ``name`` of the lake inside the block.

    Args:
        lake: Whose lock.
        name: Lower-case word, such as ``nightly`` or ``commit``.
        wait_seconds: How long to wait for another holder; 0 declines at once.

    Raises:
        BusyError: Another holder had it for the whole wait, or a lease was lost inside the block.
    """
    if isinstance(lake.storage, LocalStorage):
        with _flock(lake.storage, name, wait_seconds):
            yield
    else:
        with _lease(lake.storage, name, wait_seconds):  # type: ignore[arg-type]
            yield


def _busy(name: str, wait_seconds: float) -> BusyError:
    waited = f" (waited {wait_seconds:.0f} s)" if wait_seconds else ""
    return BusyError(
        f"another run holds the {name} lock of this lake{waited}",
        'Let it finish, or set run.on_busy = "wait" in slowwave.toml.',
    )


@contextmanager
def _flock(storage: LocalStorage, name: str, wait_seconds: float) -> Iterator[None]:
    path = storage.path(f"locks/{name}")
    with wrapped(f"locking {name}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+b")
    deadline = time.monotonic() + wait_seconds
    with handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise _busy(name, wait_seconds) from None
                time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:  # said, not left to closing: a forked child may hold a copy of the handle
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def _lease(storage: S3Storage, name: str, wait_seconds: float) -> Iterator[None]:
    key, owner = f"locks/{name}", secrets.token_hex(8)
    deadline = time.monotonic() + wait_seconds
    while not _take(storage, key, owner):
        if time.monotonic() >= deadline:
            raise _busy(name, wait_seconds)
        time.sleep(_POLL_SECONDS * 10)
    stop, lost = threading.Event(), threading.Event()
    keeper = threading.Thread(target=_renew, args=(storage, key, owner, stop, lost), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()
        if _owner(storage.read(key)) == owner:
            storage.delete(key)
    if lost.is_set():
        raise BusyError(
            f"the {name} lease ran out while this run worked, and another run may have begun",
            "Run again when no other run works on this lake; nothing is written twice.",
        )


def _take(storage: S3Storage, key: str, owner: str) -> bool:
    if storage.create(key, _lease_record(owner)):
        return True
    held = storage.read_tagged(key)
    if held is None:
        return False
    if _owner(held[0]) == owner:  # created by us, though the answer was lost on its way
        return True
    return not _is_alive(held[0]) and storage.replace(key, _lease_record(owner), held[1])


def _renew(storage: S3Storage, key: str, owner: str, stop: threading.Event, lost: threading.Event) -> None:
    """Keep the lease alive; a store that fails is asked again until the lease has run out."""
    kept_until = time.monotonic() + LEASE_SECONDS
    while not stop.wait(LEASE_SECONDS / 6):
        began = time.monotonic()
        try:
            held = storage.read_tagged(key)
            if held is None or _owner(held[0]) != owner:
                lost.set()
                return
            if storage.replace(key, _lease_record(owner), held[1]):
                kept_until = began + LEASE_SECONDS
        except SlowwaveError:
            if time.monotonic() > kept_until:
                lost.set()
                return


def _lease_record(owner: str) -> bytes:
    now = datetime.now(UTC).timestamp()
    return json.dumps({"owner": owner, "expires_at": now + LEASE_SECONDS}).encode()


def _parsed(record: bytes | None) -> tuple[str, float] | None:
    """Owner and end of a lease; None where there is none, or none that can be read."""
    try:
        held = json.loads(record or b"")
        return str(held["owner"]), float(held["expires_at"])
    except (ValueError, KeyError, TypeError):
        return None


def _owner(record: bytes | None) -> str | None:
    held = _parsed(record)
    return held[0] if held else None


def _is_alive(record: bytes) -> bool:
    held = _parsed(record)
    return held is not None and held[1] > datetime.now(UTC).timestamp()
