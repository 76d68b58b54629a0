"""Files as they lie, before any unpacking: how large they are, and how far they have been read."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from transforms.errors import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES = 1 << 20
"""Read at once: the count of bytes is kept a buffer at a time."""
Moved = Callable[[int], None]
"""Called with the place that reading has come to."""


class UnreadableError(InputError):
    """A file is gone, may not be read, or its disk or store does not give it out."""


class Tape:
    """An opener that knows how far what it opened last has been read.

    Args:
        open_it: Opens the file, and tells the callback how far it is.
        size_bytes: Of the file; None: not known.
        version: What its store calls this content; None: it does not say.
    """

    def __init__(
        self, open_it: Callable[[Moved], BinaryIO], size_bytes: int | None, version: str | None = None
    ) -> None:
        """Open nothing yet."""
        self._open_it, self.size_bytes, self.version = open_it, size_bytes, version
        self.position = 0

    @property
    def tape(self) -> Tape:
        """Itself; openers that unpack lead here too."""
        return self

    def __call__(self) -> BinaryIO:
        """A new stream, from the start."""
        self.position = 0
        return self._open_it(self._moved)

    def _moved(self, position: int) -> None:
        self.position = position


def file_tape(path: Path) -> Tape:
    """The tape of a local file."""

    def open_it(moved: Moved) -> BinaryIO:
        try:
            raw = _Told(path.name, io.FileIO(path), moved)
            return cast(BinaryIO, io.BufferedReader(raw, BUFFER_BYTES))
        except OSError as error:
            raise unreadable(path.name, error) from error

    try:
        size = path.stat().st_size
    except OSError:
        size = None  # told when it is opened
    return Tape(open_it, size)


def unreadable(name: str, error: Exception) -> UnreadableError:
    """What is said of a file that cannot be opened, or read on; of a path its last part alone is shown."""
    why = getattr(error, "strerror", None) or type(error).__name__
    return UnreadableError(f"{name}: {why}", "Check that it is there and may be read.")


class _Told(io.RawIOBase):
    """A raw file that tells where it stands."""

    def __init__(self, name: str, raw: io.FileIO, moved: Moved) -> None:
        super().__init__()
        self._name, self._raw, self._moved, self._at = name, raw, moved, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = self._raw.seek(offset, whence)
        self._moved(self._at)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        try:
            count = self._raw.readinto(buffer) or 0
        except OSError as error:  # a disk that fails, a network share that went away
            raise unreadable(self._name, error) from error
        self._at += count
        self._moved(self._at)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
