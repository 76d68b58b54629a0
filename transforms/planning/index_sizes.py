"""What a generation of the index takes: by part a row, as it is and with other vectors."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

INDEX_SCHEMA = pl.Schema(
    {"held_in": pl.String, "rows": pl.Int64, "part": pl.String, "name": pl.String, "bytes": pl.Int64}
)
"""One column or index of one table of a generation; ``held_in``: main, or own (a table of one scope)."""
PARTS_SCHEMA = pl.Schema(
    {"part": pl.String, "name": pl.String, "rows": pl.Int64, "bytes": pl.Int64, "bytes_per_row": pl.Float64}
)
HELD_SCHEMA = pl.Schema({"rows": pl.Int64, "held_bytes": pl.Int64, "reads": pl.Int64, "read_bytes": pl.Int64})
"""One scope read into a reader."""
VECTOR = "vector"
STORED_BYTES = 2
"""Of one number of the vector column: float16."""
QUANTISATIONS = ("float32", "float16", "int8", "pq")
PQ_GROUP = 16
"""Dimensions that a product quantiser codes as one byte: LanceDB's own default."""
CODE_BYTES = 6
"""What an entry of a quantised index takes beside its code (measured with LanceDB 0.40: 2.9 to 5.5)."""


def parts_of(index: pl.DataFrame, all_bytes: int) -> pl.DataFrame:
    """The parts of a generation (``PARTS_SCHEMA``), all its tables together; what no part has is ``other``.

    Args:
        index: ``INDEX_SCHEMA``.
        all_bytes: Of all files of the generation.
    """
    rows = index.select("held_in", "rows", "part", "name", "bytes")
    whole = int(rows.filter((pl.col("part") == "column") & (pl.col("name") == VECTOR))["rows"].sum())
    summed = rows.group_by("part", "name").agg(pl.col("bytes").sum())
    rest = all_bytes - int(summed["bytes"].sum())
    other = pl.DataFrame(
        [("other", "manifests and page tables", max(0, rest))], schema=summed.schema, orient="row"
    )
    told = pl.concat([summed, other]).with_columns(rows=pl.lit(whole, dtype=pl.Int64))
    each = pl.when(pl.col("rows") > 0).then(pl.col("bytes") / pl.col("rows"))
    return (
        told.with_columns(bytes_per_row=each)
        .select(PARTS_SCHEMA.names())
        .cast(PARTS_SCHEMA)
        .sort(["part", "bytes", "name"], descending=[False, True, False])
    )


@dataclass(frozen=True)
class VectorBytes:
    """What one vector takes.

    Args:
        on_disk: Bytes in the files, column and index.
        searched: Bytes that a search reads, or a reader holds, of it.
    """

    on_disk: float
    searched: float


def vector_bytes(dimensions: int, quantisation: str, *, is_own: bool = False) -> VectorBytes:
    """Bytes of one vector by how it is stored.

    ``float16`` is this design's own form: searched exactly inside a scope, without a vector index. A large
    scope has a table of its own, whose IVF_FLAT index holds every vector a second time. A quantised index of
    LanceDB (IVF_SQ for ``int8``, IVF_PQ for ``pq``) holds codes beside the column, which stays for exact
    ranking: it takes disk, and saves reads.

    Args:
        dimensions: Of the vector.
        quantisation: One of ``QUANTISATIONS``.
        is_own: Whether it lies in a table of one scope.
    """
    column = dimensions * STORED_BYTES * (2 if quantisation == "float32" else 1)
    code = {"int8": dimensions, "pq": dimensions / PQ_GROUP}.get(quantisation)
    if code is not None:
        return VectorBytes(column + code + CODE_BYTES, code + CODE_BYTES)
    return VectorBytes(2 * column + CODE_BYTES if is_own else column, column)


def beside_vectors(parts: pl.DataFrame) -> float | None:
    """Bytes of a row of the index without its vector and the vector's own index; None of an empty one.

    Args:
        parts: ``PARTS_SCHEMA``.
    """
    rows = int(parts["rows"][0]) if parts.height else 0
    rest = parts.filter(~pl.col("name").str.starts_with(VECTOR))
    return float(rest["bytes"].sum()) / rows if rows else None
