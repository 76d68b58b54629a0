"""How far the reading of a file is: in bytes of it as it lies, packed or not, so that its end can be told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from flows.job import Progress
from lake.tapes import Tape
from transforms.readers.batch import Batch

TASK = "ingest"
RECEIVED = "receive"
"""The task of taking in standard input, whose size only its end tells."""


def told(progress: Progress, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, counted in rows: of a source whose size is not known."""
    with progress.task(TASK, None) as advance:
        for batch in batches:
            yield batch
            advance(batch.rows_in)


def told_in_bytes(
    progress: Progress, batches: Iterator[Batch], tape: Tape, span: tuple[int, int]
) -> Iterator[Batch]:
    """The batches, counted in bytes.

    Args:
        progress: Where it is told.
        batches: Of a source that is open.
        tape: The file.
        span: Where in the file its reading began, and the bytes of all of it.
    """
    begin, size_bytes = span
    seen = begin
    with progress.task(TASK, max(0, size_bytes - begin), "bytes") as advance:
        for batch in batches:
            yield batch
            # Parquet is read here and there, and an export of several people twice.
            now = min(tape.position, size_bytes)
            if now > seen:
                advance(now - seen)
                seen = now
        advance(max(0, size_bytes - seen))


@contextmanager
def received(progress: Progress, stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream to be read to its end, and counted in bytes as it is read."""
    with progress.task(RECEIVED, None, "bytes") as advance:
        yield cast(BinaryIO, _Counted(stream, advance))


class _Counted:
    def __init__(self, stream: BinaryIO, advance: Callable[[int], None]) -> None:
        self._stream, self._advance = stream, advance

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self._advance(len(block))
        return block
