"""Byte streams -> UTF-8 blocks and numbered lines, whatever the encoding."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from transforms.policy import IngestPolicy

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Point(NamedTuple):
    """Where the reading of a source can go on: nothing before it waits for anything after it.

    Args:
        offset: Bytes of the unpacked source before it.
        number: Lines or items before it.
        place: What it is in: ``lines``, or of a JSON document ``list`` (the outermost), ``wrapped`` (a list
            under a key) or ``top`` (between two documents). ``rows`` of Parquet have a number and no offset.
        state: What a reader has to know of what came before, as JSON: ids, places and digests, and no text
            that anybody said. Empty: nothing.
    """

    offset: int
    number: int
    place: str = "lines"
    state: str = ""


PLACES = ("lines", "list", "wrapped", "top", "rows")
START = Point(0, 0)
"""Where every source begins."""


class Lines(NamedTuple):
    """Lines that are not blank, without their line feed, and their numbers in the file from 1."""

    numbers: list[int]
    texts: list[bytes]


def encoding_of(head: bytes) -> tuple[str, int]:
    """Encoding and length of its mark; without a mark UTF-8, or UTF-16 where every second byte is 0."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name, len(mark)
    if head[:1] in (b"{", b"[") and head[1:2] == b"\x00":
        return "utf-16-le", 0
    if head[:1] == b"\x00" and head[1:2] in (b"{", b"["):
        return "utf-16-be", 0
    return "utf-8", 0


def as_utf8(head: bytes) -> bytes:
    """The first bytes of a text source as UTF-8 without a mark; a cut last character is dropped."""
    encoding, skip = encoding_of(head)
    if encoding == "utf-8":
        return head[skip:]
    return codecs.getincrementaldecoder(encoding)("replace").decode(head[skip:]).encode()


class Blocks(Iterator[bytes]):
    """A stream as UTF-8 in blocks; invalid UTF-8 passes through.

    Args:
        stream: Read on from where it stands.
        size: Bytes of a block, about.
        offset: Where in the source the stream stands; not 0: its encoding is known to be UTF-8.

    Attributes:
        offset: Where in the source the next block begins; None: it is in another encoding, and bytes given
            out are not bytes read.
        bytes_read: Of what was given out.
    """

    def __init__(self, stream: BinaryIO, size: int, offset: int = 0) -> None:
        """Tell the encoding by the first bytes."""
        self._stream, self._size = stream, size
        self._decoder: codecs.IncrementalDecoder | None = None
        self._first, self._is_over = b"", False
        self.offset: int | None = offset
        self.bytes_read = 0
        if offset:
            return
        while len(self._first) < 4 and (more := stream.read(max(size, 4) - len(self._first))):
            self._first += more  # a mark has up to 4
        encoding, skip = encoding_of(self._first)
        self._first, self.offset = self._first[skip:], skip
        if encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
            self.offset = None

    def __next__(self) -> bytes:
        """The next block; it may be empty."""
        block, self._first = self._first or self._stream.read(self._size), b""
        if self._decoder is not None:
            if not block and self._is_over:
                raise StopIteration
            self._is_over = not block
            block = self._decoder.decode(block, final=not block).encode()
            self.bytes_read += len(block)
            return block
        if not block:
            raise StopIteration
        if self.offset is not None:
            self.offset += len(block)
        self.bytes_read += len(block)
        return block


def source_blocks(stream: BinaryIO, policy: IngestPolicy, offset: int = 0) -> Blocks:
    """Blocks of an eighth of ``batch_bytes``: parsed rows take several times their text."""
    return Blocks(stream, max(1, policy.batch_bytes // 8), offset)


def line_batches(
    source: Iterator[bytes], policy: IngestPolicy, number: int = 0, offset: int = 0
) -> Iterator[tuple[Lines, Point]]:
    """Lines of UTF-8 blocks, in portions of at most ``batch_rows``, one block or one line.

    Args:
        source: Blocks.
        policy: For the size of portions.
        number: Lines before the first.
        offset: Bytes before it.

    Returns:
        Lines, and the point after the last of them.
    """
    for texts in split_lines(source):
        for start in range(0, len(texts), policy.batch_rows):
            part = texts[start : start + policy.batch_rows]
            full = [(number + i, text) for i, text in enumerate(part, 1) if text and not text.isspace()]
            number += len(part)
            offset += sum(map(len, part)) + len(part)
            if full:
                yield Lines([n for n, _ in full], [text for _, text in full]), Point(offset, number)


def split_lines(source: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines of UTF-8 blocks without their line feed, a list for each block that ends some; blank ones too."""
    carry: list[bytes] = []
    for block in source:
        head, newline, rest = block.rpartition(b"\n")
        if newline:
            yield b"".join([*carry, head]).split(b"\n")
            carry = [rest]
        else:
            carry.append(block)
    if last := b"".join(carry):
        yield [last]
