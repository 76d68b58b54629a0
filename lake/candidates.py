"""Candidates for scoring: from the index by vector and by text, and from the fresh tail by brute force."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import datetime

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import COLUMNS, Generation, Scope
from transforms.schemas import MEMORIES

VECTOR = pl.List(pl.Float32)
_WORD = re.compile(r"[^\W_]+|[一-鿿぀-ヿ가-힯]")
_K1, _B = 1.2, 0.75


def schema() -> pl.Schema:
    """Columns of candidates: those of the index, ``cosine``, ``bm25`` (Float64, null) and ``is_fresh``."""
    held = {name: MEMORIES.polars[name] for name in COLUMNS}
    added = {"cosine": pl.Float64(), "bm25": pl.Float64(), "is_fresh": pl.Boolean()}
    return pl.Schema({**held, **added})


def index_candidates(
    generation: Generation | None,
    pool: Executor,
    query: str,
    vector: NDArray[np.float32],
    scope: Scope,
    kinds: Sequence[str] | None,
    as_of: datetime,
    count: int,
) -> pl.DataFrame:
    """Best rows of the generation by cosine and by BM25, both searches at once; see ``schema``."""
    if generation is None:
        return pl.DataFrame(schema=schema())
    predicate = scope.predicate(as_of, kinds)
    words = pool.submit(generation.texts, scope, query, count, predicate)
    near = generation.vectors(scope, vector, count, predicate)
    both = pl.concat([_frame(near, "_distance", vector), _frame(words.result(), "_score", vector)])
    merged = both.group_by("memory_id", maintain_order=True).agg(
        pl.exclude("bm25").first(), bm25=pl.col("bm25").max()
    )
    return merged.select(schema().names())


def _frame(table: pa.Table, measure: str, vector: NDArray[np.float32]) -> pl.DataFrame:
    """A search's answer in the common shape; the cosine is computed for rows found by words, too."""
    matrix = _matrix(table, len(vector))
    held = pl.DataFrame(table.drop_columns(["vector"]))
    bm25 = pl.col(measure).cast(pl.Float64) if measure == "_score" else pl.lit(None, pl.Float64)
    return held.with_columns(
        vector=pl.Series(matrix).cast(VECTOR) if len(matrix) else pl.lit([], VECTOR),
        cosine=pl.Series((matrix @ vector).astype(np.float64)),
        bm25=bm25,
        is_fresh=pl.lit(False),
    ).select(pl.col(name).cast(dtype) for name, dtype in schema().items())


def _matrix(table: pa.Table, dimensions: int) -> NDArray[np.float32]:
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    matrix: NDArray[np.float32] = flat.reshape(-1, dimensions).astype(np.float32)
    return matrix


def fresh_candidates(
    rows: pl.DataFrame, query: str, vector: NDArray[np.float32], kinds: Sequence[str] | None, count: int
) -> pl.DataFrame:
    """Best fresh rows (``schemas.MEMORIES``) by cosine and by BM25 among themselves; see ``schema``."""
    if kinds is not None:
        rows = rows.filter(pl.col("kind").is_in(list(kinds)))
    if rows.is_empty():
        return pl.DataFrame(schema=schema())
    held = (rows["vector"].list.len() == len(vector)).to_numpy()
    matrix = np.zeros((rows.height, len(vector)), np.float32)
    matrix[held] = rows["vector"].filter(pl.Series(held)).explode().to_numpy().reshape(-1, len(vector))
    scored = rows.with_columns(
        vector=pl.Series(matrix).cast(VECTOR),
        cosine=pl.Series((matrix @ vector).astype(np.float64)),
        bm25=pl.Series(bm25(rows["search_text"].to_list(), query)),
        is_fresh=pl.lit(True),
    ).select(pl.col(name).cast(dtype) for name, dtype in schema().items())
    best = [scored.sort(by, "memory_id", descending=[True, False]).head(count) for by in ("cosine", "bm25")]
    return pl.concat([best[0], best[1].filter(pl.col("bm25") > 0)]).unique("memory_id", maintain_order=True)


def bm25(texts: Sequence[str], query: str) -> NDArray[np.float64]:
    """Okapi BM25 of each text for the query's words, over these texts as the collection (k1 1.2, b 0.75)."""
    documents = [Counter(_WORD.findall(text.lower())) for text in texts]
    lengths = np.array([sum(document.values()) for document in documents], np.float64)
    mean = float(lengths.mean()) or 1.0
    scores = np.zeros(len(texts))
    for word in set(_WORD.findall(query.lower())):
        counts = np.array([document[word] for document in documents], np.float64)
        holding = int((counts > 0).sum())
        if holding:
            rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            scores += rarity * counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * lengths / mean))
    return scores
