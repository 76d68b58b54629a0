"""Puts a copy back as a lake: every file checked against its hash, the lake's own record last."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lake.copies import transfer
from lake.copies.backup import require_apart
from lake.copies.erasures import dumps, gathered, merged
from lake.copies.record import ERASURES, Copy, Item
from lake.lake import LEFTOVERS, RECORD, Lake, open_lake, require_conditional_writes
from lake.rights import tombstones
from lake.storage import S3Storage, Storage
from transforms.errors import LakeError

MARKER = "state/restoring.json"
"""Stands from the first file to the last erasure: which copy is being restored."""
_AT_ONCE = 4


def check(backup: Storage, copy: Copy, advance: Callable[[int], None] = lambda _: None) -> None:
    """Read every file of a copy back.

    Raises:
        LakeError: One is missing or has other bytes; names it.
    """

    def one(item: Item) -> int:
        if transfer.digest(backup, item.place) != (item.size_bytes, item.sha256):
            raise transfer.damaged(item.place)
        return item.size_bytes

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-backup") as pool:
        for size in pool.map(one, copy.items):
            advance(size)


def put_back(
    backup: Storage,
    copy: Copy,
    target: Storage,
    erasures: Mapping[str, dict[str, Any]],
    advance: Callable[[int], None] = lambda _: None,
) -> Lake:
    """Make a lake of a copy. Killed, it is no lake yet, and the next call goes on.

    Args:
        backup: Where the copy lies.
        copy: Which.
        target: Where the lake shall be: empty, or begun by such a call.
        erasures: Tombstones that must hold in it, beside those of the copy and of the backup.
        advance: Told the bytes of each file that is done.

    Returns:
        The lake, without its keys. ``done`` ends the restoring, after what was erased has been erased again.

    Raises:
        LakeError: A file of the copy is damaged, or the target holds something else.
        StorageError: A store failed.
    """
    require_apart(backup, target)
    _begin(target, copy)
    there = {entry.key: entry.size_bytes for entry in target.entries("")}

    def one(item: Item) -> int:
        if there.get(item.key) != item.size_bytes or not _is_whole(target, item):
            transfer.copy(backup, item.place, target, item.key, item.sha256)
        return item.size_bytes

    record = next(item for item in copy.items if item.key == RECORD)
    if RECORD not in there:
        items = [item for item in copy.items if item.key != RECORD]
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="slowwave-restore") as pool:
            for size in pool.map(one, items):
                advance(size)
        refuse_again(target, merged(gathered(backup, ERASURES), erasures))
        one(record)
    return open_lake(target.uri)


def refuse_again(target: Storage, erasures: Mapping[str, dict[str, Any]]) -> None:
    """Put tombstones beside those that are there; of two, what refuses more holds."""
    held = gathered(target, tombstones.PREFIX)
    for name, told in merged(held, erasures).items():
        if held.get(name) != told:
            target.write(f"{tombstones.PREFIX}/{name}.json", dumps(told))


def done(lake: Lake) -> None:
    """The lake is restored, and nothing is left to be erased again."""
    lake.storage.delete(MARKER)


def is_restoring(lake: Lake) -> bool:
    """Whether a restore of this lake was begun and has not come to its end."""
    return lake.storage.read(MARKER) is not None


def _begin(target: Storage, copy: Copy) -> None:
    raw = target.read(MARKER)
    if raw is not None:
        if _copy_of(raw) != copy.copy_id:
            raise LakeError(
                f"{target.uri} holds half of another copy", "Restore that copy (--copy), or clear the place."
            )
        return
    held = {entry.key for entry in target.entries("")}
    foreign = sorted(key for key in held if key.split("/")[0] not in LEFTOVERS)
    if foreign:
        raise LakeError(
            f"{target.uri} is not empty and holds {foreign[0]}",
            "Restore into an empty or new place; a lake is never overwritten.",
        )
    if isinstance(target, S3Storage):
        require_conditional_writes(target)
    target.write(MARKER, json.dumps({"copy": copy.copy_id}).encode())


def _copy_of(raw: bytes) -> str | None:
    try:
        return str(json.loads(raw)["copy"])
    except (ValueError, KeyError, TypeError):
        return None


def _is_whole(target: Storage, item: Item) -> bool:
    return transfer.digest(target, item.key) == (item.size_bytes, item.sha256)
