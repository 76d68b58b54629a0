"""Bytes under one root, local or ``s3://``: atomic, durable writes and conditional creation.

Tables and index own their files through their own libraries; this is for the small things
beside them: the lake's own record, pointers, leases and landed rows.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from transforms.errors import LakeError, SlowwaveError, StorageError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


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


def storage_fault(error: BaseException, where: str) -> SlowwaveError:
    """The error that a caller sees for a library's or the system's write failure."""
    number = getattr(error, "errno", None)
    text = str(error).lower()
    full = ("no space left", "os error 28", "quota exceeded", "disk full", "os error 122")
    denied = ("permission denied", "os error 13", "read-only file system", "os error 30", "accessdenied")
    if number in _FULL or any(mark in text for mark in full):
        return StorageError(
            f"{where}: the disk is full", "Free space and run again; nothing that landed is lost."
        )
    if number in _DENIED or any(mark in text for mark in denied):
        return LakeError(f"{where}: permission denied", "Give this user write permission on the lake.")
    return StorageError(f"{where}: {_first_line(error)}", "Check the disk or object store, then run again.")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


@contextmanager
def wrapped(where: str) -> Iterator[None]:
    """Turn system errors inside the block into slowwave's own."""
    try:
        yield
    except OSError as error:
        raise storage_fault(error, where) from error


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
        try:
            with wrapped(f"reading {key}"):
                return self.path(key).read_bytes()
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
                return None
            raise

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
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"
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
                    stat = path.stat()
                except FileNotFoundError:  # sealed or consumed meanwhile
                    continue
                tag = f"{stat.st_ino}-{stat.st_size}-{stat.st_mtime_ns}"
                found.append(Entry(path.relative_to(self.root).as_posix(), stat.st_size, tag))
        return sorted(found, key=lambda e: e.key)

    def delete(self, key: str) -> None:
        """See ``Storage.delete``."""
        with wrapped(f"deleting {key}"):
            self.path(key).unlink(missing_ok=True)


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

    def delete(self, key: str) -> None:
        """See ``Storage.delete``."""
        with self._wrapped(f"deleting {key}"):
            try:
                self._store.delete(key)
            except FileNotFoundError:
                return

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


def sync_directory(path: Path) -> None:
    """Make a rename or creation in the directory survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_storage(uri: str) -> Storage:
    """The store for a lake's address.

    Raises:
        LakeError: The scheme is not a local path, ``file://`` or ``s3://``.
    """
    scheme = urlsplit(uri).scheme if "://" in uri else ""
    if scheme == "s3":
        return S3Storage(uri)
    if scheme == "file":
        return LocalStorage(Path(unquote(urlsplit(uri).path)))
    if scheme:
        raise LakeError(f"lakes at {scheme}:// are not supported", "Use a local path or s3://bucket/prefix.")
    return LocalStorage(Path(uri).expanduser().absolute())
