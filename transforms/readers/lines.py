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


def blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The stream as UTF-8 in blocks of about ``size`` bytes; invalid UTF-8 passes through."""
    first = b""
    while len(first) < 4 and (more := stream.read(max(size, 4) - len(first))):  # a mark has up to 4
        first += more
    encoding, skip = encoding_of(first)
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    block = first[skip:] or stream.read(size)
    while block:
        yield decoder.decode(block).encode() if decoder else block
        block = stream.read(size)
    if decoder and (tail := decoder.decode(b"", final=True)):
        yield tail.encode()


def source_blocks(stream: BinaryIO, policy: IngestPolicy) -> Iterator[bytes]:
    """``blocks`` of an eighth of ``batch_bytes``: parsed rows take several times their text."""
    return blocks(stream, max(1, policy.batch_bytes // 8))


def line_batches(source: Iterator[bytes], policy: IngestPolicy) -> Iterator[Lines]:
    """Lines of UTF-8 blocks, in portions of at most ``batch_rows``, one block or one line."""
    number = 1
    for texts in _split(source):
        for start in range(0, len(texts), policy.batch_rows):
            part = texts[start : start + policy.batch_rows]
            full = [(number + i, text) for i, text in enumerate(part) if text and not text.isspace()]
            number += len(part)
            if full:
                yield Lines([n for n, _ in full], [text for _, text in full])


def _split(source: Iterator[bytes]) -> Iterator[list[bytes]]:
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
