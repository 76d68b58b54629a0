"""Vectors of one owner made comparable: what all its texts share taken out, the turns around added."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def matrix(vectors: pl.Series) -> tuple[Floats, Flags]:
    """Vectors as rows, and which rows have one.

    Args:
        vectors: list<float32>; null, empty, with a NaN or infinity, of length zero, or of another number
            of dimensions than most is no vector.

    Returns:
        Float32 (rows with a vector, dimensions) and bool (rows).
    """
    lengths = vectors.list.len().fill_null(0)
    counts = lengths.filter(lengths > 0).value_counts(name="rows").sort("rows", vectors.name)
    if counts.is_empty():
        return np.zeros((0, 0), np.float32), np.zeros(vectors.len(), np.bool_)
    width = int(counts[vectors.name][-1])
    fits = (lengths == width).to_numpy().copy()
    flat = vectors.filter(pl.Series(fits)).explode(empty_as_null=False, keep_nulls=False)
    held = flat.cast(pl.Float32).fill_null(float("nan")).to_numpy().reshape(-1, width)
    sound = np.isfinite(held).all(axis=1) & (held != 0).any(axis=1)
    fits[fits] = sound
    return (held if sound.all() else held[sound]), fits


def unit(rows: Floats) -> Floats:
    """Rows at length 1; a row of zeros stays one."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def with_context(rows: Floats, sessions: Integers, share: float, turns: int) -> Floats:
    """Each row plus ``share`` of the mean of the rows at most ``turns`` before and after it in its session.

    A turn such as "the second one, then" says little by itself; its neighbours say what it is about.

    Args:
        rows: (n, dimensions) at length 1, those of a session together and in order of time.
        sessions: (n) equal inside a session.
        share: Weight of the neighbours' mean.
        turns: How far a neighbour may be.

    Returns:
        (n, dimensions) at length 1.
    """
    total = np.zeros_like(rows)
    count = np.zeros((len(rows), 1), rows.dtype)
    for step in range(1, min(turns, len(rows) - 1) + 1):
        same = (sessions[step:] == sessions[:-step])[:, None].astype(rows.dtype)
        total[step:] += same * rows[:-step]
        total[:-step] += same * rows[step:]
        count[step:] += same
        count[:-step] += same
    return unit(rows + share * total / np.maximum(count, 1))
