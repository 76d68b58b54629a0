"""Vectors of texts by their hash: the one way the table of vectors is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lake import tables
from lake.faults import wrapped
from lake.lake import Lake
from lake.plain_vectors import vectors_at
from lake.row_counts import row_counts
from transforms.schemas import VECTORS

_BATCH_ROWS = 8_192
"""Vectors decoded at once, about 1 KB each."""


def vectors_of(
    lake: Lake,
    buckets: Collection[int],
    space: str,
    texts: pl.DataFrame,
    among: Collection[str] | None = None,
) -> pl.DataFrame:
    """Vectors of one space that texts have.

    Vectors are read only from files that hold a wanted one; to look through hashes takes a hundredth of
    the time.

    Args:
        lake: Where.
        buckets: Tenant buckets of the texts.
        space: Vector space.
        texts: A column ``text_hash``.
        among: Look into these data files only; None: into all of the buckets.

    Returns:
        ``text_hash`` and ``vector``, each hash once; a text without a vector is missing.
    """
    wanted = texts["text_hash"].unique()
    with tables.held_open(is_shared=True):
        names = sorted(tables.data_files(lake, VECTORS, buckets=buckets) if among is None else among)
        if not names or wanted.is_empty():
            return VECTORS.empty().select("text_hash", "vector")
        counts = row_counts(lake, VECTORS)
        if not lake.is_local or any(counts.get(name) is None for name in names):
            rows = tables.scan(lake, VECTORS, files=names).filter(_is_wanted(space, wanted))
            return rows.select("text_hash", "vector").collect(engine="streaming").unique("text_hash")
        ends = np.cumsum([counts[name] or 0 for name in names])
        found = _found(lake, names, space, wanted)
    return _with_vectors(lake, names, ends, found)


def _found(lake: Lake, names: list[str], space: str, wanted: pl.Series) -> pl.DataFrame:
    """``row``, counted over all of the files, and ``text_hash`` of the wanted texts, each once."""
    rows = tables.scan(lake, VECTORS, files=names).select("text_hash", "model_key").with_row_index("row")
    found = rows.filter(_is_wanted(space, wanted)).select("row", "text_hash").collect(engine="streaming")
    return found.sort("row").unique("text_hash", keep="first", maintain_order=True)


def _with_vectors(lake: Lake, names: list[str], ends: NDArray[np.int64], found: pl.DataFrame) -> pl.DataFrame:
    """``text_hash`` and ``vector`` of rows, in their order. Rows come in the order of the files."""
    rows = found["row"].to_numpy().astype(np.int64)
    parts = [VECTORS.empty()["vector"]]
    for name, end, begin in zip(names, ends.tolist(), [0, *ends.tolist()], strict=False):
        low, high = np.searchsorted(rows, [begin, end])
        if high > low:
            path = f"{lake.table_uri(VECTORS)}/{name}"
            with wrapped(f"reading {path}"):
                parts += _taken(path, rows[low:high] - begin)
    return found.select("text_hash", vector=pl.concat(parts))


def _taken(path: str, rows: NDArray[np.int64]) -> Iterator[pl.Series]:
    """Vectors of rows of a file: as they lie, a fifth of the time of decoding even where all are wanted."""
    plain = vectors_at(path, rows)
    if plain is not None:
        yield pl.Series("vector", plain.ravel()).reshape(plain.shape).arr.to_list()
        return
    begin = 0  # Not by Polars, which takes half as long again for lists.
    with pq.ParquetFile(path, memory_map=True) as file:
        for batch in file.iter_batches(_BATCH_ROWS, columns=["vector"], use_threads=False):
            low, high = np.searchsorted(rows, [begin, begin + batch.num_rows])
            if high > low:
                yield pl.Series("vector", batch["vector"].take(pa.array(rows[low:high] - begin)))
            begin += batch.num_rows


def whole_rows(lake: Lake, name: str, places: NDArray[np.int64] | None = None) -> pl.DataFrame:
    """Rows of one data file of the table of vectors, in its order, as ``tables.scan`` gives them.

    Args:
        lake: Where.
        name: As ``tables.data_files`` has it.
        places: Numbers of the rows that are wanted, ascending; None is all.
    """
    rows = tables.scan(lake, VECTORS, files=[name])
    path = f"{lake.table_uri(VECTORS)}/{name}"
    told = rows.select(pl.exclude("vector")).collect() if lake.is_local else pl.DataFrame()
    wanted = np.arange(told.height) if places is None else places
    plain = None
    if lake.is_local and len(wanted):
        with wrapped(f"reading {path}"):
            plain = vectors_at(path, wanted)
    if plain is None:  # on an object store, or of another shape
        held = rows.collect()
        return held if places is None else held[places]
    vectors = pl.Series("vector", plain.ravel()).reshape(plain.shape).arr.to_list()
    taken = told if places is None else told[places]
    return taken.with_columns(vector=vectors).select(VECTORS.names)


def _is_wanted(space: str, wanted: pl.Series) -> pl.Expr:
    return (pl.col("model_key") == space) & pl.col("text_hash").is_in(wanted.implode())
