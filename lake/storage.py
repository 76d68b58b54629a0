"""Bytes under one root, local or ``s3://``: atomic, durable writes and conditional creation.

Tables and index own their files through their own libraries; this is for the small things
beside them: the lake's own record, pointers, leases and landed rows.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from pathlib import Path
from stat import S_ISREG
from typing import Protocol
from urllib.parse import unquote, urlsplit

from lake.entries import Dated, Entry
from lake.faults import wrapped
from lake.local_paths import local_path
from lake.object_store import S3Storage
from transforms.errors import LakeError

__all__ = ["Dated", "Entry", "LocalStorage", "S3Storage", "Storage", "open_storage"]

_TEMPORARY = ".tmp"
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""What file systems without directory sync say; there is nothing more to be done on them."""


class Storage(Protocol):
    """What the lake asks of a store. Keys are relative, with ``/`` between parts."""

    uri: str

    def read(self, key: str) -> bytes | None:
        """The object's bytes, or None where there is none."""

    def write(self, key: str, data: bytes) -> None:
        """Put whole or not at all; durable when it returns."""

    def create(self, key: str, data: bytes) -> bool:
        """Put only where nothing is; False where something is."""

    def entries(self, prefix: str) -> list[Entry]:
        """Objects below the prefix, by key."""

    def delete(self, key: str) -> None:
        """Remove; nothing happens where there is none."""

    def sweep(self, prefix: str, older_than_seconds: float) -> int:
        """Remove what killed writers left half written below the prefix. Returns how many went."""


class LocalStorage:
    """A directory. Writes go to a temporary name, are synced, then renamed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.uri = str(root)

    def path(self, key: str) -> Path:
        """Absolute path of a key."""
        return self.root / key

    def read(self, key: str) -> bytes | None:
        """See ``Storage.read``."""
        with wrapped(f"reading {key}"):
            try:
                return self.path(key).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, key: str, data: bytes) -> None:
        """See ``Storage.write``."""
        with wrapped(f"writing {key}"):
            temporary = self._stage(key, data)
            try:
                temporary.replace(self.path(key))
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
            sync_directory(self.path(key).parent)

    def create(self, key: str, data: bytes) -> bool:
        """See ``Storage.create``."""
        with wrapped(f"creating {key}"):
            temporary = self._stage(key, data)
            try:
                os.link(temporary, self.path(key))
            except FileExistsError:
                return False
            finally:
                temporary.unlink(missing_ok=True)
            sync_directory(self.path(key).parent)
            return True

    def _stage(self, key: str, data: bytes) -> Path:
        """A synced temporary file beside the target."""
        target = self.path(key)
        make_directory(target.parent)
        temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}{_TEMPORARY}"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def entries(self, prefix: str) -> list[Entry]:
        """See ``Storage.entries``."""
        base = self.path(prefix)
        if not base.is_dir():
            return []
        found = []
        for directory, _, names in os.walk(base):  # without paths, which take longer than the looks
            place = Path(directory).relative_to(self.root).as_posix()
            for name in names:
                if name.startswith("."):
                    continue
                try:
                    stat = os.lstat(os.path.join(directory, name))  # noqa: PTH118
                except FileNotFoundError:  # sealed or consumed meanwhile
                    continue
                if not S_ISREG(stat.st_mode):  # a pipe would block its reader, a link lead out of the lake
                    continue
                tag = f"{stat.st_ino}-{stat.st_size}-{stat.st_mtime_ns}"
                found.append(Entry(f"{place}/{name}" if place != "." else name, stat.st_size, tag))
        return sorted(found, key=lambda e: e.key)

    def delete(self, key: str) -> None:
        """See ``Storage.delete``."""
        with wrapped(f"deleting {key}"):
            self.path(key).unlink(missing_ok=True)

    def sweep(self, prefix: str, older_than_seconds: float) -> int:
        """See ``Storage.sweep``."""
        latest = time.time() - older_than_seconds
        gone = 0
        with wrapped(f"sweeping {prefix}"):
            for path in self.path(prefix).rglob(f".*{_TEMPORARY}"):
                try:
                    if path.stat().st_mtime <= latest:
                        path.unlink()
                        gone += 1
                except FileNotFoundError:  # its writer was alive after all
                    continue
        return gone


def make_directory(path: Path) -> None:
    """Make a directory and what it lies in; a power cut does not undo it."""
    if path.is_dir():
        return
    make_directory(path.parent)
    try:
        path.mkdir(exist_ok=True)
    except FileNotFoundError as error:  # the parent is there, but of a file system that holds no folders
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make a rename or creation in the directory survive a power cut."""
    try:
        sync_file(path)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def sync_file(path: Path) -> None:
    """Make what another library wrote survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_PLAIN = re.compile(r"[\w./-]+", re.ASCII)
_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: docs/object-store.md."


def open_storage(uri: str) -> Storage:
    """The store for a lake's address.

    Raises:
        LakeError: Not a local path that the tables can have, ``file://`` or ``s3://`` without credentials
            and with a plain prefix.
    """
    scheme = urlsplit(uri).scheme if "://" in uri else ""
    if scheme == "s3":
        host = urlsplit(uri).netloc
        if {"@", ":"} & {*host} or urlsplit(uri).query:  # not shown: it may be a key
            raise LakeError("an s3:// address must hold no key and no query", _CREDENTIALS)
        if not _PLAIN.fullmatch(uri.partition("://")[2]):
            told = "the prefix of a lake is made of letters and digits of ASCII, '.', '_', '-' and '/'"
            raise LakeError(told, "Name another: those who read it take other signs in different ways.")
        return S3Storage(uri)
    if scheme == "file":
        return LocalStorage(local_path(unquote(urlsplit(uri).path)))
    if scheme:
        raise LakeError(f"lakes at {scheme}:// are not supported", "Use a local path or s3://bucket/prefix.")
    return LocalStorage(local_path(uri))
