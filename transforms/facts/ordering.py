"""Numbers for texts, and orders of many rows by numbers, where texts are compared only in ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
Floats = NDArray[np.float32]

_HEAD_BYTES = 6
"""Of a text that stand in its ``head``: with them a number still has room for 32,768 owners."""
_LONG_RUNS = 8
"""From so many equal values in a row on, on average, runs are numbered instead of rows."""
_SPARSE = 32
"""Numbers up to so many times their count are made dense by marking, which takes no sort."""


def codes(texts: pl.Series) -> Ints:
    """A number from 0 on for each distinct text, in the order of the texts; -1 for null."""
    runs = texts.rle_id().to_numpy()
    if len(runs) and (runs[-1] + 1) * _LONG_RUNS < len(runs):
        # Claims mostly come sorted: a value is looked up once a run.
        heads = np.flatnonzero(np.diff(runs, prepend=runs[0] + 1))
        numbers: Ints = codes(texts.gather(heads))[runs]
        return numbers
    values = pl.Enum(texts.drop_nulls().unique().sort())
    return texts.cast(values).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def labels(texts: pl.Series) -> Ints:
    """A number for each distinct text, in no order; -1 for null."""
    return texts.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def head(texts: pl.Series) -> Ints:
    """A number for the first bytes of each text, that never contradicts the order of the texts."""
    least = texts.str.len_bytes().min()
    if not isinstance(least, int) or least < 8:
        texts = texts + "\0" * 8
    first = texts.cast(pl.Binary).bin.slice(0, 8).bin.reinterpret(dtype=pl.UInt64, endianness="big")
    return (first.to_numpy() >> np.uint64(8 * (8 - _HEAD_BYTES))).astype(np.int64)


def dense(numbers: Ints) -> Ints:
    """The place of each number, 0 or greater, among the distinct ones."""
    places: Ints
    if len(numbers) and numbers.max() < _SPARSE * len(numbers):
        is_held = np.zeros(numbers.max() + 1, np.bool_)
        is_held[numbers] = True
        places = np.cumsum(is_held)[numbers] - 1
    else:
        places = np.unique(numbers, return_inverse=True)[1]
    return places


def paired(left: Ints, right: Ints) -> Ints:
    """A number for each distinct pair of numbers, 0 or greater, in the order of the pairs."""
    if len(right) == 0 or right.max() == right.min():
        return left
    return dense(left * (right.max() + 1) + right)


def sort_order(numbers: Sequence[Ints], ties: pl.DataFrame, row: Ints | None = None) -> Ints:
    """Positions in the order of numbers, the first array counting most, then of the columns of a frame.

    Args:
        numbers: Arrays of one length.
        ties: Columns that decide where all numbers are equal, in their order.
        row: Row of ``ties`` of each position; the position itself where null.
    """
    order = _by_numbers(numbers)
    same = np.logical_and.reduce([np.diff(n[order]) == 0 for n in numbers])
    if not same.any():
        return order
    follows, precedes = np.append(False, same), np.append(same, False)
    tied = np.flatnonzero(follows | precedes)
    places = order[tied]
    held = ties[places if row is None else row[places]]
    held = held.with_columns(run=np.cumsum(~follows)[tied], place=places)
    order[tied] = held.sort("run", *ties.columns)["place"].to_numpy()
    return order


def _by_numbers(numbers: Sequence[Ints]) -> Ints:
    """Positions by numbers: by one sort where they fit into one number."""
    if not len(numbers[0]):
        return np.zeros(0, np.int64)
    widths = [int(n.max()) - int(n.min()) + 1 for n in numbers]
    room = 1
    for width in widths:
        room *= width
    if room >= np.iinfo(np.int64).max:
        return np.lexsort(tuple(reversed(numbers)))
    merged = np.zeros(len(numbers[0]), np.int64)
    for number, width in zip(numbers, widths, strict=True):
        merged = merged * width + (number - number.min())
    return np.argsort(merged)
