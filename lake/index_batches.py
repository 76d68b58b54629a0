"""Memories as rows of an index table: the columns that searches read, and the whole memory as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import PAYLOAD, PAYLOAD_COLUMNS, PLAIN_COLUMNS, RECORD_COLUMN, TERMS_COLUMN
from transforms.declarations import fact_columns
from transforms.schemas import INSTANT, MEMORIES
from transforms.scoring_record import RECORD, records
from transforms.search_terms import hashed_terms

NO_FACT = "".join(f',"{column.name}":null' for column in fact_columns()) + "}"
"""How the payload of a memory that is no fact would end; left out, it saves 100 bytes a row."""


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
