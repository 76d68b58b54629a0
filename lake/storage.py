"""Bytes under one root, local or ``s3://``: atomic, durable writes and conditional creation.

Tables and index own their files through their own libraries; this is for the small things
beside them: the lake's own record, pointers, leases and landed rows.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from lake.faults import storage_fault, wrapped
from lake.local_paths import local_path
from transforms.errors import LakeError

_TEMPORARY = ".tmp"
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""What file systems without directory sync say; there is nothing more to be done on them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored object: key below the root, size, and a tag that changes with its content."""

    key: str
    size_bytes: int
    tag: str


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
        for directory, _, names in os.walk(base):
            for name in names:
                if name.startswith("."):
                    continue
                path = Path(directory) / name
                try:
                    stat = path.lstat()
                except FileNotFoundError:  # sealed or consumed meanwhile
                    continue
                if not S_ISREG(stat.st_mode):  # a pipe would block its reader, a link lead out of the lake
                    continue
                tag = f"{stat.st_ino}-{stat.st_size}-{stat.st_mtime_ns}"
                found.append(Entry(path.relative_to(self.root).as_posix(), stat.st_size, tag))
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


class S3Storage:
    """A bucket and prefix, through obstore. Credentials come from the environment (AWS_*)."""

    def __init__(self, uri: str) -> None:
        from obstore.store import S3Store

        self.uri = uri.rstrip("/")
        parts = urlsplit(self.uri)
        self._store = S3Store(
            parts.netloc, prefix=parts.path.strip("/") or None, client_options=_client_options()
        )

    def read(self, key: str) -> bytes | None:
        """See ``Storage.read``."""
        with self._wrapped(f"reading {key}"):
            try:
                return bytes(self._store.get(key).bytes())
            except FileNotFoundError:
                return None

    def write(self, key: str, data: bytes) -> None:
        """See ``Storage.write``."""
        with self._wrapped(f"writing {key}"):
            self._store.put(key, data)

    def create(self, key: str, data: bytes) -> bool:
        """See ``Storage.create``."""
        from obstore.exceptions import AlreadyExistsError

        with self._wrapped(f"creating {key}"):
            try:
                self._store.put(key, data, mode="create")
            except AlreadyExistsError:
                return False
            return True

    def read_tagged(self, key: str) -> tuple[bytes, str] | None:
        """The object's bytes and its tag, or None where there is none."""
        with self._wrapped(f"reading {key}"):
            try:
                result = self._store.get(key)
            except FileNotFoundError:
                return None
            return bytes(result.bytes()), str(result.meta["e_tag"])

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Put only where the tag is still the one read; False where it is not."""
        from obstore.exceptions import PreconditionError

        with self._wrapped(f"replacing {key}"):
            try:
                self._store.put(key, data, mode={"e_tag": tag})
            except (PreconditionError, FileNotFoundError):
                return False
            return True

    def entries(self, prefix: str) -> list[Entry]:
        """See ``Storage.entries``."""
        with self._wrapped(f"listing {prefix}"):
            rows: list[Any] = [meta for page in self._store.list(prefix) for meta in page]
        found = [Entry(m["path"], m["size"], str(m["e_tag"] or m["last_modified"])) for m in rows]
        return sorted(found, key=lambda e: e.key)

    def names(self) -> list[str]:
        """First parts of all keys below the root."""
        with self._wrapped("listing"):
            found: Any = self._store.list_with_delimiter()
        return [*found["common_prefixes"], *(m["path"] for m in found["objects"])]

    def delete(self, key: str) -> None:
        """See ``Storage.delete``."""
        with self._wrapped(f"deleting {key}"), suppress(FileNotFoundError):
            self._store.delete(key)

    def sweep(self, prefix: str, older_than_seconds: float) -> int:
        """See ``Storage.sweep``: an object is whole or is not."""
        del prefix, older_than_seconds
        return 0

    @contextmanager
    def _wrapped(self, where: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise storage_fault(error, f"{self.uri}: {where}") from error


def _client_options() -> dict[str, Any]:
    """Plain HTTP only where the environment asks for it, as the table libraries do."""
    allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in {"1", "true", "yes"}
    return {"allow_http": allowed, "timeout": "30s"}


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


def open_storage(uri: str) -> Storage:
    """The store for a lake's address.

    Raises:
        LakeError: Not a local path that the tables can have, ``file://`` or ``s3://``.
    """
    scheme = urlsplit(uri).scheme if "://" in uri else ""
    if scheme == "s3":
        return S3Storage(uri)
    if scheme == "file":
        return LocalStorage(local_path(unquote(urlsplit(uri).path)))
    if scheme:
        raise LakeError(f"lakes at {scheme}:// are not supported", "Use a local path or s3://bucket/prefix.")
    return LocalStorage(local_path(uri))
