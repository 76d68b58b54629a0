"""Files from one store to another, piece by piece, whole or not at all, with their hash on the way."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from typing import BinaryIO

from lake.faults import wrapped
from lake.readback.stored import opened
from lake.storage import LocalStorage, S3Storage, Storage, make_directory, sync_directory
from transforms.errors import LakeError, StorageError

_PIECE_BYTES = 8 << 20


class _DamagedError(Exception):
    """The bytes are not those that were promised."""


def digest(storage: Storage, key: str) -> tuple[int, str]:
    """Bytes of an object and their SHA-256.

    Raises:
        LakeError: It is gone.
        StorageError: It cannot be read.
    """
    sum_, size = sha256(), 0
    with wrapped(f"reading {key}"), closing(_opened(storage, key)) as file:
        for piece in _pieces(file):
            sum_.update(piece)
            size += len(piece)
    return size, sum_.hexdigest()


def copy(
    source: Storage, source_key: str, target: Storage, target_key: str, wanted: str | None = None
) -> tuple[int, str]:
    """Copy an object. Nothing stands under the new key until all of it does.

    Args:
        source: Whence.
        source_key: What.
        target: Whither.
        target_key: Its name there.
        wanted: SHA-256 that it must have; None takes what comes.

    Returns:
        Its bytes, and their SHA-256.

    Raises:
        LakeError: It is gone, or has another hash; nothing is left of it then.
        StorageError: A store failed.
    """
    sum_, size = sha256(), 0

    def pieces() -> Iterator[bytes]:
        nonlocal size
        with closing(_opened(source, source_key)) as file:
            for piece in _pieces(file):
                sum_.update(piece)
                size += len(piece)
                yield piece
        if wanted not in (None, sum_.hexdigest()):
            raise _DamagedError

    try:
        with wrapped(f"copying {source_key}"):
            _put(target, target_key, pieces)
    except _DamagedError as error:
        raise damaged(source_key) from error
    return size, sum_.hexdigest()


def damaged(key: str) -> LakeError:
    """What is said of a file whose bytes are not those that were copied."""
    return LakeError(
        f"{key} of the backup is damaged", "Restore another copy (--copy), or back the lake up anew."
    )


def _opened(storage: Storage, key: str) -> BinaryIO:
    try:
        return opened(storage, key)
    except FileNotFoundError as error:
        raise LakeError(
            f"{storage.uri}: {key} is missing", "Run again; if it stays, take another copy."
        ) from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _put(target: Storage, key: str, pieces: Callable[[], Iterator[bytes]]) -> None:
    if isinstance(target, LocalStorage):
        _put_file(target, key, pieces)
    elif isinstance(target, S3Storage):
        target.write_pieces(key, pieces())
    else:
        raise StorageError(f"{target.uri} takes no copies", "Name a folder or s3:// address.")


def _put_file(target: LocalStorage, key: str, pieces: Callable[[], Iterator[bytes]]) -> None:
    path = target.path(key)
    make_directory(path.parent)
    temporary = path.parent / f".{path.name[:100]}.{secrets.token_hex(6)}.tmp"  # as ``sweep`` knows them
    try:
        with temporary.open("xb") as file:
            for piece in pieces():
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
