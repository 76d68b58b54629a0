"""Builds a generation of the index from an iterator of memories, in bounded memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from lake.faults import storage_fault
from lake.index import MAIN, TableEntry, scope_hash, tenant_hash
from lake.index_batches import index_schema, to_batch
from lake.index_fragments import LANCE_FAULTS, ROWS_PER_FILE, fragments_of
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage

IVF_FROM_ROWS = 20_000
"""Below this an exact search of a table of its own is as quick as an index."""


@dataclass(frozen=True)
class Part:
    """What a builder wrote of a generation, as plain data: names of files and counts, no rows.

    Attributes:
        fragments: Lance's description of the fragments of the main table, in their order.
        tables: Finished tables of large scopes.
        rows: Rows written, to whichever table.
        bare_rows: How many of these have no vector.
        next_expiry_at: The first instant at which one of them expires.
    """

    fragments: list[dict[str, Any]] = field(default_factory=list)
    tables: list[TableEntry] = field(default_factory=list)
    rows: int = 0
    bare_rows: int = 0
    next_expiry_at: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def read(cls, record: dict[str, Any]) -> Part:
        """From ``as_dict``."""
        return cls(**{**record, "tables": [TableEntry(**entry) for entry in record["tables"]]})


class Builder:
    """Writes tables of one generation: all of it, or a part that others write the rest of.

    Args:
        lake: Whose index.
        generation: Its name.
        dimensions: Length of the vectors.
        large_scopes: Hashes of the (tenant, user) scopes that get a table of their own.
    """

    def __init__(self, lake: Lake, generation: str, dimensions: int, large_scopes: Iterable[str]) -> None:
        self._lake = lake
        self._generation = generation
        self._dimensions = dimensions
        self._large = set(large_scopes)
        self._entries: dict[str, TableEntry] = {}
        self.rows = 0
        self.bare_rows = 0
        self.next_expiry_at: datetime | None = None

    def write(self, frames: Iterable[pl.DataFrame]) -> list[TableEntry]:
        """Write all rows, then build every index.

        Args:
            frames: ``schemas.MEMORIES`` rows, each whole scopes, in order of tenant, user and time.

        Raises:
            StorageError: The disk is full; the generation is not live and can be removed.
        """
        return finish(self._lake, self._generation, self._dimensions, [self.write_part(frames)])

    def write_part(self, frames: Iterable[pl.DataFrame]) -> Part:
        """Write rows; those of large scopes with their indexes, the others for ``finish`` to take up.

        Args:
            frames: As for ``write``; no scope may be in two parts.

        Raises:
            StorageError: The disk is full; the generation is not live and can be removed.
        """
        doing = f"building the index at {self._uri(MAIN)}"
        made = fragments_of(self._main(frames), self._uri(MAIN), index_schema(self._dimensions), doing)
        try:
            tables = [self._finish_own(entry) for _, entry in sorted(self._entries.items())]
        except LANCE_FAULTS as error:
            raise storage_fault(error, doing) from error
        soonest = self.next_expiry_at.isoformat() if self.next_expiry_at else None
        return Part([one.to_json() for one in made], tables, self.rows, self.bare_rows, soonest)

    def _uri(self, name: str) -> str:
        return f"{self._lake.index_uri(self._generation)}/{name}.lance"

    def _main(self, frames: Iterable[pl.DataFrame]) -> Iterator[pa.RecordBatch]:
        """Batches of the main table; rows of large scopes go to their own tables on the way."""
        for frame in frames:
            self._note(frame)
            rest = self._split_off(frame)
            if rest.height:
                yield to_batch(rest, self._dimensions)

    def _note(self, frame: pl.DataFrame) -> None:
        self.rows += frame.height
        self.bare_rows += int((frame["vector"].list.len() != self._dimensions).sum())
        soonest = frame["expires_at"].min()
        if isinstance(soonest, datetime) and (self.next_expiry_at is None or soonest < self.next_expiry_at):
            self.next_expiry_at = soonest

    def _split_off(self, frame: pl.DataFrame) -> pl.DataFrame:
        parts = by_scope_table(frame, self._large)
        for name, own in parts.items():
            if name != MAIN:
                self._append_own(name, own)
        return parts.get(MAIN, frame.clear())

    def _append_own(self, name: str, frame: pl.DataFrame) -> None:
        import lance

        held = self._entries.get(name)
        if held is None:  # what a killed part left of it
            remove_files(self._lake, f"index/{self._generation}/{name}.lance")
        rows_of_it = pa.Table.from_batches([to_batch(frame, self._dimensions)])
        mode = "append" if held else "create"
        try:
            lance.write_dataset(rows_of_it, self._uri(name), mode=mode, max_rows_per_file=ROWS_PER_FILE)
        except LANCE_FAULTS as error:
            raise storage_fault(error, f"building the index at {self._uri(name)}") from error
        rows = frame.height + (held.rows if held else 0)
        tenant = tenant_hash(frame["tenant_id"][0])
        self._entries[name] = TableEntry(name, rows, tenant, name.removeprefix("s-"))

    def _finish_own(self, entry: TableEntry) -> TableEntry:
        import lance

        table = lance.dataset(self._uri(entry.name))
        table.optimize.compact_files(target_rows_per_fragment=ROWS_PER_FILE)
        probes = index_own(table, entry.rows)
        drop_history(self._uri(entry.name))
        return replace(entry, nprobes=probes)


def by_scope_table(rows: pl.DataFrame, large: Collection[str]) -> dict[str, pl.DataFrame]:
    """Rows by the table their scope is searched in, in their order.

    Args:
        rows: ``schemas.MEMORIES``.
        large: Hashes of the scopes that have a table of their own.
    """
    if rows.is_empty():
        return {}
    if not large:
        return {MAIN: rows}
    scopes = rows.select("tenant_id", "user_id").unique(maintain_order=True)
    hashes = [scope_hash(tenant, user) for tenant, user in scopes.iter_rows()]
    names = [f"s-{scope}" if scope in large else MAIN for scope in hashes]
    if set(names) == {MAIN}:
        return {MAIN: rows}
    placed = rows.join(
        scopes.with_columns(_table=pl.Series(names, dtype=pl.String)),
        on=["tenant_id", "user_id"],
        nulls_equal=True,
        maintain_order="left",
    )
    parts = placed.partition_by("_table", as_dict=True, include_key=False, maintain_order=True)
    return {str(key[0]): part for key, part in parts.items()}


def finish(lake: Lake, generation: str, dimensions: int, parts: Sequence[Part]) -> list[TableEntry]:
    """Make the main table of what parts wrote, in their order, and build its indexes.

    Args:
        lake: Whose index.
        generation: Its name.
        dimensions: Length of the vectors.
        parts: All of them.

    Returns:
        Every table of the generation.

    Raises:
        StorageError: The disk is full or the store fails; the generation is not live and can be removed.
    """
    import lance

    uri = f"{lake.index_uri(generation)}/{MAIN}.lance"
    records = [record for part in parts for record in part.fragments]
    try:
        fragments = [lance.FragmentMetadata.from_json(json.dumps(record)) for record in records]
        main = lance.LanceDataset.commit(
            uri, lance.LanceOperation.Overwrite(index_schema(dimensions), fragments)
        )
        _remove_orphans(lake, f"index/{generation}/{MAIN}.lance/data", fragments)
        main = lance.dataset(uri)
        rows = main.count_rows()
        index_main(main, rows)
        drop_history(uri)
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"building the index at {uri}") from error
    own = sorted((entry for part in parts for entry in part.tables), key=lambda entry: entry.name)
    return [TableEntry(MAIN, rows, fragments=len(fragments)), *own]


def _remove_orphans(lake: Lake, prefix: str, fragments: Sequence[Any]) -> None:
    """Remove data files that a killed part left: rows that nobody would know of."""
    known = {file.path for fragment in fragments for file in fragment.files}
    for entry in lake.storage.entries(f"{prefix}/"):
        if entry.key.removeprefix(f"{prefix}/") not in known:
            lake.storage.delete(entry.key)


def index_main(table: Any, rows: int) -> None:
    """Build the indexes of the main table."""
    if rows:
        _index_scalars(table, "BTREE")


def index_own(table: Any, rows: int) -> int | None:
    """Build the indexes of a table of one scope. Returns the probes of its vector index, where it has one."""
    nprobes = None
    if rows >= IVF_FROM_ROWS:
        partitions = max(16, int(rows**0.5 / 2.5))
        table.create_index("vector", "IVF_FLAT", metric="dot", num_partitions=partitions)
        nprobes = partitions  # exact until the gate has measured how few will do
        # Read as columns, these three cost each search of 100,000 rows 5 ms.
        for column, kind in (("sensitivity", "BITMAP"), ("expires_at", "BTREE"), ("event_at", "BTREE")):
            table.create_scalar_index(column, kind)
    _index_scalars(table, "BITMAP")
    return nprobes


def _index_scalars(table: Any, kind: str) -> None:
    """Indexes on the scope columns and on the words. ``icu/split`` finds words of every script."""
    for column in ("tenant_id", "user_id", "agent_id", "session_id"):
        table.create_scalar_index(column, "BTREE" if column == "session_id" else kind)
    table.create_scalar_index(
        "search_text",
        "INVERTED",
        with_position=False,
        base_tokenizer="icu/split",
        stem=False,
        remove_stop_words=False,
        lower_case=True,
        ascii_folding=True,
    )


def drop_history(uri: str) -> None:
    """Remove versions of a table that nobody reads, and files that only these need."""
    import lance

    lance.dataset(uri).cleanup_old_versions(retain_versions=1, delete_unverified=True)


def remove_generation(lake: Lake, generation: str) -> None:
    """Remove a generation's files. A reader that still has it open reads the pointer again."""
    remove_files(lake, f"index/{generation}")


def remove_files(lake: Lake, prefix: str) -> None:
    """Remove all files below a prefix of the index."""
    if isinstance(lake.storage, LocalStorage):
        shutil.rmtree(lake.storage.path(prefix), ignore_errors=True)
    elif isinstance(lake.storage, S3Storage):
        for entry in lake.storage.entries(f"{prefix}/"):
            lake.storage.delete(entry.key)


def generations(lake: Lake) -> list[str]:
    """Names of all generations that have files, finished or not, oldest first."""
    if isinstance(lake.storage, LocalStorage):
        root = Path(lake.index_uri("x")).parent
        return sorted(p.name for p in root.glob("gen-*")) if root.is_dir() else []
    keys = (entry.key for entry in lake.storage.entries("index"))
    return sorted({key.split("/")[1] for key in keys if key.startswith("index/gen-")})
