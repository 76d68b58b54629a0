"""Opens what is to be ingested: files, folders, globs, zips, packed files, standard input, object stores."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from lake import remote, unpack
from lake.companions import COMPANION_NAMES, Companions, is_beside_export
from lake.delta_folders import without_superseded
from lake.spool import Spool
from lake.tapes import BUFFER_BYTES, Tape, UnreadableError, file_tape
from transforms.errors import InputError
from transforms.policy import IngestPolicy
from transforms.readers.batch import Reader
from transforms.readers.chats import for_owner
from transforms.readers.parquet import sniff_head
from transforms.readers.registry import READERS, detect, reader_named
from transforms.readers.sniff import PARQUET_MAGIC

STDIN = "-"
_PLAIN = "slowwave-jsonl"
"""The reader that a file is given to of which nothing can be read."""

Opener = Callable[[], BinaryIO]
OnSkip = Callable[[str, str], None]
"""Called with the name of a file that no reader takes, and why."""


class NothingReadableError(InputError):
    """No file of a folder, zip or prefix is of a known format; each was told to ``on_skip``."""


@dataclass(frozen=True)
class Source:
    """One thing to read.

    Args:
        file_name: Its name: the file's, below a folder or a zip the path from there.
        reader: Who reads it.
        opener: Opens it, unpacked.
        companions: A digest of what its reader was told by files beside it; empty: of nothing.
    """

    file_name: str
    reader: Reader
    opener: Opener
    companions: str = ""

    def open(self) -> BinaryIO:
        """A new binary stream, to be closed by the caller."""
        return self.opener()

    def open_at(self, offset: int) -> BinaryIO:
        """The same from a byte on; of a packed source what stands before it is unpacked and passed over."""
        stream = self.opener()
        if stream.seekable():
            stream.seek(offset)
            return stream
        while offset and (block := stream.read(min(offset, BUFFER_BYTES))):
            offset -= len(block)
        return stream

    @property
    def tape(self) -> Tape | None:
        """The file as it lies; None: it is not one."""
        return unpack.tape_of(self.opener)

    def owned_by(self, owner: str | None) -> Source:
        """The source as it reads where it is to be the owner's memory: see ``transforms.readers.chats``."""
        return replace(self, reader=for_owner(self.reader, owner))


def open_sources(
    source: str,
    format: str = "auto",
    *,
    policy: IngestPolicy | None = None,
    stdin: BinaryIO | None = None,
    on_skip: OnSkip | None = None,
    store_options: Mapping[str, str] | None = None,
    only: Container[str] | None = None,
) -> Iterator[Source]:
    """Find what a source names and who reads it.

    Args:
        source: A path, folder, glob, ``-`` for standard input, or the URL of an object or prefix
            (``s3://bucket/prefix``). ``.gz``, ``.zst`` and ``.zip`` are told by their content.
        format: A reader's name, or ``auto``: told from the content of each file.
        policy: Limits of unpacking and sniffing.
        stdin: What ``-`` reads.
        on_skip: Told of each file of a folder, glob, zip or prefix that no reader takes.
        store_options: Credentials and endpoint of the object store, as obstore names them.
        only: Names of the files of a folder that are wanted, as paths from there; None: all.

    Returns:
        Sources in the order of their names; at least one.

    Raises:
        InputError: Nothing of that name, nothing readable in it, an unknown format, or a source
            of no known format. Later also from the streams: damaged packing, or a packed bomb; a
            source whose packing breaks before anything can be told of it is given out all the same,
            and says so when it is opened.
    """
    policy = policy or IngestPolicy()
    reader = None if format == "auto" else reader_named(format)
    finder = _Finder(policy, reader, on_skip or (lambda name, reason: None))
    if source == STDIN:
        found = finder.lone("standard input", Spool(stdin or sys.stdin.buffer, policy).tape())
    elif remote.is_url(source):
        found = _remote(source, finder, store_options or {})
    else:
        found = _local(source, finder, only)
    first = next(found, None)
    if first is None:
        raise NothingReadableError(f"{source}: nothing readable in it", _formats_remedy())
    return chain([first], found)


def _formats_remedy() -> str:
    known = ", ".join(sorted(reader.name for reader in READERS))
    return f"Name its format (format, --format); known are {known}."


def _why_skipped(name: str) -> str:
    is_companion = name.rpartition("/")[2] in COMPANION_NAMES
    return "read along with the messages beside it" if is_companion else "of no known format"


def _why(error: UnreadableError) -> str:
    return error.message.partition(": ")[2]


