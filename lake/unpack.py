"""Packed files: ``.gz``, ``.zst`` and members of ``.zip``, with a guard against bombs."""

from __future__ import annotations

import io
import re
import weakref
import zipfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, cast

from lake.gunzip import Gunzip
from lake.tapes import BUFFER_BYTES, Moved, Tape
from transforms.errors import InputError
from transforms.policy import IngestPolicy

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ZIP_MAGIC = b"PK\x03\x04"
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""Of a frame that is passed over: ``pzstd`` begins with one."""

_SUFFIXES = {".gz", ".zst"}

Opener = Callable[[], BinaryIO]
_READ_BYTES = 1 << 16
"""Unpacked at once: of what stands before a break, no more than this can be lost with it."""


class DamagedError(InputError):
    """Packed data is damaged or cut off; what stood before the break has been given out."""


def inner_name(name: str) -> str:
    """The name without the suffix of its packing."""
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in _SUFFIXES else name


def opener_of(name: str, opener: Opener, policy: IngestPolicy) -> Opener:
    """An opener of the unpacked bytes; the same one if the file is not packed.

    Args:
        name: For messages.
        opener: Opens the file as it is.
        policy: Limits of unpacking.
    """
    with opener() as stream:
        magic = stream.read(4)
    if magic.startswith(GZIP_MAGIC):
        unpacker: Callable[[BinaryIO], BinaryIO] = _gunzip
    elif magic == ZSTD_MAGIC or _SKIPPABLE.match(magic):
        unpacker = _unzstd
    else:
        return opener

    return _Unpacked(name, opener, unpacker, policy)


class _Unpacked:
    """Opens a packed file as the bytes inside."""

    def __init__(
        self, name: str, opener: Opener, unpacker: Callable[[BinaryIO], BinaryIO], policy: IngestPolicy
    ) -> None:
        self._name, self._opener, self._unpacker, self._policy = name, opener, unpacker, policy

    @property
    def tape(self) -> Tape | None:
        """The file as it lies."""
        return tape_of(self._opener)

    def __call__(self) -> BinaryIO:
        packed = _Counted(self._opener())
        inner = self._unpacker(cast(BinaryIO, packed))
        return _buffered(_Guarded(self._name, inner, lambda: packed.count, self._policy, packed), self)


def tape_of(opener: Opener) -> Tape | None:
    """The file as it lies that an opener leads to."""
    return cast("Tape | None", getattr(opener, "tape", None))


def zip_members(name: str, opener: Opener, policy: IngestPolicy) -> list[tuple[str, Opener]]:
    """The files inside a zip by name; a name is only a name, nothing is written anywhere.

    Raises:
        InputError: The zip is damaged.
    """
    archive = _Archive(name, opener)

    def member(info: zipfile.ZipInfo) -> Opener:
        label = f"{name}/{info.filename}"

        def open_member(moved: Moved) -> BinaryIO:
            packed, size = archive.open(label, info), info.compress_size
            return _buffered(_Guarded(label, packed, lambda: size, policy, None, moved), tape)

        tape = Tape(open_member, info.file_size)
        return opener_of(label, tape, policy)

    ordered = sorted(archive.files(), key=lambda info: info.filename)
    return [(f"{name}/{info.filename}", member(info)) for info in ordered]


class _Archive:
    """A zip that stays open while its members are read: its list of them is read once, and not for each."""

    def __init__(self, name: str, opener: Opener) -> None:
        stream = opener()
        weakref.finalize(self, stream.close)
        try:
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            stream.close()
            raise DamagedError(f"{name}: the zip is damaged", "Download or pack it again.") from error

    def files(self) -> list[zipfile.ZipInfo]:
        return [info for info in self._zip.infolist() if not info.is_dir()]

    def open(self, label: str, info: zipfile.ZipInfo) -> BinaryIO:
        try:
            return cast(BinaryIO, self._zip.open(info))
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
            raise DamagedError(f"{label}: cannot be unpacked", "Pack it without a password.") from error


def _gunzip(stream: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, Gunzip(stream))


def _unzstd(stream: BinaryIO) -> BinaryIO:
    import pyarrow as pa

    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd"))


def _buffered(raw: io.RawIOBase, opener: Opener) -> BinaryIO:
    return cast(BinaryIO, _Buffered(raw, opener))


class _Buffered(io.BufferedReader):
    """A buffered reader that gives out what stands before a break, and fails with the read after it."""

    def __init__(self, raw: io.RawIOBase, opener: Opener) -> None:
        super().__init__(raw, buffer_size=BUFFER_BYTES)
        self._opener = opener

    def again(self) -> BinaryIO:
        """See ``transforms.readers.accounts.Repeatable``."""
        return self._opener()

    def read(self, size: int | None = -1, /) -> bytes:
        """As ``BufferedReader.read``; shorter where the data breaks off."""
        if size is None or size < 0:
            return super().read()
        parts: list[bytes] = []
        while size:
            try:
                block = self.read1(size)
            except DamagedError:
                if parts:
                    break
                raise
            if not block:
                break
            parts.append(block)
            size -= len(block)
        return b"".join(parts)


class _Counted:
    """A stream that counts what was read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.count = 0

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self.count += len(block)
        return block

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._stream.close()


class _Guarded(io.RawIOBase):
    """Unpacked bytes; stops with an InputError when they grow out of all proportion or are damaged."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        packed_bytes: Callable[[], int],
        policy: IngestPolicy,
        outer: object,
        moved: Moved | None = None,
    ) -> None:
        super().__init__()
        self._name = name
        self._stream = stream
        self._moved = moved
        self._packed_bytes = packed_bytes
        self._policy = policy
        self._outer = outer
        self._count = 0
        self._is_broken = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        if self._is_broken:
            raise self._damage()
        try:
            block = self._stream.read(min(len(view), _READ_BYTES))
        except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
            self._is_broken = True
            raise self._damage() from error
        self._count += len(block)
        allowed = self._policy.max_expansion_ratio * self._packed_bytes()
        if self._count > max(allowed, self._policy.expansion_free_bytes):
            raise InputError(
                f"{self._name}: unpacks to more than {self._policy.max_expansion_ratio} times its size",
                "If it is no bomb, unpack it yourself or raise ingest.max_expansion_ratio.",
            )
        if self._moved is not None:
            self._moved(self._count)
        view[: len(block)] = block
        return len(block)

    def _damage(self) -> DamagedError:
        return DamagedError(
            f"{self._name}: the packed data is damaged or cut off", "Download or pack it again."
        )

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            closer = getattr(self._outer, "close", None)
            if closer is not None:
                closer()
        super().close()
