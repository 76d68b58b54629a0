"""Rows to Parquet files of a Delta table, on disk before the commit that names them.

The table library writes without syncing and leaves half a file when a disk fills; here every file
is whole and durable, or gone, before the log knows of it. The log gets counts only, because it
outlives a purge.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction

from lake.file_names import MODULUS, digest_of, file_name
from lake.lake import Lake
from lake.storage import Storage
from transforms.errors import LakeError, SlowwaveError
from transforms.schemas import COLD, Table

ROWS_PER_FILE = 250_000
ROW_GROUP_ROWS = 131_072
_SAFE_VALUE = re.compile(r"\d[\d-]*", re.ASCII)
"""Readers of partitioned folders guess at anything else: one name means null, some need escapes."""
_STRONG = 15
"""zstd level of what is written once and hardly ever read: a fifth smaller than level 1, at a third of its
speed; 19 saves a third at a tenth of it."""
_WRITERS = 4
"""Files written at once: their syncs overlap, and memory holds this many encoded files."""


@dataclass(frozen=True)
class _Part:
    """Rows of one file: its partition values and its place below the table."""

    values: Mapping[str, str]
    path: str
    rows: pl.DataFrame


def write_parts(
    lake: Lake, table: Table, frame: pl.DataFrame, merged: Collection[str] | None = None
) -> list[AddAction]:
    """Write rows as files of the table. Nothing reads them before they are committed.

    Args:
        lake: Where.
        table: Which.
        frame: Its rows, conforming and sorted.
        merged: Data files that the rows are all of; None where they are new or others.

    Returns:
        One action a file, for the commit.

    Raises:
        StorageError: The disk is full or the store fails; no file of the call is left.
        LakeError: A partition value is neither a number nor a month.
    """
    parts = list(_split(table, frame, _digests(merged or ())))
    written: list[AddAction] = []

    def write(part: _Part) -> AddAction:
        return _write(lake.storage, table, part, is_merge=merged is not None)

    pool = ThreadPoolExecutor(_WRITERS, thread_name_prefix="slowwave-parts")  # starts none before its work
    try:
        written.extend(map(write, parts) if len(parts) == 1 else pool.map(write, parts))
    finally:
        pool.shutdown(cancel_futures=True)
        if len(written) < len(parts):
            remove_parts(lake.storage, table, [part.path for part in parts])
    return written


def remove_parts(storage: Storage, table: Table, paths: list[str]) -> None:
    """Remove files that no commit names. What cannot be removed now, vacuum removes later."""
    for path in paths:
        try:
            storage.delete(_key(table, path))
        except SlowwaveError:
            return


def removal(name: str, *, is_merge: bool = False) -> RemoveAction:
    """What takes a data file out of a table, for the commit."""
    values = dict(part.split("=", 1) for part in name.split("/")[:-1])
    return RemoveAction(name, not is_merge, int(time.time() * 1000), partition_values=values)


def _digests(merged: Collection[str]) -> dict[str, int]:
    """By folder, what the digests of the data files come to that are merged there."""
    found: dict[str, int] = {}
    for name in merged:
        folder = name[: name.rfind("/") + 1]
        found[folder] = (found.get(folder, 0) + digest_of(name)) % MODULUS
    return found


def _split(table: Table, frame: pl.DataFrame, merged: Mapping[str, int]) -> Iterator[_Part]:
    """Slices of the frame, not copies: rows of a partition stand together, since it is sorted."""
    by = list(table.partition_by)
    start = 0
    for length, key in _runs(frame, by):
        rows = frame.slice(start, length)
        start += length
        values = {name: str(value) for name, value in key.items()}
        odd = sorted(name for name, value in values.items() if not _SAFE_VALUE.fullmatch(value))
        if odd:
            raise LakeError(
                f"{table.name}: rows of a {' and a '.join(odd)} that is no number or month",
                "This is a fault in slowwave.",
            )
        folder = "".join(f"{name}={value}/" for name, value in values.items())
        pieces = list(rows.iter_slices(ROWS_PER_FILE))
        digests = [secrets.randbelow(MODULUS) for _ in pieces]
        if folder in merged:
            digests[-1] = (merged[folder] - sum(digests[:-1])) % MODULUS
        for piece, digest in zip(pieces, digests, strict=True):
            yield _Part(values, f"{folder}{file_name(digest)}", piece.drop(by))


def _runs(frame: pl.DataFrame, by: list[str]) -> list[tuple[int, Mapping[str, object]]]:
    """Length and partition of each run of rows of one partition."""
    if not by:
        return [(frame.height, {})]
    runs = frame.select(pl.struct(by).rle().alias("run")).unnest("run")
    return list(runs.iter_rows())


def _write(storage: Storage, table: Table, part: _Part, *, is_merge: bool) -> AddAction:
    data = encoded(table, part.rows)
    storage.write(_key(table, part.path), data)
    return AddAction(
        path=part.path,
        size=len(data),
        partition_values=part.values,
        modification_time=int(time.time() * 1000),
        data_change=not is_merge,
        stats=json.dumps({"numRecords": part.rows.height}),
    )


def encoded(table: Table, rows: pl.DataFrame) -> bytes:
    """Rows of a table, without its partition columns, as the bytes of one data file."""
    schema = _schema(table, tuple(rows.columns))
    sink = pa.BufferOutputStream()
    names = [_leaf(field) for field in schema if not _is_vector(field.type)]
    pq.write_table(
        rows.to_arrow().cast(schema),
        sink,
        compression={**dict.fromkeys(map(_leaf, schema), "none"), **dict.fromkeys(names, "zstd")},
        compression_level=dict.fromkeys(names, _STRONG if table is COLD else 1),
        row_group_size=ROW_GROUP_ROWS,
        write_statistics=names,
        use_dictionary=[f.name for f in schema if not pa.types.is_nested(f.type)],
    )
    return bytes(sink.getvalue())


@cache
def _schema(table: Table, columns: tuple[str, ...]) -> pa.Schema:
    """What a file holds; a night writes hundreds."""
    return pa.schema([field for field in table.arrow() if field.name in columns])


def _is_vector(kind: pa.DataType) -> bool:
    """Whether it is a list of floats: they shrink by a twelfth, and take half as long again to read.

    Of their numbers no statistics are kept: nobody asks for vectors between two others.
    """
    return bool(pa.types.is_list(kind) and pa.types.is_floating(kind.value_type))


def _leaf(field: pa.Field) -> str:
    """A column as Parquet names it."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _key(table: Table, path: str) -> str:
    return f"tables/{table.name}/{path}"
