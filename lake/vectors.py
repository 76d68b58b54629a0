"""Vectors of texts by their hash: the one way the table of vectors is read."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from lake import tables
from lake.lake import Lake
from transforms.schemas import VECTORS


def vectors_of(lake: Lake, buckets: Collection[int], space: str, texts: pl.DataFrame) -> pl.DataFrame:
    """Vectors of one space that texts have.

    Args:
        lake: Where.
        buckets: Tenant buckets of the texts.
        space: Vector space.
        texts: A column ``text_hash``.

    Returns:
        ``text_hash`` and ``vector``, each hash once; a text without a vector is missing.
    """
    rows = tables.scan(lake, VECTORS, buckets=buckets).filter(pl.col("model_key") == space)
    wanted = texts.lazy().select("text_hash").unique()
    found = rows.select("text_hash", "vector").join(wanted, on="text_hash", how="semi")
    return found.collect(engine="streaming").unique("text_hash")
