"""Entries as they lie in a keyring: by subject, or all of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lake.crypto.entries import FOLDER, Entry, name_of, named, parsed
from lake.storage import Storage

_AT_ONCE = 16
"""Entries read or made at the same time: their syncs, or trips to an object store, overlap."""

_DESTROYED = "destroyed"
"""Object that changes whenever keys are destroyed whose rows may still be published."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def names(storage: Storage) -> Iterator[tuple[str, int]]:
    """Subject and version of every entry."""
    for entry in storage.entries(FOLDER):
        told = named(entry.key)
        if told is not None:
            yield told


def entries(storage: Storage) -> list[Entry]:
    """Every entry, destroyed ones too.

    Raises:
        LakeError: One is damaged.
    """

    def read(told: tuple[str, int]) -> Entry | None:
        name = name_of(*told)
        raw = storage.read(name)
        return None if raw is None else parsed(raw, name)

    return [entry for entry in at_once(read, list(names(storage))) if entry is not None]


def versions(storage: Storage, subject: str) -> list[Entry]:
    """Every version of one subject's key, in order: none is ever left out.

    Raises:
        LakeError: One is damaged.
    """
    found: list[Entry] = []
    while (raw := storage.read(name := name_of(subject, len(found) + 1))) is not None:
        found.append(parsed(raw, name))
    return found


def note_destroyed(storage: Storage) -> None:
    """Change the mark, so that what was published before is known to be out of date."""
    storage.write(_DESTROYED, secrets.token_hex(16).encode())


def destroyed_mark(storage: Storage) -> str:
    """The mark as it stands; empty where no key was destroyed but by an erasure."""
    return (storage.read(_DESTROYED) or b"").decode("ascii", "replace")


def at_once(action: Callable[[Item], Result], items: Collection[Item]) -> list[Result]:
    """The action on each item, in order, several at the same time."""
    if len(items) <= 1:
        return [action(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-keys") as pool:
        return list(pool.map(action, items))
