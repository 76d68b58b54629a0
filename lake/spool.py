"""Standard input, kept so that it can be read again."""

from __future__ import annotations

import io
import tempfile
import weakref
from typing import TYPE_CHECKING, BinaryIO, cast

from lake.faults import storage_fault
from lake.tapes import Moved, Tape
from transforms.errors import StorageError
from transforms.policy import IngestPolicy

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Spool:
    """A stream kept, beyond one batch on disk; gone when unused."""

    def __init__(self, stream: BinaryIO, policy: IngestPolicy) -> None:
        """Read it to its end.

        Raises:
            StorageError: The disk of temporary files does not hold it.
        """
        self._file = tempfile.SpooledTemporaryFile(max_size=policy.batch_bytes)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        try:
            while block := stream.read(policy.sniff_bytes):
                self._file.write(block)
        except OSError as error:
            fault = storage_fault(error, "keeping standard input")
            remedy = "Free space for temporary files, or set TMPDIR to a larger disk, and pipe it in again."
            raise StorageError(fault.message, remedy) from error

    def tape(self) -> Tape:
        """What was read, as a file."""
        return Tape(self._opened, self._file.seek(0, io.SEEK_END))

    def _opened(self, moved: Moved) -> BinaryIO:
        self._file.seek(0)
        return cast(BinaryIO, _Kept(cast(BinaryIO, self._file), self, moved))


class _Kept(io.RawIOBase):
    """A view of a stream that stays open when the view is closed."""

    def __init__(self, stream: BinaryIO, owner: object, moved: Moved) -> None:
        """View a stream, keeping its owner alive; told how far it is read."""
        super().__init__()
        self._stream = stream
        self._moved = moved
        self._owner = owner  # which would close the stream if nobody held it

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always: it is a view of a spooled file."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the stream under the view."""
        self._stream.seek(offset, whence)
        self._moved(self._stream.tell())
        return self._stream.tell()

    def tell(self) -> int:
        """Position of the stream under the view."""
        return self._stream.tell()

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into a buffer."""
        view = memoryview(buffer)
        block = self._stream.read(len(view))
        self._moved(self._stream.tell())
        view[: len(block)] = block
        return len(block)
