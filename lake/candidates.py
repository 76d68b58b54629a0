"""Candidates for scoring: from the index by vector and by words, and from the fresh tail by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import PAYLOAD, Generation
from lake.scope import Filters, Scope, predicate
from transforms import scoring
from transforms.policy import Policy
from transforms.schemas import INSTANT, MEMORIES

Floats = NDArray[np.float64]
FRAME = {
    n: pl.Int64 if t == INSTANT else t
    for n, t in MEMORIES.polars.items()
    if n not in ("vector", "search_text")
}


@dataclass(frozen=True)
class Candidates:
    """Rows to be scored, each memory once.

    Attributes:
        rows: ``schemas.MEMORIES`` without search_text and vector; instants in microseconds since 1970.
        vectors: float32 (rows, dimensions), of length 1, or zeros where a row has none.
        cosine: To the query, by row.
        bm25: By row; NaN where the row was not found by words.
        is_fresh: Whether the row comes from the fresh tail.
    """

    rows: list[dict[str, Any]]
    vectors: NDArray[np.float32]
    cosine: Floats
    bm25: Floats
    is_fresh: NDArray[np.bool_]


@dataclass(frozen=True)
class Ranked:
    """Candidates with scores, in their order.

    Attributes:
        found: The candidates.
        scores: ``scoring.FACTORS`` and ``score``, by row of the candidates.
        order: Positions of the rows, best first.
        originals: By place in ``order``, the place of the row that stands for it: its own where it
            is no near-duplicate. Shorter than ``order`` where only so many rows were asked for.
    """

    found: Candidates
    scores: dict[str, Floats]
    order: NDArray[np.int64]
    originals: NDArray[np.int64]

    def kept(self) -> NDArray[np.int64]:
        """Positions of the rows that repeat no better one, best first."""
        is_kept = self.originals == np.arange(len(self.originals))
        kept: NDArray[np.int64] = self.order[: len(self.originals)][is_kept]
        return kept

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Kept rows, and dropped ones with ``reason`` and ``duplicate_of``, as ``scoring`` gives them."""
        rows = pl.DataFrame(self.found.rows, schema=FRAME, orient="row").with_columns(
            pl.col(name).cast(INSTANT) for name, dtype in MEMORIES.polars.items() if dtype == INSTANT
        )
        measures = {"cosine": self.found.cosine, "bm25": self.found.bm25, "is_fresh": self.found.is_fresh}
        whole = rows.hstack(
            [pl.Series(n, v, nan_to_null=n == "bm25") for n, v in {**measures, **self.scores}.items()]
        )
        ranked = whole[self.order]
        is_kept = pl.Series(self.originals == np.arange(len(self.originals)), dtype=pl.Boolean)
        dropped = ranked.with_columns(
            reason=pl.lit("duplicate"), duplicate_of=ranked["memory_id"].gather(self.originals)
        ).filter(~is_kept)
        return ranked.filter(is_kept), dropped


def ranked(found: Candidates, policy: Policy, filters: Filters, limit: int | None = None) -> Ranked:
    """Score, sort, and mark near-duplicates; with a limit, only until so many rows are kept."""
    rows = found.rows
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("kind", "tier", "outcome")}
    columns |= {
        name: np.array([row[name] for row in rows], np.float64) for name in ("importance", "access_count")
    }
    columns |= {
        "cosine": found.cosine,
        "bm25": found.bm25,
        "seen_us": np.array([row["last_accessed_at"] for row in rows], np.int64),
    }
    scores = scoring.score_columns(columns, policy=policy, as_of=filters.as_of)
    events = np.array([row["event_at"] for row in rows], np.int64)
    order = scoring.rank_positions(scores["score"], events, [row["memory_id"] for row in rows])
    hashes = [rows[i]["content_hash"] for i in order]
    threshold = policy.recall.duplicate_cosine
    originals = scoring.originals(hashes, found.vectors[order], threshold=threshold, limit=limit)
    return Ranked(found, scores, order, originals)


def index_candidates(
    generation: Generation,
    pool: Executor,
    query: str,
    vector: NDArray[np.float32],
    scope: Scope,
    filters: Filters,
    count: int,
) -> Candidates:
    """Best ``count`` rows of each of the generation's tables by cosine and by BM25, both searches at once."""
    where = predicate(scope, filters)
    # Prepared here, for two threads that prepare would wait for each other's interpreter.
    pending = [pool.submit(scan.to_table) for scan in generation.text_scans(scope, query, count, where)]
    near = generation.vectors(scope, vector, count, where)
    by_words = pa.concat_tables([done.result() for done in pending])
    return _merged([(near, None), (by_words, by_words["_score"])], vector)


def _merged(
    parts: Sequence[tuple[pa.Table, pa.ChunkedArray | None]], vector: NDArray[np.float32]
) -> Candidates:
    """Each row once, with the better BM25 where a row came from both searches."""
    places: dict[str, int] = {}
    taken: list[int] = []
    best: list[float] = []
    matrices = [_matrix(table, len(vector)) for table, _ in parts]
    at = 0
    for table, scores in parts:
        measured = [np.nan] * table.num_rows if scores is None else scores.to_pylist()
        for text, score in zip(table[PAYLOAD].to_pylist(), measured, strict=True):
            place = places.setdefault(text, len(taken))
            if place == len(taken):
                taken.append(at)
                best.append(score)
            else:
                best[place] = np.fmax(best[place], score)
            at += 1
    matrix = np.concatenate(matrices)[taken]
    rows = [orjson.loads(text) for text in places]
    return Candidates(
        rows, matrix, dots(matrix, vector), np.array(best, np.float64), np.zeros(len(rows), np.bool_)
    )


def _matrix(table: pa.Table, dimensions: int) -> NDArray[np.float32]:
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    matrix: NDArray[np.float32] = flat.reshape(-1, dimensions).astype(np.float32)
    return matrix


def dots(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> Floats:
    """Cosine of each row to the vector; not ``@``, whose threads cost more than a hundred products."""
    cosine: Floats = np.einsum("id,d->i", matrix, vector).astype(np.float64)
    return cosine


def joined(published: Candidates | None, fresh: Candidates | None, dimensions: int) -> Candidates:
    """Both in one; the published copy of a row wins, it carries what consolidation added."""
    if published is None or fresh is None:
        return published or fresh or _none(dimensions)
    held = {row["memory_id"] for row in published.rows}
    new = [i for i, row in enumerate(fresh.rows) if row["memory_id"] not in held]
    return Candidates(
        [*published.rows, *(fresh.rows[i] for i in new)],
        np.concatenate([published.vectors, fresh.vectors[new]]),
        np.concatenate([published.cosine, fresh.cosine[new]]),
        np.concatenate([published.bm25, fresh.bm25[new]]),
        np.concatenate([published.is_fresh, fresh.is_fresh[new]]),
    )


def _none(dimensions: int) -> Candidates:
    nothing = np.zeros(0)
    return Candidates([], np.zeros((0, dimensions), np.float32), nothing, nothing, np.zeros(0, np.bool_))
