"""Unpacking of gzip: the same bytes as the standard library, and all that stands before a fault."""

from __future__ import annotations

import gzip
import io
import random
import zlib

import pytest

from lake.gunzip import Gunzip

TEXT = b'{"content": "a harbour office", "number": 12}\n'
CONTENTS = {
    "empty": b"",
    "line": TEXT,
    "lines": TEXT * 9_000,
    "noise": random.Random(4).randbytes(300_000),
    "zeros": bytes(3_000_000),
}


def unpacked(packed: bytes, size: int = 1 << 16) -> tuple[bytes, str]:
    """What comes out, and the kind of the error at its end."""
    stream, parts = Gunzip(io.BytesIO(packed)), []
    try:
        while block := stream.read(size):
            assert len(block) <= size
            parts.append(block)
    except (EOFError, zlib.error) as error:
        with pytest.raises(type(error)):  # and so it stays
            stream.read(size)
        return b"".join(parts), type(error).__name__
    return b"".join(parts), ""


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("size", [97, 1 << 16])
def test_whole_files(name: str, size: int) -> None:
    data = CONTENTS[name]
    packed = gzip.compress(data)
    assert unpacked(packed, size) == (data, "")
    assert unpacked(packed + bytes(20_000) + packed, size) == (data * 2, "")


@pytest.mark.parametrize("name", CONTENTS)
def test_all_that_stands_before_a_fault(name: str) -> None:
    data = CONTENTS[name]
    packed = gzip.compress(data)
    assert unpacked(packed + b"something else") == (data, "error")
    assert unpacked(packed[:-3]) == (data, "EOFError")
    assert unpacked(packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]) == (data, "error")
    assert unpacked(packed + packed[:-8]) == (data * 2, "EOFError")


def test_a_file_cut_in_the_middle_loses_little_of_what_was_before() -> None:
    packed = gzip.compress(CONTENTS["noise"])
    found, fault = unpacked(packed[: len(packed) // 2])
    assert fault == "EOFError"
    assert CONTENTS["noise"].startswith(found)
    assert len(found) > len(packed) // 2 - 40_000


def test_what_is_no_gzip() -> None:
    assert unpacked(b"plain text") == (b"", "error")
    assert unpacked(b"") == (b"", "EOFError")
    assert unpacked(gzip.compress(TEXT)[:5]) == (b"", "EOFError")
