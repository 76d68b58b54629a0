"""Data files of a Delta table by name: which there are, whether they are whole, and their rows.

Local files are read from here, not through Polars' own Delta reader: that one opens
percent-encoded paths as they stand, and panics on a file that was cut short.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl

from lake.lake import Lake
from transforms.errors import LakeError
from transforms.schemas import Table

_PATH = "__path"
_BUCKET = "tenant_bucket="


def bucket_of(name: str) -> int:
    """Tenant bucket that a data file of a table lies in."""
    folder = next(part for part in name.split("/") if part.startswith(_BUCKET))
    return int(folder.removeprefix(_BUCKET))


def in_partitions(
    names: Sequence[str], buckets: Collection[int] | None, months: Collection[str] | None
) -> list[str]:
    """The data files that lie in the partitions; None takes all."""
    if buckets is not None:
        wanted = {f"{_BUCKET}{bucket}" for bucket in buckets}
        names = [name for name in names if not wanted.isdisjoint(name.split("/")[:-1])]
    if months is not None:
        wanted = {f"month={month}" for month in months}
        names = [name for name in names if not wanted.isdisjoint(name.split("/")[:-1])]
    return list(names)


def require_whole(lake: Lake, table: Table, names: Sequence[str], sizes: Mapping[str, int]) -> None:
    """Refuse to read local data files that are missing or shorter or longer than was committed.

    Raises:
        LakeError: Names the first such file.
    """
    if not lake.is_local:
        return
    root = Path(lake.table_uri(table))
    for name in names:
        fault = _fault(_size(root / name), sizes.get(name))
        if fault:
            raise LakeError(
                f"table {table.name}: data file {name} {fault}",
                "Restore it from a backup of the lake; doctor shows what else is wrong.",
            )


def faults(lake: Lake, table: Table, sizes: Mapping[str, int]) -> list[str]:
    """Data files of a table that are missing or of another size than was committed, each with what is wrong.

    Args:
        lake: Where; on an object store, too.
        table: Which.
        sizes: Bytes of each file, as the log has them.
    """
    if not sizes:
        return []
    folder = f"tables/{table.name}/"
    held = {entry.key.removeprefix(folder): entry.size_bytes for entry in lake.storage.entries(folder)}
    told = ((name, _fault(held.get(name), size)) for name, size in sorted(sizes.items()))
    return [f"table {table.name}: data file {name} {fault}" for name, fault in told if fault]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None


def _fault(found: int | None, written: int | None) -> str:
    if found is None:
        return "is missing"
    is_whole = written is None or found == written
    return "" if is_whole else f"is damaged: {found} bytes, {written} were written"


def scan_files(lake: Lake, table: Table, names: Sequence[str]) -> pl.LazyFrame:
    """Rows of data files, whatever their lake's path is made of."""
    if not names:
        return table.empty().lazy()
    root = lake.table_uri(table)
    paths = [f"{root}/{name}" for name in names]
    hive = {name: table.polars[name] for name in table.partition_by}
    # Files written before a column was declared do not have it: its rows are null.
    inside = {name: kind for name, kind in table.polars.items() if name not in hive}
    if lake.is_local and hive and "=" in root:
        return _scan_below_assignment(paths, hive, inside)
    return pl.scan_parquet(
        paths,
        glob=not lake.is_local,
        hive_partitioning=bool(hive),
        hive_schema=hive or None,
        schema=inside,
        missing_columns="insert",
        extra_columns="ignore",
    )


def _scan_below_assignment(
    paths: list[str], hive: Mapping[str, pl.DataType], inside: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Partition values read from the last folders only: Polars takes any ``a=b`` of a path for one."""
    frame = pl.scan_parquet(
        paths,
        glob=False,
        hive_partitioning=False,
        include_file_paths=_PATH,
        schema=dict(inside),
        missing_columns="insert",
        extra_columns="ignore",
    )
    folders = pl.col(_PATH).str.split("/")
    depth = len(hive)
    values = [
        folders.list.get(place - depth - 1).str.split("=").list.get(1).cast(kind).alias(name)
        for place, (name, kind) in enumerate(hive.items())
    ]
    return frame.with_columns(values).drop(_PATH)
