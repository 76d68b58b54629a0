"""What the files of a lake hold once they are decoded: batches of rows, and texts without rows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO
from zipfile import BadZipFile

import pyarrow as pa
import pyarrow.parquet as pq

from lake.readback.columns import has_strings
from lake.readback.token_set import TokenSet

BATCH_ROWS = 16_384
_PARQUET, _LANCE = b"PAR1", b"LANC"
_TOKENS = "_token_fst_bytes"
_MANIFEST = b"\0\0"
"""Format of a Lance manifest, in the place where other files of its kind say 2."""
_TAIL = 8
FAULTS = (
    OSError,
    ValueError,
    RuntimeError,
    KeyError,
    IndexError,
    EOFError,
    NotImplementedError,
    pa.ArrowException,
    zlib.error,
    BadZipFile,
)
"""What decoders raise over bytes that are not what their name says; Lance's panics come beside them."""


@dataclass(frozen=True)
class Rows:
    """Rows of a batch, and columns that the path gives all of them."""

    batch: pa.RecordBatch
    path_columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """Bytes of a file without rows: footers, metadata, names."""

    where: str
    data: bytes


@dataclass(frozen=True)
class Tokens:
    """A token dictionary of a full-text index."""

    tokens: TokenSet


Decoded = Rows | Text | Tokens


def kind_of(key: str, head: bytes, tail: bytes) -> str:
    """Kind of a file, by what its bytes say, else by its name; ``other`` is searched raw only.

    Args:
        key: Name below the root.
        head: Its first eight bytes.
        tail: Its last eight.
    """
    name = PurePosixPath(key).name.lower()
    if head.startswith(_PARQUET) or tail.endswith(_PARQUET) or name.endswith(".parquet"):
        return "parquet"
    if name.endswith((".lance", ".idx")) or (tail.endswith(_LANCE) and tail[:2] != _MANIFEST):
        return "lance"
    for kind, (magic, ends) in _PACKED.items():
        if head.startswith(magic) or name.endswith(ends):
            return kind
    if "_delta_log/" in key and name.endswith(".json"):
        return "jsonl"
    for kind, ends in _TEXTS.items():
        if name.endswith(ends):
            return kind
    return "other"


_PACKED: Mapping[str, tuple[bytes, tuple[str, ...]]] = {
    "zip": (b"PK\x03\x04", (".zip",)),
    "gzip": (b"\x1f\x8b", (".gz", ".tgz")),
    "zstd": (b"\x28\xb5\x2f\xfd", (".zst", ".zstd")),
    "bzip2": (b"BZh", (".bz2",)),
    "xz": (b"\xfd7zXZ\x00", (".xz",)),
}
_TEXTS: Mapping[str, tuple[str, ...]] = {"jsonl": (".jsonl", ".ndjson"), "json": (".json", ".crc")}
ARCHIVES = frozenset(_PACKED)
PACKED_KINDS = frozenset({"parquet", "lance", *_PACKED})
"""Kinds whose bytes are compressed, so that short patterns stand in them by chance."""


def path_columns(key: str) -> dict[str, str]:
    """Partition values that the folders of a data file name."""
    parts = (part.split("=", 1) for part in key.split("/")[:-1])
    return {part[0]: part[1] for part in parts if len(part) == 2}


def parquet(file: BinaryIO, key: str) -> Iterator[Decoded]:
    """Every row of every row group, then schema, metadata and footer."""
    parquet_file = pq.ParquetFile(file)
    schema = parquet_file.schema_arrow
    repeated = _repeated(parquet_file)
    if repeated:
        parquet_file = pq.ParquetFile(file, metadata=parquet_file.metadata, read_dictionary=repeated)
    wanted = [f.name for f in schema if has_strings(f.type) or not f.type.num_fields]
    yield Text("schema text", _schema_text(schema, parquet_file.metadata.metadata))
    yield Text("footer bytes", _footer(file))
    if len(set(schema.names)) == len(schema.names):
        batches = parquet_file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False)
    else:
        batches = parquet_file.iter_batches(BATCH_ROWS, use_threads=False)
    given = path_columns(key)
    for batch in batches:
        yield Rows(batch, given)


def _repeated(file: pq.ParquetFile) -> list[str]:
    """Columns whose values are few, so that it is quicker to look at each value once than at every row."""
    about, schema = file.metadata, file.schema_arrow
    if not about.num_row_groups or len(set(schema.names)) < len(schema.names):
        return []
    chunks = [about.row_group(0).column(number) for number in range(about.num_columns)]
    few = {c.path_in_schema for c in chunks if c.total_uncompressed_size < _FEW_BYTES * c.num_values}
    return [f.name for f in schema if f.name in few and f.type in _DICTIONARIES]


_FEW_BYTES = 3
"""Bytes a value, below which a column holds few values many times."""
_DICTIONARIES = (pa.string(), pa.large_string(), pa.binary())


def _footer(file: BinaryIO) -> bytes:
    file.seek(-_TAIL, 2)
    size = int.from_bytes(file.read(4), "little")
    file.seek(-_TAIL - size, 2)
    return file.read(size)


def _schema_text(schema: pa.Schema, more: Mapping[bytes, bytes] | None) -> bytes:
    parts = [schema.to_string(truncate_metadata=False).encode()]
    for key, value in {**(schema.metadata or {}), **(more or {})}.items():
        parts += [key, value]
    return b"\n".join(parts)


def lance(path: str, only: list[str] | None = None) -> Iterator[Decoded]:
    """Every row that is physically in a Lance file, deleted ones too; index files are of the same format.

    Args:
        path: Local path or address.
        only: Columns to read where the file has them; None reads all that can hold text.
    """
    from lance.file import LanceFileReader

    reader = LanceFileReader(path)
    about = reader.metadata()
    yield Text("schema text", _schema_text(about.schema, None))
    for number in range(len(about.global_buffers)):
        yield Text("global buffer", reader.read_global_buffer(number))
    columns = [f.name for f in about.schema if has_strings(f.type) or not f.type.num_fields]
    columns = [name for name in columns if only is None or name in only]
    if not columns or reader.num_rows() == 0 or not any(has_strings(f.type) for f in about.schema):
        return
    reader = LanceFileReader(path, columns=columns)
    for batch in reader.read_all(batch_size=BATCH_ROWS).to_batches():
        if _TOKENS in batch.schema.names:
            for data in batch[_TOKENS].to_pylist():
                yield Tokens(TokenSet(data))
        yield Rows(batch)


def unpacked(kind: str, file: BinaryIO) -> Iterator[tuple[str, BinaryIO]]:
    """Members of a compressed file or archive, by name; the one of a compressed file has no name."""
    if kind == "zip":
        yield from _zip_members(file)
        return
    opener: Callable[[Any], Any] = _OPENERS[kind]
    with opener(file) as stream:
        yield "", stream


def _zip_members(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    from zipfile import ZipFile

    with ZipFile(file) as archive:
        if archive.comment:
            import io

            yield "comment", io.BytesIO(archive.comment)
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as stream:
                    yield member.filename, stream


def _gzip(file: BinaryIO) -> Any:
    import gzip

    return gzip.GzipFile(fileobj=file)


def _bzip2(file: BinaryIO) -> Any:
    import bz2

    return bz2.BZ2File(file)


def _xz(file: BinaryIO) -> Any:
    import lzma

    return lzma.LZMAFile(file)


def _zstd(file: BinaryIO) -> Any:
    import io

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream:
        return io.BytesIO(stream.read())


_OPENERS: Mapping[str, Callable[[BinaryIO], Any]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstd": _zstd,
}
