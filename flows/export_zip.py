"""The zip of an export: written entry by entry, hashed on the way, in place whole or not at all."""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import polars as pl

from lake.faults import wrapped
from lake.lake import Lake
from lake.storage import LocalStorage, sync_directory
from transforms.declarations import Column
from transforms.errors import UsageError

ROWS_A_WRITE = 20_000
_BUFFER_BYTES = 1 << 18


@dataclass(frozen=True)
class Written:
    """One file of the zip; ``rows`` is None where it has none to count."""

    name: str
    sha256: str
    bytes: int
    rows: int | None = None


class Package:
    """A zip that is being written.

    Args:
        path: Where.
        at: Date of its entries.
    """

    def __init__(self, path: Path, at: datetime) -> None:
        # A zip knows the years 1980 to 2107 only.
        self.path, self._at = path, at.replace(year=min(max(at.year, 1980), 2107)).timetuple()[:6]
        self.files: list[Written] = []
        # Only its owner may read it: whoever runs the export hands it on.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(handle, "wb")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)

    def write(self, name: str, chunks: Iterable[bytes], rows: int | None = None) -> Written:
        """Add a file from its bytes, chunk by chunk."""
        digest, size = sha256(), 0
        info = zipfile.ZipInfo(name, self._at)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as entry:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                entry.write(chunk)
        written = Written(name, digest.hexdigest(), size, rows)
        self.files.append(written)
        return written

    def write_rows(self, name: str, columns: Iterable[Column], frames: Iterable[pl.DataFrame]) -> int:
        """Add a JSON array, a row a line. Returns how many rows."""
        names, tally = [column.name for column in columns], [0]
        self.write(name, _array(names, frames, tally))
        last = self.files.pop()
        self.files.append(Written(last.name, last.sha256, last.bytes, tally[0]))
        return tally[0]

    def close(self) -> None:
        """Finish it and put it on the disk."""
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Let go of what is not finished."""
        self._zip.fp = None  # its own end would write a directory into the closed file
        with suppress(OSError):  # the disk may be as full as before
            self._file.close()


def _array(names: list[str], frames: Iterable[pl.DataFrame], tally: list[int]) -> Iterator[bytes]:
    yield b"["
    for frame in frames:
        for portion in frame.select(names).iter_slices(ROWS_A_WRITE):
            lines = io.BytesIO()
            portion.write_ndjson(lines)
            yield (b",\n" if tally[0] else b"\n") + lines.getvalue().rstrip(b"\n").replace(b"\n", b",\n")
            tally[0] += portion.height
    yield b"\n]\n"


def buffered(texts: Iterable[str]) -> Iterator[bytes]:
    """Many small texts as fewer, larger chunks."""
    held, size = list[str](), 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= _BUFFER_BYTES:
            yield "".join(held).encode("utf-8", "replace")
            held, size = [], 0
    yield "".join(held).encode("utf-8", "replace")


def document(record: Mapping[str, Any]) -> bytes:
    """A small JSON file."""
    return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def require_place(lake: Lake, out: Path, *, is_forced: bool) -> None:
    """Refuse a place the export may not be written to.

    Raises:
        UsageError: There is something already, the folder is not there, or it lies inside the lake,
            where the next erasure would have to find it.
    """
    if not out.parent.is_dir():
        raise UsageError(f"the folder of {out.name} does not exist", "Make it, or name another file.")
    if out.is_dir() or (out.exists() and not out.is_file()):
        raise UsageError(f"{out.name} is no file", "Name a file to write, such as export.zip.")
    if isinstance(lake.storage, LocalStorage) and out.resolve().is_relative_to(lake.storage.root.resolve()):
        raise UsageError("the export would lie inside the lake", "Name a file outside of it.")
    if out.exists() and not is_forced:
        raise UsageError(f"{out.name} exists already", "Name another file, or pass --force to replace it.")


@contextmanager
def package(out: Path, at: datetime) -> Iterator[Package]:
    """A package at a temporary name beside ``out``; the block writes it, ``publish`` moves it.

    What a killed export left there is removed first; what this one leaves after a fault, too.
    """
    with wrapped(f"writing {out.name}"):
        for left in out.parent.glob(f".{_literal(out.name)}.*.partial"):
            left.unlink(missing_ok=True)
        temporary = out.parent / f".{out.name}.{secrets.token_hex(6)}.partial"
        made = Package(temporary, at)
        try:
            yield made
            made.close()
        except BaseException:
            made.abandon()
            temporary.unlink(missing_ok=True)
            raise


def _literal(name: str) -> str:
    """A file name as a glob that matches only it."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def digest_of(path: Path) -> str:
    """sha256 of a file, in hex."""
    with wrapped(f"reading {path.name}"), path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def publish(temporary: Path, out: Path, *, is_forced: bool) -> None:
    """Give the finished package its name, durably; a file that came meanwhile is not replaced.

    Raises:
        UsageError: There is one, and the export is not forced.
    """
    with wrapped(f"writing {out.name}"):
        try:
            if is_forced:
                temporary.replace(out)
            else:
                os.link(temporary, out)
                temporary.unlink()
        except FileExistsError as error:
            temporary.unlink()
            raise UsageError(f"{out.name} exists already", "Pass --force to replace it.") from error
        sync_directory(out.parent)
