"""One holder at a time for a name, across processes: kernel locks locally, leases on an object store.

A killed holder frees a local lock at once, because the kernel drops it with the process; a lease
runs out after ``LEASE_SECONDS`` without renewal.
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

from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage, wrapped
from transforms.errors import BusyError

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
        BusyError: Another holder had it for the whole wait.
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
        yield


@contextmanager
def _lease(storage: S3Storage, name: str, wait_seconds: float) -> Iterator[None]:
    key, owner = f"locks/{name}", secrets.token_hex(8)
    deadline = time.monotonic() + wait_seconds
    while not _take(storage, key, owner):
        if time.monotonic() >= deadline:
            raise _busy(name, wait_seconds)
        time.sleep(_POLL_SECONDS * 10)
    stop = threading.Event()
    keeper = threading.Thread(target=_renew, args=(storage, key, owner, stop), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()
        if _owner(storage.read(key)) == owner:
            storage.delete(key)


def _take(storage: S3Storage, key: str, owner: str) -> bool:
    if storage.create(key, _lease_record(owner)):
        return True
    held = storage.read_tagged(key)
    if held is None or _is_alive(held[0]):
        return False
    return storage.replace(key, _lease_record(owner), held[1])


def _renew(storage: S3Storage, key: str, owner: str, stop: threading.Event) -> None:
    while not stop.wait(LEASE_SECONDS / 4):
        held = storage.read_tagged(key)
        if held is None or _owner(held[0]) != owner:
            return
        storage.replace(key, _lease_record(owner), held[1])


def _lease_record(owner: str) -> bytes:
    now = datetime.now(UTC).timestamp()
    return json.dumps({"owner": owner, "expires_at": now + LEASE_SECONDS}).encode()


def _owner(record: bytes | None) -> str | None:
    return None if record is None else str(json.loads(record)["owner"])


def _is_alive(record: bytes) -> bool:
    return float(json.loads(record)["expires_at"]) > datetime.now(UTC).timestamp()
