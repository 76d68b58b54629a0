"""Near-identical memories: in one answer, where they take the room of others, and among all of one person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.health.measures import grouped

PAIRS_SCHEMA = pl.Schema(
    {"left": pl.Int64(), "right": pl.Int64(), "cosine": pl.Float64(), "is_same_text": pl.Boolean()}
)
"""Places of two rows, the first before the second; ``cosine`` is null where one has no vector."""
ANSWERS_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "call_id": pl.String(),
        "rows": pl.Int64(),
        "pairs": pl.Int64(),
        "repeated": pl.Int64(),
    }
)
"""Of one answer: rows whose text is held, near pairs among them, and rows near to one ranked before."""
CROWDING_SCHEMA = pl.Schema(
    {
        "answers": pl.Int64(),
        "crowded_ratio": pl.Float64(),
        "pairs_per_answer": pl.Float64(),
        "repeated_ratio": pl.Float64(),
    }
)
_BLOCK = 1_024
_DIGITS = 6
"""Of a cosine that is shown: so much of it is the same whatever rows stand beside."""
_ANSWER_ROWS = 100
"""Rows of an answer that are compared, the best ones."""
_PAIRS = 65_536
"""Pairs whose cosine is computed at once."""
_SLACK = 1e-4
"""By how much a product of float32 matrices may miss a cosine; a closer one is computed again."""


def sampled(calls: pl.DataFrame, count: int) -> pl.DataFrame:
    """So many of the rows, evenly spread over their order; all where there are no more.

    Args:
        calls: In the order of time.
        count: Most rows.
    """
    if calls.height <= count:
        return calls
    return calls[(np.arange(count, dtype=np.int64) * calls.height // count).tolist()]


def near_pairs(
    hashes: Sequence[str | None], vectors: Sequence[Sequence[float] | None], cosine: float
) -> pl.DataFrame:
    """Pairs of rows of one text, or whose vectors are nearer than the cosine.

    Args:
        hashes: Content hash of each row; null equals none.
        vectors: Of each row, of length 1; null or empty where it has none.
        cosine: Nearer than this is near.

    Returns:
        ``PAIRS_SCHEMA``, by both places.
    """
    unit = _matrix(vectors)
    codes = _codes(hashes)
    has_vector = np.einsum("nd,nd->n", unit, unit) > 0
    found = [pl.DataFrame(schema=PAIRS_SCHEMA)]
    for start in range(0, len(codes), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(codes)))
        same = (codes[block, None] == codes[None, start:]) & (codes[block, None] >= 0)
        products = unit[block] @ unit[start:].T
        left, right = np.nonzero(np.triu(same | (products > cosine - _SLACK), 1))
        near = products[left, right].astype(np.float64)
        is_same, left, right = same[left, right], left + start, right + start
        close = np.flatnonzero(np.abs(near - cosine) <= _SLACK)
        near[close] = _cosines(unit, left[close], right[close])
        pairs = pl.DataFrame({"left": left, "right": right, "cosine": near, "is_same_text": is_same})
        is_told = pl.Series(has_vector[left] & has_vector[right])
        told = pairs.with_columns(
            cosine=pl.when(is_told).then(pl.col("cosine").clip(upper_bound=1.0).round(_DIGITS))
        )
        is_near = (pl.col("cosine") > cosine).fill_null(False)
        found.append(told.filter(is_near | pl.col("is_same_text")).cast(PAIRS_SCHEMA))
    return pl.concat(found)


def answers(rows: pl.DataFrame, cosine: float) -> pl.DataFrame:
    """Near pairs among the best hundred rows of each answer of two rows or more.

    Args:
        rows: ``tenant_id``, ``call_id``, ``rank``, ``content_hash`` and ``vector`` of rows that were
            returned and whose text is held.
        cosine: As for ``near_pairs``.

    Returns:
        ``ANSWERS_SCHEMA``, by tenant and call.
    """
    ordered = rows.sort("tenant_id", "call_id", "rank", "content_hash")
    found = []
    for (tenant, call), whole in ordered.group_by(["tenant_id", "call_id"], maintain_order=True):
        part = whole.head(_ANSWER_ROWS)
        if part.height > 1:
            pairs = near_pairs(part["content_hash"].to_list(), part["vector"].to_list(), cosine)
            found.append((tenant, call, part.height, pairs.height, pairs["right"].n_unique()))
    return pl.DataFrame(found, schema=ANSWERS_SCHEMA, orient="row")


def crowding(counted: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``by`` and ``CROWDING_SCHEMA`` of rows from ``answers``."""
    told = {
        "answers": pl.len(),
        "crowded_ratio": (pl.col("pairs") > 0).mean(),
        "pairs_per_answer": pl.col("pairs").mean(),
        "repeated_ratio": pl.col("repeated").sum() / pl.col("rows").sum(),
    }
    return grouped(counted, by, told, CROWDING_SCHEMA)


def _matrix(vectors: Sequence[Sequence[float] | None]) -> NDArray[np.float32]:
    """Rows x d; a row without a vector, or of another length than the most, is zeros."""
    lengths = [len(v) if v is not None else 0 for v in vectors]
    width = max(lengths, default=0)
    made = np.zeros((len(vectors), width), np.float32)
    for place, vector in enumerate(vectors):
        if vector is not None and lengths[place] == width:
            made[place] = vector
    return made


def _cosines(
    unit: NDArray[np.float32], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Cosine of each pair in double precision, some at a time: many rows alike are very many pairs."""
    found = np.empty(len(left))
    for start in range(0, len(left), _PAIRS):
        part = slice(start, start + _PAIRS)
        found[part] = np.einsum("nd,nd->n", unit[left[part]], unit[right[part]], dtype=np.float64)
    return found


def _codes(hashes: Sequence[str | None]) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    return np.array([-1 if h is None else known.setdefault(h, len(known)) for h in hashes], np.int64)
