"""A copy of a lake's metadata, made before a migration changes any of it.

Record, pointer and manifests of the index, the log of every table, and state: no data files. It serves as
long as the data files of the logs are there, so nights drop it when they vacuum those. It holds nothing of
any person: logs hold counts only, manifests hashes, and the parts of state that name people are left out,
because no step changes them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from lake.faults import wrapped
from lake.lake import RECORD, Lake

PREFIX = "migrations"
MARKER = "state/migrating.json"
"""Exists while a migration is under way: which version it began with, and where its backup lies."""
_DONE = "backup.json"
"""Written last: without it the folder is half a backup, and no step has begun."""
_STAMP = "%Y-%m-%dT%H%M%SZ"
_LEFT_OUT = ("state/requests/", "state/batches/", "state/retaining", "state/probe-", MARKER)


def keep(lake: Lake, version: int, at: datetime) -> str:
    """Copy the metadata, or find the copy of the same migration that was killed.

    Args:
        lake: Whose.
        version: Its version.
        at: Now; it dates the folder.

    Returns:
        The folder, as a key below the lake.

    Raises:
        StorageError: It cannot be written; nothing of the lake was changed.
    """
    known = _under_way(lake, version)
    if known is not None:
        if lake.storage.read(f"{known}/{_DONE}") is not None:
            return known
        _remove(lake, known, _folders(lake).get(known, []))
    folder = f"{PREFIX}/{at.astimezone(UTC):{_STAMP}}-from-{version}"
    lake.storage.write(MARKER, json.dumps({"version": version, "backup": folder}).encode())
    files = size = 0
    for key in _keys(lake):
        raw = lake.storage.read(key)
        if raw is not None:
            lake.storage.write(f"{folder}/{key}", raw)
            files, size = files + 1, size + len(raw)
    told = {"version": version, "made_at": at.isoformat(), "files": files, "bytes": size}
    lake.storage.write(f"{folder}/{_DONE}", json.dumps(told, indent=1).encode())
    return folder


def finish(lake: Lake) -> None:
    """The migration is done: the next one makes a backup of its own."""
    lake.storage.delete(MARKER)


def expire(lake: Lake, now: datetime, hours: int) -> int:
    """Drop backups whose tables' older data files are gone. Returns how many files went.

    Args:
        lake: Whose.
        now: By the clock, as data files age by it.
        hours: How long those are kept.
    """
    gone = 0
    for folder, keys in _folders(lake).items():
        made = _made_at(folder)
        if made is not None and made < now - timedelta(hours=hours):
            _remove(lake, folder, keys)
            gone += len(keys)
    return gone


def _keys(lake: Lake) -> Iterator[str]:
    yield RECORD
    for prefix in ("index", "tables", "state"):
        for entry in lake.storage.entries(prefix):
            if _is_metadata(entry.key):
                yield entry.key


def _is_metadata(key: str) -> bool:
    if key.startswith("tables/"):
        return "/_delta_log/" in key
    if key.startswith("index/"):
        return key == "index/CURRENT" or (key.endswith("/manifest.json") and key.count("/") == 2)
    return not key.startswith(_LEFT_OUT)


def _under_way(lake: Lake, version: int) -> str | None:
    """The folder of a migration from this version that was killed, None where there is none."""
    raw = lake.storage.read(MARKER)
    try:
        record = json.loads(raw or b"")
        folder, is_mine = str(record["backup"]), record["version"] == version
    except (ValueError, KeyError, TypeError):
        return None
    return folder if is_mine and _made_at(folder) is not None else None


def _remove(lake: Lake, folder: str, keys: list[str]) -> None:
    for key in keys:
        lake.storage.delete(key)
    if lake.root is not None:
        with wrapped(f"removing {folder}"):
            shutil.rmtree(lake.root / folder, ignore_errors=not keys)


def _folders(lake: Lake) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in lake.storage.entries(PREFIX):
        found.setdefault("/".join(entry.key.split("/")[:2]), []).append(entry.key)
    return found


def _made_at(folder: str) -> datetime | None:
    """When a backup was made; None where it is no backup's name."""
    prefix, _, name = folder.partition("/")
    try:
        made = datetime.strptime(name.partition("-from-")[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return made if prefix == PREFIX and "/" not in name else None
