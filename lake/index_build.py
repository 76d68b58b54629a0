"""Builds a generation of the index from an iterator of memories, in bounded memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.faults import storage_fault
from lake.index import (
    MAIN,
    PAYLOAD,
    PAYLOAD_COLUMNS,
    PLAIN_COLUMNS,
    RECORD_COLUMN,
    TERMS_COLUMN,
    TableEntry,
    scope_hash,
    tenant_hash,
)
from lake.lake import Lake
from lake.storage import LocalStorage, S3Storage
from transforms.declarations import fact_columns
from transforms.schemas import INSTANT, MEMORIES
from transforms.scoring_record import RECORD, records
from transforms.search_terms import hashed_terms

ROWS_PER_FILE = 1 << 20
NO_FACT = "".join(f',"{column.name}":null' for column in fact_columns()) + "}"
"""How the payload of a memory that is no fact would end; left out, it saves 100 bytes a row."""
IVF_FROM_ROWS = 20_000
"""Below this an exact search of a table of its own is as quick as an index."""


def index_schema(dimensions: int) -> pa.Schema:
    """Arrow schema of an index table: the columns searches read, and the whole memory as JSON.

    Vectors are float16 of fixed length: half the bytes make exact search two to three times as
    fast, and cost recall nothing measurable.
    """
    plain = [f for f in MEMORIES.arrow() if f.name in PLAIN_COLUMNS and f.name != "vector"]
    vector = pa.field("vector", pa.list_(pa.float16(), dimensions))
    return pa.schema(
        [
            *plain,
            vector,
            pa.field(TERMS_COLUMN, pa.list_(pa.int32()), nullable=False),
            pa.field(RECORD_COLUMN, pa.binary(RECORD.itemsize), nullable=False),
            pa.field(PAYLOAD, pa.string(), nullable=False),
        ]
    )


def to_batch(frame: pl.DataFrame, dimensions: int) -> pa.RecordBatch:
    """Memories as one record batch; a row without a vector gets zeros, whose cosine is 0 to all."""
    rows = MEMORIES.conform(frame)
    matrix = vector_matrix(rows["vector"], dimensions).astype(np.float16)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), dimensions)
    whole = rows.with_columns(pl.col(INSTANT).to_physical()).select(
        pl.struct(PAYLOAD_COLUMNS).struct.json_encode().str.replace(NO_FACT, "}", literal=True).alias(PAYLOAD)
    )
    plain = rows.drop("vector").hstack(whole).to_arrow()
    made = {"vector": vectors, **_scored_by(rows)}
    schema = index_schema(dimensions)
    columns = [made[f.name] if f.name in made else plain[f.name].cast(f.type) for f in schema]
    return pa.RecordBatch.from_arrays([_one(column) for column in columns], schema=schema)


def _scored_by(rows: pl.DataFrame) -> dict[str, pa.Array]:
    """What a search scores whole scopes by."""
    terms, starts = hashed_terms(rows["search_text"])
    record = pa.py_buffer(records(rows).tobytes())
    return {
        TERMS_COLUMN: pa.ListArray.from_arrays(
            pa.array(starts.astype(np.int32)), pa.array(terms.view(np.int32))
        ),
        RECORD_COLUMN: pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(RECORD.itemsize), rows.height, [None, record]
        ),
    }


def _one(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def vector_matrix(vectors: pl.Series, dimensions: int) -> NDArray[np.float32]:
    """List series to float32 (rows, dimensions); empty lists become zeros."""
    matrix = np.zeros((len(vectors), dimensions), np.float32)
    is_held = (vectors.list.len() == dimensions).to_numpy()
    matrix[is_held] = vectors.explode(empty_as_null=False).to_numpy().reshape(-1, dimensions)
    return matrix


class Builder:
    """Writes the tables of one generation.

    Args:
        lake: Whose index.
        generation: Its name.
        dimensions: Length of the vectors.
        large_scopes: Hashes of the (tenant, user) scopes that get a table of their own.
    """

    def __init__(self, lake: Lake, generation: str, dimensions: int, large_scopes: Iterable[str]) -> None:
        self._root = lake.index_uri(generation)
        self._dimensions = dimensions
        self._large = set(large_scopes)
        self._entries: dict[str, TableEntry] = {}
        self.rows = 0
        self.next_expiry_at: datetime | None = None

    def write(self, frames: Iterable[pl.DataFrame]) -> list[TableEntry]:
        """Write all rows, then build every index.

        Args:
            frames: ``schemas.MEMORIES`` rows, each whole scopes, in order of tenant, user and time.

        Raises:
            StorageError: The disk is full; the generation is not live and can be removed.
        """
        import lance

        try:
            reader = pa.RecordBatchReader.from_batches(index_schema(self._dimensions), self._main(frames))
            main = lance.write_dataset(reader, self._uri(MAIN), max_rows_per_file=ROWS_PER_FILE)
            entries = [TableEntry(MAIN, main.count_rows())]
            index_main(main, entries[0].rows)
            entries += [self._finish_own(entry) for _, entry in sorted(self._entries.items())]
        except (OSError, ValueError, RuntimeError) as error:
            raise storage_fault(error, f"building the index at {self._root}") from error
        return entries

    def _uri(self, name: str) -> str:
        return f"{self._root}/{name}.lance"

    def _main(self, frames: Iterable[pl.DataFrame]) -> Iterator[pa.RecordBatch]:
        """Batches of the main table; rows of large scopes go to their own tables on the way."""
        for frame in frames:
            self._note(frame)
            rest = self._split_off(frame)
            if rest.height:
                yield to_batch(rest, self._dimensions)

    def _note(self, frame: pl.DataFrame) -> None:
        self.rows += frame.height
        soonest = frame["expires_at"].min()
        if isinstance(soonest, datetime) and (self.next_expiry_at is None or soonest < self.next_expiry_at):
            self.next_expiry_at = soonest

    def _split_off(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not self._large or frame.is_empty():
            return frame
        scopes = frame.select("tenant_id", "user_id").unique()
        hashes = [scope_hash(t, u) for t, u in scopes.iter_rows()]
        large = scopes.with_columns(scope=pl.Series(hashes, dtype=pl.String)).filter(
            pl.col("scope").is_in(sorted(self._large))
        )
        for tenant, user, scope in large.sort("scope").iter_rows():
            own = frame.filter((pl.col("tenant_id") == tenant) & pl.col("user_id").eq_missing(user))
            self._append_own(scope, tenant_hash(tenant), own)
        return frame.join(
            large, on=["tenant_id", "user_id"], how="anti", nulls_equal=True, maintain_order="left"
        )

    def _append_own(self, scope: str, tenant: str, frame: pl.DataFrame) -> None:
        import lance

        name = f"s-{scope}"
        held = self._entries.get(name)
        lance.write_dataset(
            pa.Table.from_batches([to_batch(frame, self._dimensions)]),
            self._uri(name),
            mode="append" if held else "create",
            max_rows_per_file=ROWS_PER_FILE,
        )
        rows = frame.height + (held.rows if held else 0)
        self._entries[name] = TableEntry(name, rows, tenant, scope)

    def _finish_own(self, entry: TableEntry) -> TableEntry:
        import lance

        table = lance.dataset(self._uri(entry.name))
        table.optimize.compact_files(target_rows_per_fragment=ROWS_PER_FILE)
        return replace(entry, nprobes=index_own(table, entry.rows))


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


def remove_generation(lake: Lake, generation: str) -> None:
    """Remove a generation's files. A reader that still has it open reads the pointer again."""
    if isinstance(lake.storage, LocalStorage):
        shutil.rmtree(Path(lake.index_uri(generation)), ignore_errors=True)
    elif isinstance(lake.storage, S3Storage):
        for entry in lake.storage.entries(f"index/{generation}/"):
            lake.storage.delete(entry.key)


def generations(lake: Lake) -> list[str]:
    """Names of all generations that have files, finished or not, oldest first."""
    if isinstance(lake.storage, LocalStorage):
        root = Path(lake.index_uri("x")).parent
        return sorted(p.name for p in root.glob("gen-*")) if root.is_dir() else []
    keys = (entry.key for entry in lake.storage.entries("index"))
    return sorted({key.split("/")[1] for key in keys if key.startswith("index/gen-")})
