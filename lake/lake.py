"""A lake: one root, its record, and where everything in it lies."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from lake.crypto.record import Encryption, read_encryption
from lake.faults import wrapped
from lake.storage import LocalStorage, S3Storage, Storage, open_storage
from transforms.errors import LakeError, UsageError
from transforms.ids import tenant_bucket
from transforms.schemas import Table

if TYPE_CHECKING:
    from lake.crypto.access import Keys
    from lake.crypto.keyring import Keyring

FORMAT = "slowwave"
VERSION = 2
"""Of what lies below a lake's root; ``lake.migrations`` says what each version changed."""
FIRST_VERSION = 1
RECORD = "lake.json"
LEFTOVERS = {"state", "locks", "lost+found"}
"""What a folder may hold before it is a lake: what an init killed midway left, and a volume's own."""
MOST_BUCKETS = 1024
"""Each bucket is a folder and, in an append, a file of its own."""
DEFAULT_BUCKETS = 16
"""Partitions by tenant hash: 16 suits up to about 50M rows, 64 a billion."""


@dataclass(frozen=True)
class Lake:
    """An opened lake. Use ``init`` or ``open``.

    Args:
        uri: Root as given, a local path or ``s3://bucket/prefix``.
        storage: Bytes below the root.
        lake_id: Random id made at ``init``.
        buckets: How many tenant buckets its tables have; fixed for life.
        encryption: How its free text is encrypted, None where it is not; fixed for life.
        keys: What opens and seals that text; None where it is plain, or opened without its keys.
        pins: Tables that are read as they were at a version, by name; such a lake is read only
            (``lake.history``).
    """

    uri: str
    storage: Storage = field(repr=False)
    lake_id: str
    buckets: int
    encryption: Encryption | None = None
    keys: Keyring | None = field(default=None, repr=False, compare=False)
    pins: tuple[tuple[str, int], ...] = ()

    @cached_property
    def is_local(self) -> bool:
        """Whether the root is a directory of this machine."""
        return isinstance(self.storage, LocalStorage)

    @property
    def root(self) -> Path | None:
        """The directory; None on an object store."""
        return self.storage.root if isinstance(self.storage, LocalStorage) else None

    def table_uri(self, table: Table) -> str:
        """Where a table's files and log lie."""
        return f"{self.storage.uri}/tables/{table.name}"

    def index_uri(self, generation: str) -> str:
        """Where a generation of the index lies."""
        return f"{self.storage.uri}/index/{generation}"

    def bucket(self, tenant_id: str) -> int:
        """Bucket of a tenant in this lake."""
        return tenant_bucket(tenant_id, self.buckets)


def init_lake(uri: str, buckets: int | None = None) -> Lake:
    """Make a lake, or open the one that is there.

    Raises:
        LakeError: The root holds a lake of another version or anything that is no lake, cannot be
            written, or lies on a store without conditional writes.
        UsageError: More than ``MOST_BUCKETS``, or the lake that is there has another number of buckets.
    """
    if buckets is not None and not 0 < buckets <= MOST_BUCKETS:
        raise UsageError(
            f"{buckets} tenant buckets",
            f"Take 1 to {MOST_BUCKETS} (buckets, --buckets); 64 suit a billion rows.",
        )
    storage = open_storage(uri)
    if storage.read(RECORD) is None:
        _refuse_foreign(storage)
        require_conditional_writes(storage)
        record = {
            "format": FORMAT,
            "version": VERSION,
            "lake_id": secrets.token_hex(8),
            "buckets": buckets or DEFAULT_BUCKETS,
        }
        storage.create(RECORD, (json.dumps(record, indent=1) + "\n").encode())
    lake = open_lake(uri)
    if buckets not in (None, lake.buckets):
        raise UsageError(
            f"the lake at {uri} has {lake.buckets} tenant buckets, for life",
            "Leave the buckets out (buckets, --buckets), or make another lake.",
        )
    return lake