def _local(source: str, finder: _Finder, only: Container[str] | None) -> Iterator[Source]:
    path = Path(source)
    if path.is_file():
        yield from finder.lone(path.name, file_tape(path))
        return
    if path.is_dir():
        files = without_superseded(sorted(files_below(path, lambda error: _passed(finder, path, error))))
        base = path
    elif has_magic(source):
        anchor = Path(path.anchor)
        pattern = source[len(path.anchor) :]
        files = [p for p in sorted(anchor.glob(pattern)) if p.is_file()]
        base = _fixed_part(path)
        if not files:
            raise InputError(f"{source}: no file matches", "Check the pattern; quote it in the shell.")
    elif path.exists():
        raise InputError(f"{source}: neither a file nor a folder", "Pipe it in and read from '-'.")
    else:
        raise InputError(f"{source}: no such file or folder", "Check the path.")
    named: dict[str, Opener] = {file.relative_to(base).as_posix(): file_tape(file) for file in files}
    for name, opener in named.items():
        if only is None or name in only:
            yield from finder.one_of_many(name, opener, named)


def files_below(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    """Files at any depth, in no order; links to folders are not followed.

    Args:
        folder: Where to look.
        on_error: Told of each folder that cannot be looked into, also one that went meanwhile.
    """
    for place, _, names in os.walk(folder, onerror=on_error):
        yield from (path for name in names if (path := Path(place, name)).is_file())


def _passed(finder: _Finder, base: Path, error: OSError) -> None:
    """Tell of a folder that cannot be looked into."""
    where = Path(error.filename)
    finder.on_skip(where.relative_to(base).as_posix(), f"cannot be looked into: {error.strerror}")


def _fixed_part(pattern: Path) -> Path:
    """The folders of a glob before its first wildcard."""
    fixed = Path(pattern.anchor)
    for part in pattern.relative_to(pattern.anchor).parts:
        if has_magic(part):
            break
        fixed /= part
    return fixed


def _remote(url: str, finder: _Finder, options: Mapping[str, str]) -> Iterator[Source]:
    objects = dict(remote.objects_below(url, options))
    for name, opener in objects.items():
        if len(objects) == 1:
            yield from finder.lone(name, opener)
        else:
            yield from finder.one_of_many(name, opener, objects)


class _Finder:
    """Unpacks a file and finds its reader."""

    def __init__(self, policy: IngestPolicy, reader: Reader | None, on_skip: OnSkip) -> None:
        self._policy = policy
        self._reader = reader
        self.on_skip = on_skip
        self._companions = Companions(policy)

    def lone(self, name: str, opener: Opener) -> Iterator[Source]:
        """Sources of the one file that was asked for: it must be readable."""
        members = self._members(name, opener)
        if members is not None:
            yield from self._many(members, dict(members))
            return
        unpacked = unpack.opener_of(name, opener, self._policy)
        try:
            reader = self._reader or self._told(name, unpacked)
        except unpack.DamagedError as error:
            yield self._broken(name, error)
            return
        if reader is None:
            raise InputError(f"{name}: of no known format", _formats_remedy())
        yield Source(name, reader, unpacked)

    def one_of_many(self, name: str, opener: Opener, found: Mapping[str, Opener]) -> Iterator[Source]:
        """Sources of a file that was found among others: passed over if nobody reads it."""
        try:
            members = self._members(name, opener)
            files = [(name, unpack.opener_of(name, opener, self._policy))] if members is None else members
        except UnreadableError as error:  # gone since it was found, or not for us
            self.on_skip(name, f"cannot be read: {_why(error)}")
            return
        except InputError as error:
            yield self._broken(name, error)
            return
        yield from self._many(files, found if members is None else dict(members))

    def _many(self, files: list[tuple[str, Opener]], found: Mapping[str, Opener]) -> Iterator[Source]:
        for name, opener in files:
            try:
                told = self._told(name, opener)
            except UnreadableError as error:
                self.on_skip(name, f"cannot be read: {_why(error)}")
                continue
            except InputError as error:  # damaged, or a bomb
                yield self._broken(name, error)
                continue
            reader = told if self._reader is None else self._reader
            if told is None:
                if not is_beside_export(name, found):
                    self.on_skip(name, _why_skipped(name))
            elif told is not reader and self._reader is not None:
                self.on_skip(name, f"looks like {told.name}, not {self._reader.name}")
            elif reader is not None:
                reader, companions = self._companions.told(reader, name, found)
                yield Source(name, reader, opener, companions)

    def _broken(self, name: str, error: InputError) -> Source:
        """A source of which nothing can be told or read, so that its reading says why."""

        def opener() -> BinaryIO:
            raise error

        return Source(name, self._reader or reader_named(_PLAIN), opener)

    def _members(self, name: str, opener: Opener) -> list[tuple[str, Opener]] | None:
        with opener() as stream:
            is_zip = stream.read(len(unpack.ZIP_MAGIC)) == unpack.ZIP_MAGIC
        return unpack.zip_members(name, opener, self._policy) if is_zip else None

    def _told(self, name: str, opener: Opener) -> Reader | None:
        """Who reads a file.

        Raises:
            DamagedError: It breaks off so early that this cannot be told.
        """
        with opener() as stream:
            head = stream.read(self._policy.sniff_bytes)
            if head.startswith(PARQUET_MAGIC):
                seekable = stream if stream.seekable() else io.BytesIO(head + stream.read())
                seekable.seek(0)
                head = sniff_head(seekable)
            reader = detect(head, unpack.inner_name(name))
            if reader is None:
                stream.read(1)
            return reader
