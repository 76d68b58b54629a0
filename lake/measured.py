"""Sizes of the tables as they lie: bytes by column from the footers, and what fuller files would take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from lake import tables
from lake.faults import wrapped
from lake.lake import Lake
from lake.opened import open_table
from lake.parts import encoded
from lake.readback.stored import everything, opened
from transforms.errors import LakeError
from transforms.planning.curves import PROBES_SCHEMA
from transforms.planning.sizes import FILES_SCHEMA, OBJECTS_SCHEMA, SAMPLED_SCHEMA
from transforms.schemas import Table

_GROUPS = 3
"""Groups of files that are probed: what one of them takes may be chance."""
_SMALLEST_ROWS = 4
"""A file of fewer rows says nothing of its columns; of its overhead the footers do."""


def objects(lake: Lake, prefix: str = "") -> pl.DataFrame:
    """Every object below the lake's root, or below a prefix of it (``sizes.OBJECTS_SCHEMA``)."""
    found = lake.storage.entries(prefix) if prefix else everything(lake.storage)
    return pl.DataFrame([(e.key, e.size_bytes) for e in found], schema=OBJECTS_SCHEMA, orient="row")


def live_files(lake: Lake, table: Table) -> pl.DataFrame:
    """Data files that make up a table now, with their rows and bytes (``sizes.FILES_SCHEMA``), by name."""
    state = open_table(lake, table)
    if state is None:
        return pl.DataFrame(schema=FILES_SCHEMA)
    actions = state.actions
    if actions.is_empty():
        return pl.DataFrame(schema=FILES_SCHEMA)
    rows = pl.col("num_records") if "num_records" in actions.columns else pl.lit(None, dtype=pl.Int64)
    found = actions.select(table=pl.lit(table.name), file="path", rows=rows, bytes="size_bytes")
    unknown = found.filter(pl.col("rows").is_null())["file"].to_list()
    counts = {name: _footer(lake, table, name).num_rows for name in unknown}
    known = pl.col("rows").fill_null(
        pl.col("file").replace_strict(counts, default=None, return_dtype=pl.Int64)
    )
    return found.with_columns(known).cast(FILES_SCHEMA).sort("file")


def column_bytes(lake: Lake, table: Table, names: Sequence[str], most: int) -> pl.DataFrame:
    """Compressed bytes by column of some data files, evenly over all (``sizes.SAMPLED_SCHEMA``).

    Args:
        lake: Where.
        table: Which.
        names: All its files.
        most: Footers that are read at most.

    Raises:
        LakeError: A file is gone or damaged.
    """
    step = max(1, -(-len(names) // most))
    rows = [
        (table.name, name, column, size)
        for name in names[::step]
        for column, size in _sizes(_footer(lake, table, name)).items()
    ]
    return pl.DataFrame(rows, schema=SAMPLED_SCHEMA, orient="row")


def probes(lake: Lake, table: Table, names: Collection[str], most_rows: int) -> pl.DataFrame:
    """What files of the table take when they are fuller: files of several buckets encoded as one.

    Args:
        lake: Where.
        table: Which.
        names: All its files.
        most_rows: Rows of the fullest.

    Returns:
        ``curves.PROBES_SCHEMA``: by rows of the file and by column, its bytes; empty where no group of
        files has rows enough.
    """
    if not table.partition_by:
        return pl.DataFrame(schema=PROBES_SCHEMA)
    found = [
        _probe(table, rows) for group in _groups(names) for rows in _fuller(lake, table, group, most_rows)
    ]
    return pl.concat([pl.DataFrame(schema=PROBES_SCHEMA), *found])


def _groups(names: Collection[str]) -> list[list[str]]:
    """Files of one month and many buckets: as a fuller lake would have them in one folder."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        month = "/".join(part for part in name.split("/")[:-1] if not part.startswith("tenant_bucket="))
        groups.setdefault(month, []).append(name)
    largest = sorted(groups, key=lambda month: (-len(groups[month]), month))
    return [groups[month] for month in largest[:_GROUPS]]


def _fuller(lake: Lake, table: Table, names: Sequence[str], most_rows: int) -> Iterator[pl.DataFrame]:
    """Rows of one file, of two, of four ...; of a single file its halves, too."""
    held: list[pl.DataFrame] = []
    rows, wanted = 0, 1
    for name in names:
        held.append(tables.scan(lake, table, files=[name], as_stored=True).collect().head(most_rows))
        rows += held[-1].height
        if len(held) == wanted or rows >= most_rows:
            wanted *= 2
            yield pl.concat(held).head(most_rows)
        if rows >= most_rows:
            break
    if len(held) == 1:
        for part in (2, 4, 8):
            yield held[0].head(rows // part)


def _probe(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    if rows.height < _SMALLEST_ROWS:
        return pl.DataFrame(schema=PROBES_SCHEMA)
    data = encoded(table, rows.sort(table.sort_by).drop(table.partition_by))
    sizes = _sizes(pq.read_metadata(pa.BufferReader(data)))
    told = [(table.name, rows.height, column, size) for column, size in sizes.items()]
    return pl.DataFrame(told, schema=PROBES_SCHEMA, orient="row")


def _footer(lake: Lake, table: Table, name: str) -> pq.FileMetaData:
    key = f"tables/{table.name}/{name}"
    try:
        with wrapped(f"reading {key}"), opened(lake.storage, key) as file:
            return pq.read_metadata(file)
    except pa.ArrowInvalid as error:
        raise LakeError(
            f"table {table.name}: data file {name} is damaged", "Restore it from a backup of the lake."
        ) from error


def _sizes(footer: pq.FileMetaData) -> dict[str, int]:
    """Compressed bytes by column, nested ones by their first name."""
    found: dict[str, int] = {}
    for group in range(footer.num_row_groups):
        held = footer.row_group(group)
        for place in range(footer.num_columns):
            column = held.column(place)
            name = column.path_in_schema.split(".")[0]
            found[name] = found.get(name, 0) + column.total_compressed_size
    return found
