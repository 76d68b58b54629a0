"""Leases on an object store: a record that its holder renews, and that others may take when it is too old.

How old a lease is says the store alone: by the time at which it wrote the record and the time at which it
writes a probe beside it. Clocks of the machines that share a lake play no part.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lake.storage import Dated, S3Storage
from transforms.errors import SlowwaveError

LEASE_SECONDS = 60.0
RENEWALS_A_LEASE = 6
STAMP_SECONDS = 2.0
"""Stores give times in whole seconds: a lease counts as run out this much later, for both roundings."""


@dataclass
class Lease:
    """One that this process holds.

    Attributes:
        storage: Where.
        key: Of its record.
        owner: Random word of this holder.
        token: Its number among the holders of this lock.
        lost: Set once another has it, or once it could not be renewed in time.
    """

    storage: S3Storage
    key: str
    owner: str
    token: int
    lost: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _Record:
    """What stands in the store; no owner: it was given back."""

    owner: str | None
    token: int

    def dumps(self) -> bytes:
        """As JSON; with a random word, so that each renewal has a tag of its own."""
        return json.dumps({"owner": self.owner, "token": self.token, "nonce": secrets.token_hex(8)}).encode()


def _parsed(raw: bytes) -> _Record:
    """A record; one that cannot be read is nobody's."""
    try:
        held = json.loads(raw)
        owner = held["owner"]
        return _Record(None if owner is None else str(owner), int(held.get("token", 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return _Record(None, 0)


def token_of(storage: S3Storage, name: str) -> int | None:
    """Token of the lease that stands; None where nobody holds it."""
    raw = storage.read(f"locks/{name}")
    held = _parsed(raw or b"")
    return None if held.owner is None else held.token


def take(storage: S3Storage, name: str) -> Lease | None:
    """Take a lease; None where another holds one that has not run out."""
    key, owner = f"locks/{name}", secrets.token_hex(8)
    if storage.create(key, _Record(owner, 1).dumps()):
        return Lease(storage, key, owner, 1)
    held = storage.read_dated(key)
    if held is None:
        return None
    record = _parsed(held.data)
    if record.owner == owner:  # created by us, though the answer was lost on its way
        return Lease(storage, key, owner, record.token)
    if record.owner is not None and not _has_run_out(storage, key, held):
        return None
    taken = _Record(owner, record.token + 1)
    if storage.replace(key, taken.dumps(), held.tag) or _stands(storage, key, taken):
        return Lease(storage, key, owner, taken.token)
    return None


def _stands(storage: S3Storage, key: str, record: _Record) -> bool:
    """Whether a write that was tried again, and then refused, had come through at first."""
    return _parsed(storage.read(key) or b"") == record


def _has_run_out(storage: S3Storage, key: str, held: Dated) -> bool:
    probe = f"{key}.{secrets.token_hex(6)}"
    storage.write(probe, b"")
    try:
        now = storage.read_dated(probe)
    finally:
        storage.delete(probe)
    age = 0.0 if now is None else (now.modified_at - held.modified_at).total_seconds()
    return age > LEASE_SECONDS + STAMP_SECONDS


@contextmanager
def renewed(lease: Lease) -> Iterator[None]:
    """Renew a lease while the block runs, and give it back at its end."""
    stop = threading.Event()
    keeper = threading.Thread(target=_renew, args=(lease, stop), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()
        held = lease.storage.read_dated(lease.key)
        if held is not None and _parsed(held.data).owner == lease.owner:
            lease.storage.replace(lease.key, _Record(None, lease.token).dumps(), held.tag)


def _renew(lease: Lease, stop: threading.Event) -> None:
    """Keep the lease alive; a store that fails is asked again until the lease has run out."""
    kept_until = time.monotonic() + LEASE_SECONDS
    while not stop.wait(LEASE_SECONDS / RENEWALS_A_LEASE):
        began = time.monotonic()
        try:
            held = lease.storage.read_dated(lease.key)
            if held is None or _parsed(held.data).owner != lease.owner:
                lease.lost.set()
                return
            if lease.storage.replace(lease.key, _Record(lease.owner, lease.token).dumps(), held.tag):
                kept_until = began + LEASE_SECONDS
        except SlowwaveError:
            if time.monotonic() > kept_until:
                lease.lost.set()
                return
