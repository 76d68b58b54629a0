"""Vectors of texts by their hash: the one way the table of vectors is read."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from lake import tables
from lake.lake import Lake
from lake.row_counts import row_counts
from transforms.schemas import VECTORS


def vectors_of(lake: Lake, buckets: Collection[int], space: str, texts: pl.DataFrame) -> pl.DataFrame:
    """Vectors of one space that texts have.

    Vectors are read only from files that hold a wanted one; to look through hashes takes a hundredth of
    the time.

    Args:
        lake: Where.
        buckets: Tenant buckets of the texts.
        space: Vector space.
        texts: A column ``text_hash``.

    Returns:
        ``text_hash`` and ``vector``, each hash once; a text without a vector is missing.
    """
    wanted = texts["text_hash"].unique()
    with tables.held_open(is_shared=True):
        files = _files(lake, buckets, space, wanted)
        if not files:
            return VECTORS.empty().select("text_hash", "vector")
        rows = tables.scan(lake, VECTORS, files=files).filter(_is_wanted(space, wanted))
        found = rows.select("text_hash", "vector").collect(engine="streaming")
    return found.unique("text_hash")


def _files(lake: Lake, buckets: Collection[int], space: str, wanted: pl.Series) -> list[str]:
    """Data files that hold a wanted vector."""
    names = sorted(tables.data_files(lake, VECTORS, buckets=buckets))
    if not names or wanted.is_empty():
        return []
    counts = row_counts(lake, VECTORS)
    if any(counts.get(name) is None for name in names):
        return names
    # Rows come in the order of the files, so that the number of a row tells its file.
    ends = pl.Series([counts[name] for name in names], dtype=pl.UInt32).cum_sum()
    rows = tables.scan(lake, VECTORS, files=names).select("text_hash", "model_key").with_row_index("row")
    found = rows.filter(_is_wanted(space, wanted)).select("row").collect(engine="streaming")["row"]
    places = ends.search_sorted(found, side="right").unique()
    return [names[place] for place in places.sort()]


def _is_wanted(space: str, wanted: pl.Series) -> pl.Expr:
    return (pl.col("model_key") == space) & pl.col("text_hash").is_in(wanted.implode())
