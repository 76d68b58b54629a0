"""Small JSON objects below one prefix, read again only when something below it has changed.

On a local disk the folder's own time tells: making, replacing and removing a file changes it. A folder
that changed a moment before it was listed may change again within the same tick of the clock, so such a
listing is not trusted the next time. An object store is listed with every call.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from lake.lake import Lake
from lake.storage import Entry, LocalStorage

SUFFIX = ".json"
_SETTLED_NS = 200_000_000
"""Well above the tick of any kernel's file times (1 to 10 ms)."""

Value = TypeVar("Value")
Stamp = tuple[int, int]
Place = tuple[str, str]
"""Address and id of a lake: a copy of it is another place, and so is a new lake where one was."""


def place_of(lake: Lake) -> Place:
    """Where a lake is."""
    return lake.storage.uri, lake.lake_id


@dataclass(frozen=True)
class _Held(Generic[Value]):
    """What was read, of which files, and the folder's time then; None where that may not be trusted."""

    stamp: Stamp | None
    tags: Mapping[str, str]
    values: Mapping[str, Value]


class Watched(Generic[Value]):
    """Objects of one prefix by name, as ``parse`` makes them; kept in this process, lake by lake.

    Safe between threads; a forked child begins anew.

    Args:
        prefix: Folder below the lake's root.
        parse: From an object's key and bytes to a value; raises where they are damaged.
    """

    def __init__(self, prefix: str, parse: Callable[[str, bytes], Value]) -> None:
        self._prefix = prefix
        self._parse = parse
        self._lock = threading.Lock()
        self._held: dict[Place, _Held[Value]] = {}
        os.register_at_fork(after_in_child=self._forget)

    def read(self, lake: Lake) -> Mapping[str, Value]:
        """All values by name; the very same mapping while nothing changes.

        Raises:
            LakeError: An object is damaged.
            StorageError: The store cannot be read.
        """
        stamp = self._stamp(lake)
        where = place_of(lake)
        held = self._held.get(where)
        if held is not None and stamp is not None and held.stamp == stamp:
            return held.values
        with self._lock:
            found = self._listed(lake, self._held.get(where), stamp)
            self._held[where] = found
        return found.values

    def _stamp(self, lake: Lake) -> Stamp | None:
        """The folder's identity and time; None on an object store."""
        if not isinstance(lake.storage, LocalStorage):
            return None
        try:
            stat = lake.storage.path(self._prefix).stat()
        except (FileNotFoundError, NotADirectoryError):
            return (0, 0)
        return stat.st_ino, stat.st_mtime_ns

    def _listed(self, lake: Lake, held: _Held[Value] | None, stamp: Stamp | None) -> _Held[Value]:
        """A new listing; what has not changed is not read again."""
        is_settled = stamp is not None and time.time_ns() - stamp[1] > _SETTLED_NS
        entries = [e for e in lake.storage.entries(self._prefix) if e.key.endswith(SUFFIX)]
        tags = {_name(entry): entry.tag for entry in entries}
        kept = stamp if is_settled else None
        if held is not None and dict(held.tags) == tags:
            return _Held(kept, held.tags, held.values)
        values: dict[str, Value] = {}
        for entry in entries:
            name = _name(entry)
            if held is not None and held.tags.get(name) == entry.tag and name in held.values:
                values[name] = held.values[name]
                continue
            data = lake.storage.read(entry.key)
            if data is None:  # removed since it was listed
                del tags[name]
            else:
                values[name] = self._parse(entry.key, data)
        return _Held(kept, tags, values)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._held = {}


def _name(entry: Entry) -> str:
    return entry.key.rpartition("/")[2].removesuffix(SUFFIX)
