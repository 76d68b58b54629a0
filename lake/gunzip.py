"""Unpacking of gzip that gives out all that can be unpacked before it says what is wrong.

The standard library's reader keeps back what it has unpacked of a block that turns out to be cut off, to have
another checksum, or to be followed by something else: of a small file that is everything.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import BinaryIO

_GZIP = 31
"""zlib's number for data with gzip's header and checksum."""
_PACKED_BYTES = 1 << 14
"""Packed bytes taken at once."""
_PADDING = b"\0"


class Gunzip:
    """A stream of what is packed in another, one member after the other; zeros may stand behind each."""

    def __init__(self, stream: BinaryIO) -> None:
        """Start at the beginning of a member."""
        self._stream = stream
        self._member = zlib.decompressobj(_GZIP)
        self._packed = self._ready = b""
        self._fault: Exception | None = None

    def readable(self) -> bool:
        """It can be read."""
        return True

    def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end.

        Raises:
            EOFError: The data is cut off.
            zlib.error: It is no gzip, or damaged.
        """
        while not self._ready:
            if self._fault is not None:
                raise self._fault
            if self._member.eof and not self._next_member():
                return b""
            self._ready = self._unpacked(size)
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _next_member(self) -> bool:
        """Go on behind a member that has ended; False where nothing stands there."""
        rest = self._member.unused_data.lstrip(_PADDING)
        while not rest:
            block = self._stream.read(_PACKED_BYTES)
            if not block:
                return False
            rest = block.lstrip(_PADDING)
        self._member, self._packed = zlib.decompressobj(_GZIP), rest
        return True

    def _unpacked(self, size: int) -> bytes:
        packed = self._packed or self._stream.read(_PACKED_BYTES)
        before = self._member.copy()
        try:
            unpacked = self._member.decompress(packed, size)
        except zlib.error as error:
            self._fault = error
            return _before_the_fault(before, packed)
        self._packed = self._member.unconsumed_tail
        if not (packed or unpacked):
            self._fault = EOFError("the data is cut off")
        return unpacked

    def close(self) -> None:
        """Close what it reads from."""
        self._stream.close()


def _before_the_fault(member: zlib._Decompress, packed: bytes) -> bytes:
    """What a block gives byte by byte until the one that is wrong."""
    parts = list[bytes]()
    with suppress(zlib.error):
        parts.extend(member.decompress(packed[place : place + 1]) for place in range(len(packed)))
    return b"".join(parts)
