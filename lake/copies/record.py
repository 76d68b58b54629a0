"""What a copy of a lake consists of, and where copies lie in a backup.

A backup is a folder or prefix of its own::

    backup.json               whose lake it is of
    copies/<copy>.json        list of one copy; written last, so that half a copy is none
    files/<key>               files that never change once they are written, under their key in the lake
    objects/<aa>/<sha256>     all others, by their content
    erasures/<hash>.json      tombstones of the lake as it last told of them
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from lake.storage import Storage
from transforms.errors import LakeError

FORMAT = "slowwave-backup"
VERSION = 1
MARK = "backup.json"
COPIES, FILES, OBJECTS, ERASURES = "copies", "files", "objects", "erasures"
_NEVER_CHANGED = re.compile(
    r"tables/[a-z_]+/(?!_delta_log/).+\.parquet|index/gen-\d{6,}/[^/]+\.lance/(data|_indices|_deletions)/.+",
    re.ASCII,
)
"""Names with random parts: what once lay under one is all that ever will."""
_COPY = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}", re.ASCII)
_KEY = re.compile(r"(?!/)(?!.*(^|/)\.\.?(/|$))[^\0\\]+")
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Item:
    """One file of a copy: its key in the lake, its bytes and their SHA-256."""

    key: str
    size_bytes: int
    sha256: str

    @property
    def place(self) -> str:
        """Where it lies in the backup."""
        if never_changes(self.key):
            return f"{FILES}/{self.key}"
        return f"{OBJECTS}/{self.sha256[:2]}/{self.sha256}"


@dataclass(frozen=True)
class Copy:
    """One copy of a lake.

    Attributes:
        copy_id: Its name; sorts by time.
        lake_id: Of the lake.
        lake_uri: Where the lake was.
        made_at: When, ISO 8601.
        versions: Version of each table.
        items: All files, ``lake.json`` among them.
        generation: Live generation of the index; None where it holds none.
        as_of: The instant of the tables' versions, where it is not that of the copy.
        is_encrypted: Whether the text of the tables is sealed; its keys are never in a backup.
    """

    copy_id: str
    lake_id: str
    lake_uri: str
    made_at: str
    versions: Mapping[str, int]
    items: tuple[Item, ...]
    generation: str | None = None
    as_of: str | None = None
    is_encrypted: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(item.size_bytes for item in self.items)

    def dumps(self) -> bytes:
        """As JSON, with a hash over all of it."""
        record = {**asdict(self), "items": [[i.key, i.size_bytes, i.sha256] for i in self.items]}
        return json.dumps({**record, "version": VERSION, "hash": _hash(record)}, indent=1).encode()


def never_changes(key: str) -> bool:
    """Whether a file of that name is never written again."""
    return _NEVER_CHANGED.fullmatch(key) is not None


def _hash(record: Mapping[str, Any]) -> str:
    return sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def parsed(raw: bytes, name: str) -> Copy:
    """A copy's list from its JSON.

    Raises:
        LakeError: It is damaged, or of another version.
    """
    try:
        record = json.loads(raw)
        version, digest = record.pop("version"), record.pop("hash")
        if version != VERSION or digest != _hash(record):
            raise ValueError(name)
        items = tuple(Item(*item) for item in record["items"])
        if not all(_KEY.fullmatch(i.key) and _HASH.fullmatch(i.sha256) for i in items):
            raise ValueError(name)
        return Copy(**{**record, "items": items})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LakeError(
            f"{name} of the backup is damaged or of another version",
            "Restore another copy (--copy), or use the slowwave release that made it.",
        ) from error


def copies(backup: Storage) -> list[str]:
    """Names of the complete copies of a backup, oldest first."""
    names = (e.key.removeprefix(f"{COPIES}/").removesuffix(".json") for e in backup.entries(COPIES))
    return sorted(name for name in names if _COPY.fullmatch(name))


def load(backup: Storage, name: str | None = None) -> Copy:
    """One copy, the newest where none is named.

    Raises:
        LakeError: There is none, none of that name, or it is damaged.
    """
    known = copies(backup)
    if not known:
        raise LakeError(
            f"there is no complete backup at {backup.uri}",
            "Check the address; a backup that was killed midway goes on with slowwave backup.",
        )
    chosen = known[-1] if name is None else name
    raw = backup.read(f"{COPIES}/{chosen}.json") if chosen in known else None
    if raw is None:
        raise LakeError(f"the backup holds no copy {chosen}", f"It holds {', '.join(known[-5:])}.")
    return parsed(raw, f"{COPIES}/{chosen}.json")


def claim(backup: Storage, lake_id: str) -> None:
    """Make a place the backup of a lake, or find that it is.

    Raises:
        LakeError: It is that of another lake, or holds anything else.
    """
    raw = backup.read(MARK)
    if raw is None:
        held = backup.entries("")
        if held:
            raise LakeError(
                f"{backup.uri} is no backup and holds {held[0].key}", "Name an empty or new folder or prefix."
            )
        record = {"format": FORMAT, "version": VERSION, "lake_id": lake_id}
        backup.create(MARK, (json.dumps(record, indent=1) + "\n").encode())
        raw = backup.read(MARK) or b""
    if owner(raw) != lake_id:
        raise LakeError(
            f"{backup.uri} is the backup of another lake", "Give each lake a backup folder of its own."
        )


def owner(raw: bytes) -> str | None:
    """Id of the lake that a backup is of; None where the record is none."""
    try:
        record = json.loads(raw)
        return str(record["lake_id"]) if record["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        return None