def _refuse_foreign(storage: Storage) -> None:
    """Refuse a root that holds anything but what an interrupted init left.

    Raises:
        LakeError: It does, and no other process has made it a lake meanwhile.
    """
    if isinstance(storage, LocalStorage):
        with wrapped(f"listing {storage.uri}"):
            names = [p.name for p in storage.root.iterdir()] if storage.root.is_dir() else []
    else:
        names = storage.names() if isinstance(storage, S3Storage) else []
    foreign = sorted(n for n in names if n not in LEFTOVERS and not n.startswith(f".{RECORD}."))
    if foreign and storage.read(RECORD) is None:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        raise LakeError(
            f"{storage.uri} is no lake and holds {shown}",
            f"Choose an empty or new folder; a lake that lost its {RECORD} needs that file back.",
        )


def require_conditional_writes(storage: Storage) -> None:
    """Refuse a store on which two writers could both win.

    Raises:
        LakeError: A conditional write overwrote what was there.
    """
    key = f"state/probe-{secrets.token_hex(6)}"
    storage.write(key, b"first")
    try:
        kept = not storage.create(key, b"second")
        if kept and isinstance(storage, S3Storage):
            kept = not storage.replace(key, b"third", '"0123456789abcdef0123456789abcdef"')
        kept = kept and storage.read(key) == b"first"
    finally:
        storage.delete(key)
    if not kept:
        raise LakeError(
            f"the store at {storage.uri} ignores conditional writes, so two writers would lose rows",
            "Use a store that honours If-None-Match and If-Match, or a local directory.",
        )


def open_lake(uri: str, keys: Keys | None = None) -> Lake:
    """Open a lake that exists.

    Args:
        uri: Its address.
        keys: Where the keys of an encrypted lake are. Without them it opens for what needs no text.

    Raises:
        LakeError: There is none, it is damaged, it is plain and there are keys, or it is of another
            version: an older one is to be migrated, a newer one needs a newer slowwave.
    """
    lake, version = opened_at_any_version(uri)
    if version != VERSION:
        raise LakeError(
            f"the lake at {uri} has version {version}, this slowwave reads version {VERSION}",
            f"Upgrade it in place: slowwave --lake {uri} migrate",
        )
    return lake if keys is None else keys.of(lake)


def opened_at_any_version(uri: str) -> tuple[Lake, int]:
    """A lake of this version or an earlier one, without keys, and its version: for migrations.

    Raises:
        LakeError: There is none, nor its bucket, it is damaged, or a newer slowwave made it.
    """
    storage = open_storage(uri)
    raw = storage.read(RECORD)
    if raw is None:
        if isinstance(storage, S3Storage):
            storage.names()  # it tells where there is no bucket either
        raise LakeError(f"there is no lake at {uri}", f"Make one: slowwave --lake {uri} init")
    version, lake_id, buckets = _parsed(raw, uri)
    if version > VERSION:
        raise LakeError(
            f"the lake at {uri} has version {version}, this slowwave reads version {VERSION}",
            "A newer slowwave made or migrated it: update slowwave.",
        )
    return Lake(uri, storage, lake_id, buckets, read_encryption(storage)), version


def _parsed(raw: bytes, uri: str) -> tuple[int, str, int]:
    """Version, id and buckets of a record; of a newer one only the version is looked at."""
    try:
        record = json.loads(raw)
        version = record["version"]
        if record["format"] != FORMAT or type(version) is not int or version < FIRST_VERSION:
            raise ValueError(RECORD)
        if version > VERSION:
            return version, "", 0
        lake_id, buckets = record["lake_id"], record["buckets"]
        if not (isinstance(lake_id, str) and lake_id and isinstance(buckets, int) and buckets > 0):
            raise ValueError(RECORD)
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{RECORD} at {uri} is damaged", "Restore it from a backup; the tables are untouched."
        ) from error
    return version, lake_id, buckets


def as_lake(lake: Lake | str | PathLike[str], keys: Keys | None = None) -> Lake:
    """A lake from itself or from its address, with keys where they are given.

    Raises:
        LakeError: As ``open_lake``.
        UsageError: It is neither.
    """
    if isinstance(lake, Lake):
        return lake if keys is None else keys.of(lake)
    uri = fspath(lake) if isinstance(lake, str | PathLike) else None
    if not isinstance(uri, str):
        raise UsageError(
            f"a lake is named by {type(lake).__name__}", "Pass its address (str or path) or a Lake."
        )
    return open_lake(uri, keys)
