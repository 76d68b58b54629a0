"""Makes a copy of a lake in a backup: only what is not there yet is copied, and its list is written last."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from lake.copies import record, transfer
from lake.copies.contents import Contents, contents, whole_lines
from lake.copies.record import COPIES, ERASURES, FILES, OBJECTS, Copy, Item, never_changes
from lake.lake import Lake
from lake.rights import tombstones
from lake.storage import LocalStorage, Storage
from transforms.errors import LakeError, UsageError

_AT_ONCE = 4
"""Files in flight: enough to hide a store's answers, few enough for memory (8 MB each)."""
_STAMP = "%Y%m%dT%H%M%S%fZ"
"""To the microsecond: copies are told apart, and the oldest let go, by their names."""


@dataclass(frozen=True)
class Made:
    """A copy, and what making it took.

    Attributes:
        copy: The copy.
        files_copied: Files that were not there yet.
        bytes_copied: Their bytes.
        copies_removed: Older copies that went.
        files_removed: Files that no copy that is kept needs.
    """

    copy: Copy
    files_copied: int
    bytes_copied: int
    copies_removed: int
    files_removed: int


def make(
    lake: Lake,
    backup: Storage,
    at: datetime,
    *,
    as_of: datetime | None = None,
    keep: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> Made:
    """Copy a lake; call it while no other run works on it. Killed, the next call goes on.

    Args:
        lake: Which.
        backup: Where to; a place of its own.
        at: Now.
        as_of: The tables as they were committed then; None is now.
        keep: Copies that stay, this one among them; what only older ones hold goes.
        advance: Told the bytes of each file that is done.

    Raises:
        LakeError: The place holds something else, or a file of the lake is gone.
        HistoryError: The lake no longer holds all that stood at ``as_of``.
        StorageError: A store failed; copies that were complete stay so.
    """
    require_apart(lake.storage, backup)
    record.claim(backup, lake.lake_id)
    tell_erasures(lake, backup)
    planned = contents(lake, as_of)
    work = _Work(lake, backup, planned, _known(backup))
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-backup") as pool:
        items = []
        for item in pool.map(work.item, work.keys()):
            if item is not None:
                items.append(item)
                advance(item.size_bytes)
    made = Copy(
        copy_id=_next_id(backup, at),
        lake_id=lake.lake_id,
        lake_uri=lake.storage.uri,
        made_at=at.astimezone(UTC).isoformat(),
        versions=planned.versions,
        items=tuple(sorted(items, key=lambda item: item.key)),
        generation=planned.generation,
        as_of=None if as_of is None else as_of.isoformat(),
        is_encrypted=lake.encryption is not None,
    )
    _require_there(backup, made)
    backup.write(f"{COPIES}/{made.copy_id}.json", made.dumps())
    gone = prune(backup, keep)
    return Made(made, work.files, work.bytes, *gone)


def _next_id(backup: Storage, at: datetime) -> str:
    """A name after that of every copy there is, also where the clock went back since."""
    stamp = at.astimezone(UTC)
    if known := record.copies(backup):
        newest = datetime.strptime(known[-1].partition("-")[0], _STAMP).replace(tzinfo=UTC)
        stamp = max(stamp, newest + timedelta(microseconds=1))
    return f"{stamp:{_STAMP}}-{secrets.token_hex(3)}"


def require_apart(one: Storage, other: Storage) -> None:
    """Refuse a backup inside its lake, and a lake inside its backup.

    Raises:
        UsageError: They are.
    """
    roots = [
        f"{s.root.resolve()}/" if isinstance(s, LocalStorage) else f"{s.uri.rstrip('/')}/"
        for s in (one, other)
    ]
    if roots[0].startswith(roots[1]) or roots[1].startswith(roots[0]):
        raise UsageError(
            "lake and backup lie one in the other", "Name a place apart, on another disk or store."
        )


def tell_erasures(lake: Lake, backup: Storage) -> int:
    """Put the lake's tombstones beside the copies: whatever copy is restored, they hold. Returns how many.

    Raises:
        StorageError: A store failed.
    """
    held = {e.key.split("/")[-1]: lake.storage.read(e.key) for e in lake.storage.entries(tombstones.PREFIX)}
    for name, raw in held.items():
        if raw is not None and backup.read(f"{ERASURES}/{name}") != raw:
            backup.write(f"{ERASURES}/{name}", raw)
    for entry in backup.entries(ERASURES):  # lifted: the person has opted in again
        if entry.key.split("/")[-1] not in held:
            backup.delete(entry.key)
    return len(held)


def prune(backup: Storage, keep: int) -> tuple[int, int]:
    """Remove all but the newest copies, and files that none of the rest needs, those of killed runs too.

    Returns:
        Copies and files that went.

    Raises:
        LakeError: A copy that stays is damaged: nothing goes then.
    """
    names = record.copies(backup)
    older, kept = names[:-keep], names[-keep:]
    needed = {item.place for name in kept for item in record.load(backup, name).items}
    for name in older:
        backup.delete(f"{COPIES}/{name}.json")
    gone = 0
    for prefix in (FILES, OBJECTS):
        for entry in backup.entries(prefix):
            if entry.key not in needed:
                backup.delete(entry.key)
                gone += 1
    return len(older), gone + backup.sweep("", 0)


def _known(backup: Storage) -> dict[str, Item]:
    """Files of the newest copy by key: their hashes need not be taken again."""
    for name in reversed(record.copies(backup)):
        try:
            return {item.key: item for item in record.load(backup, name).items}
        except LakeError:
            continue
    return {}


class _Work:
    """Files on their way; safe between threads."""

    def __init__(self, lake: Lake, backup: Storage, planned: Contents, known: dict[str, Item]) -> None:
        self._lake, self._backup, self._planned, self._known = lake, backup, planned, known
        self._there = {e.key: e.size_bytes for p in (FILES, OBJECTS) for e in backup.entries(p)}
        self.files = self.bytes = 0

    def keys(self) -> Iterator[str]:
        """Every file of the copy."""
        yield from self._planned.sizes
        yield from self._planned.lines
        yield from self._planned.made

    def item(self, key: str) -> Item | None:
        """Have one file in the backup; None where it has gone and may, such as a request that was closed."""
        if key in self._planned.made:
            return self._put(key, self._planned.made[key])
        if never_changes(key):
            return self._file(key, self._planned.sizes[key])
        raw = self._lake.storage.read(self._planned.lines.get(key, key))
        if raw is None:
            if key.startswith(("tables/", "index/")):
                raise LakeError(f"{key} is gone", "Something else works on this lake; run backup again.")
            return None
        return self._put(key, whole_lines(raw) if key in self._planned.lines else raw)

    def _put(self, key: str, data: bytes) -> Item:
        item = Item(key, len(data), sha256(data).hexdigest())
        if self._there.get(item.place) != item.size_bytes:
            self._backup.write(item.place, data)
            self._count(item)
        return item

    def _file(self, key: str, size: int) -> Item:
        known = self._known.get(key)
        is_there = self._there.get(f"{FILES}/{key}") == size
        if is_there and known is not None and known.size_bytes == size:
            return known
        if is_there:  # put by a run that was killed before it could say so
            return Item(key, *transfer.digest(self._lake.storage, key))
        item = Item(key, *transfer.copy(self._lake.storage, key, self._backup, f"{FILES}/{key}"))
        self._count(item)
        return item

    def _count(self, item: Item) -> None:
        self.files += 1
        self.bytes += item.size_bytes


def _require_there(backup: Storage, made: Copy) -> None:
    """Look once more that every file is there in its size, before the list says so.

    Raises:
        LakeError: One is not.
    """
    there = {e.key: e.size_bytes for p in (FILES, OBJECTS) for e in backup.entries(p)}
    for item in made.items:
        if there.get(item.place) != item.size_bytes:
            raise LakeError(f"{item.place} of the backup is not as it was written", "Run backup again.")
