"""Everything that lies below a lake's root, and each of it as a file to read piece by piece."""

from __future__ import annotations

import io
import os
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from lake.faults import wrapped
from lake.storage import Entry, LocalStorage, S3Storage, Storage

NO_FILE = "no file"
"""Tag of what is neither file nor folder: a link, whose target is not followed, a pipe, a device."""
_RANGE_BYTES = 8 << 20


def everything(storage: Storage) -> list[Entry]:
    """All there is below the root by key: hidden, temporary, orphaned and unknown files, too.

    Raises:
        LakeError: A folder may not be listed.
    """
    return _local(storage.root) if isinstance(storage, LocalStorage) else storage.entries("")


def _local(root: Path) -> list[Entry]:
    def refuse(error: OSError) -> None:
        raise error

    found = []
    with wrapped(f"listing {root}"):
        for directory, folders, names in os.walk(root, onerror=refuse):
            links = [name for name in folders if (Path(directory) / name).is_symlink()]
            for name in [*names, *links]:
                path = Path(directory) / name
                try:
                    stat = path.lstat()
                except FileNotFoundError:  # a temporary name whose writer has finished
                    continue
                is_file = S_ISREG(stat.st_mode)
                tag = f"{stat.st_ino}-{stat.st_size}-{stat.st_mtime_ns}" if is_file else NO_FILE
                key = path.relative_to(root).as_posix()
                found.append(Entry(key, stat.st_size if is_file else 0, tag))
    return sorted(found, key=lambda e: e.key)


def opened(storage: Storage, key: str) -> BinaryIO:
    """The object as a file; where it is gone, FileNotFoundError is raised here or at reading.

    Raises:
        OSError: It may not be read.
    """
    if isinstance(storage, LocalStorage):
        return storage.path(key).open("rb")
    if isinstance(storage, S3Storage):
        return io.BufferedReader(_Ranges(storage, key), _RANGE_BYTES)
    return io.BytesIO(storage.read(key) or b"")


class _Ranges(io.RawIOBase):
    """An object of a store as a file that can be sought in."""

    def __init__(self, storage: S3Storage, key: str) -> None:
        super().__init__()
        self._storage = storage
        self._key, self._at = key, 0
        self._size = storage.size(key)

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As files do."""
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def tell(self) -> int:
        """As files do."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """One range read."""
        length = min(len(buffer), self._size - self._at)
        if length <= 0:
            return 0
        buffer[:length] = self._storage.read_range(self._key, self._at, length)
        self._at += length
        return length
