"""One table of the index written anew without some rows: only the files that held one are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lake.erasure.index_files import share, size_of
from lake.faults import storage_fault
from lake.index import MAIN, TableEntry
from lake.index_batches import to_batch
from lake.index_build import index_main, index_own
from lake.index_fragments import fragments_of
from lake.lake import Lake

_BATCH_ROWS = 8192


@dataclass(frozen=True)
class Removal:
    """A table without what it lost.

    Attributes:
        entry: The table in its new generation; None where no row is left of a scope's own table.
        rows_removed: Rows it lost.
        rows_added: Rows it gained.
        files_shared: Data files that held none of them, linked or copied.
        bytes_rewritten: Bytes of all other files of the new table.
    """

    entry: TableEntry | None
    rows_removed: int
    rows_added: int
    files_shared: int = 0
    bytes_rewritten: int = 0


def held_ids(lake: Lake, generation: str, entry: TableEntry, ids: pa.Array) -> dict[int, int]:
    """How many rows of these ids each fragment of a table holds, those without any left out.

    Raises:
        StorageError: The table cannot be read.
    """
    import lance

    uri = f"{lake.index_uri(generation)}/{entry.name}.lance"
    found = {}
    try:
        for fragment in lance.dataset(uri).get_fragments():
            names = fragment.to_table(columns=["memory_id"])["memory_id"]
            count = pc.sum(pc.is_in(names, ids)).as_py()
            if count or fragment.metadata.deletion_file is not None:
                found[fragment.fragment_id] = count or 0
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"reading the index at {uri}") from error
    return found


def without(
    lake: Lake,
    source: str,
    target: str,
    entry: TableEntry,
    ids: pa.Array,
    held: dict[int, int],
    added: pl.DataFrame,
    dimensions: int,
) -> Removal:
    """Write a table of one generation into another without rows, and build all its indexes anew.

    Nothing of the old table's history comes along: its log, indexes and deletion files stay behind.

    Args:
        lake: Whose.
        source: Generation that is read.
        target: Generation that gets the table.
        entry: The table.
        ids: ``memory_id`` of rows that go.
        held: From ``held_ids``.
        added: ``schemas.MEMORIES`` rows that come.
        dimensions: Length of the vectors.

    Raises:
        StorageError: The store fails; the new generation is not live and can be removed.
    """
    removed = sum(held.values())
    rows = entry.rows - removed + added.height
    if not rows and entry.name != MAIN:
        return Removal(None, removed, 0)
    uri = f"{lake.index_uri(target)}/{entry.name}.lance"
    try:
        shared = _write(lake, source, target, entry, ids, held, added, dimensions)
        table = _opened(uri)
        nprobes = None
        if entry.name == MAIN:
            index_main(table, rows)
        else:
            nprobes = index_own(table, rows)
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"building the index at {uri}") from error
    _, size = size_of(lake, f"index/{target}/{entry.name}.lance")
    count = len(table.get_fragments())
    now = TableEntry(entry.name, rows, entry.tenant, entry.scope, nprobes, fragments=count)
    return Removal(now, removed, added.height, shared[0], size - shared[1])


def _opened(uri: str) -> Any:
    import lance

    return lance.dataset(uri)


def _write(
    lake: Lake,
    source: str,
    target: str,
    entry: TableEntry,
    ids: pa.Array,
    held: dict[int, int],
    added: pl.DataFrame,
    dimensions: int,
) -> tuple[int, int]:
    """Write the rows. Returns files and bytes that were shared."""
    import lance

    old = _opened(f"{lake.index_uri(source)}/{entry.name}.lance")
    uri = f"{lake.index_uri(target)}/{entry.name}.lance"
    fragments = old.get_fragments()
    whole = [fragment.metadata for fragment in fragments if fragment.fragment_id not in held]
    names = {f"data/{file.path}" for metadata in whole for file in metadata.files}
    prefix = f"index/{source}/{entry.name}.lance"
    shared = share(lake, prefix, f"index/{target}/{entry.name}.lance", names) if names else (0, 0)
    schema = old.schema  # of an older layout where an older version published it
    touched = [fragment for fragment in fragments if fragment.fragment_id in held]
    left = _remaining(touched, ids, added, dimensions, schema)
    kept = [*whole, *fragments_of(left, uri, schema, f"building the index at {uri}")]
    lance.LanceDataset.commit(uri, lance.LanceOperation.Overwrite(schema, kept))
    return shared


def _remaining(
    fragments: list[Any], ids: pa.Array, added: pl.DataFrame, dimensions: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for fragment in fragments:
        for batch in fragment.to_batches(batch_size=_BATCH_ROWS):
            yield batch.filter(pc.invert(pc.is_in(batch["memory_id"], ids)))
    if added.height:
        yield to_batch(added, dimensions).select(schema.names)
