"""Candidates for scoring: from the index by vector and by words, and from the fresh tail by brute force."""

from __future__ import annotations

import math
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
from lake.scope import Filters, Scope, predicate, scope_predicate
from transforms import scoring
from transforms.policy import Policy
from transforms.schemas import INSTANT, MEMORIES

Floats = NDArray[np.float64]
SPARE_PART = 5
"""A fifth more rows than asked are fetched, for those that turn out not to be served."""
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
    is_answer = _answers(rows, scores["relevance"], policy)
    order = order[is_answer[order]]
    hashes = [rows[i]["content_hash"] for i in order]
    threshold = policy.recall.duplicate_cosine
    originals = scoring.originals(hashes, _comparable(found)[order], threshold=threshold, limit=limit)
    return Ranked(found, scores, order, originals)


def _comparable(found: Candidates) -> NDArray[np.float32]:
    """Vectors by which rows are taken for one another: none for a summary, which repeats what it cites."""
    is_digest = [row["kind"] == "summary" and row["source_refs"] != [row["memory_id"]] for row in found.rows]
    if not any(is_digest):
        return found.vectors
    return np.where(np.array(is_digest)[:, None], np.float32(0), found.vectors)


def _answers(rows: Sequence[dict[str, Any]], relevance: Floats, policy: Policy) -> NDArray[np.bool_]:
    """Which rows are about the query.

    A fact keeps its recency and a skill its bonus for good, so one that has nothing to do with the query
    would rank above an old episode that answers it. Episodes are all let through: they fade.
    """
    is_derived = np.array([row["source_refs"] != [row["memory_id"]] for row in rows], np.bool_)
    least = policy.recall.derived_floor_ratio * max(relevance, default=0.0)
    return ~is_derived | (relevance >= least)


def index_candidates(
    generation: Generation,
    pool: Executor,
    query: str,
    vector: NDArray[np.float32],
    scope: Scope,
    filters: Filters,
    count: int,
) -> Candidates:
    """Best ``count`` rows of each of the generation's tables by cosine and by BM25, both searches at once.

    The scope is the store's predicate, always. The filters hold for nearly every row, and as part
    of the predicate they cost each search 3 to 5 ms, so some rows more are fetched by
    scope alone and those not served are left out here; where too few are left, the search is made
    again with the filters in the predicate. Either way the answer is the same.
    """
    asked = count + count // SPARE_PART
    loose, tight = scope_predicate(scope), predicate(scope, filters)
    where = tight if filters.kinds is not None else loose
    # Prepared here, for two threads that prepare would wait for each other's interpreter.
    pending = [pool.submit(scan.to_table) for scan in generation.text_scans(scope, query, asked, where)]
    near = [scan.to_table() for scan in generation.vector_scans(scope, vector, asked, where)]
    by_vector = [_hits(table, filters, count) for table in near]
    by_words = [_hits(done.result(), filters, count) for done in pending]
    if any(hits.is_short(count, asked) for hits in by_vector):
        near = [scan.to_table() for scan in generation.vector_scans(scope, vector, count, tight)]
        by_vector = [_hits(table, filters, count) for table in near]
    if any(hits.is_short(count, asked) for hits in by_words):
        texts = [scan.to_table() for scan in generation.text_scans(scope, query, count, tight)]
        by_words = [_hits(table, filters, count) for table in texts]
    return _merged([*by_vector, *by_words], vector)


@dataclass(frozen=True)
class _Hits:
    """Served rows of one search of one table, best first, with their vectors; BM25 is NaN by vector."""

    rows: list[dict[str, Any]]
    vectors: NDArray[np.float16]
    bm25: list[float]
    fetched: int

    def is_short(self, count: int, asked: int) -> bool:
        """Whether the table has more rows than were fetched, and too few of those are served."""
        return self.fetched >= asked and len(self.rows) < count


def _hits(table: pa.Table, filters: Filters, count: int) -> _Hits:
    by_words = "_score" in table.column_names
    measure = table["_score" if by_words else "_distance"].to_numpy()
    texts, rows, taken = table[PAYLOAD].to_pylist(), [], []
    for place in np.argsort(-measure if by_words else measure, kind="stable").tolist():
        row = orjson.loads(texts[place])
        if filters.serves(row):
            rows.append(row)
            taken.append(place)
        if len(rows) == count:
            break
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = flat.reshape(table.num_rows, -1) if table.num_rows else np.zeros((0, 0), np.float16)
    bm25 = measure[taken].tolist() if by_words else [math.nan] * len(taken)
    return _Hits(rows, vectors[taken], bm25, table.num_rows)


def _merged(parts: Sequence[_Hits], vector: NDArray[np.float32]) -> Candidates:
    """Each row once, with its BM25 where it came from both searches."""
    found: dict[str, tuple[dict[str, Any], NDArray[np.float16], float]] = {}
    for part in parts:
        for row, held, score in zip(part.rows, part.vectors, part.bm25, strict=True):
            name = row["memory_id"]
            if name not in found or math.isnan(found[name][2]):
                found[name] = (row, held, score)
    rows = [row for row, _, _ in found.values()]
    matrix = np.array([held for _, held, _ in found.values()], np.float32).reshape(-1, len(vector))
    bm25 = np.array([score for _, _, score in found.values()], np.float64)
    return Candidates(rows, matrix, dots(matrix, vector), bm25, np.zeros(len(rows), np.bool_))


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
