"""Scored rows of a search, before they become an answer or a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.schemas import INSTANT, MEMORIES

if TYPE_CHECKING:
    from transforms.floor import Background
    from transforms.routing import Route

Floats = NDArray[np.float64]
FRAME = {
    n: pl.Int64 if t == INSTANT else t
    for n, t in MEMORIES.polars.items()
    if n not in ("vector", "search_text")
}


@dataclass(frozen=True)
class Candidates:
    """Rows that were read whole, best first, each memory once.

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
class Pool:
    """All rows that were scored by all factors; of most only the columns were read.

    Attributes:
        positions: Where they stand among the rows of the search.
        ids: ``memory_id`` as bytes.
        scores: ``scoring.FACTORS`` and ``score``, by row.
        order: Places of the rows here, best first; those that are not about the query are left out.
        originals: By place in ``order``, the place of the row that stands for it: its own where it
            repeats no better one. Shorter than ``order`` where only so many rows were wanted.
        inputs: What the factors were made of, by row: columns of ``scoring.score_columns``, ``event_us``,
            ``closeness``, ``cosine`` and ``words``.
    """

    positions: NDArray[np.int64]
    ids: NDArray[np.bytes_]
    scores: dict[str, Floats]
    order: NDArray[np.int64]
    originals: NDArray[np.int64]
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def kept(self) -> NDArray[np.int64]:
        """Places of the rows that repeat no better one, best first."""
        return _kept(self.order, self.originals)


@dataclass(frozen=True)
class Ranked:
    """Rows with scores, in their order.

    Attributes:
        found: The candidates.
        scores: ``scoring.FACTORS`` and ``score``, by row of the candidates.
        order: Positions of the rows, best first.
        originals: By place in ``order``, the place of the row that stands for it: its own where it
            is no near-duplicate.
        pool: All rows that were scored, those among them whose payload was not read.
        generation: That was searched; None before the first publish.
        reranked: What became of the configured reranking; None where there is none.
        route: How the question was read; None where it was not.
        routes: By row of the candidates, what the route did to its relevance; empty where nothing.
        is_waived: Whether the route was to leave rows out, but none would have stayed.
        background: How near unrelated texts come in the generation's space, by script.
    """

    found: Candidates
    scores: dict[str, Floats]
    order: NDArray[np.int64]
    originals: NDArray[np.int64]
    pool: Pool
    generation: str | None = None
    reranked: str | None = None
    route: Route | None = None
    routes: Sequence[Mapping[str, float]] = ()
    is_waived: bool = False
    background: Mapping[str, Background] = field(default_factory=dict)

    def kept(self) -> NDArray[np.int64]:
        """Positions of the rows that repeat no better one, best first."""
        return _kept(self.order, self.originals)

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


def _kept(order: NDArray[np.int64], originals: NDArray[np.int64]) -> NDArray[np.int64]:
    is_kept = originals == np.arange(len(originals))
    kept: NDArray[np.int64] = order[: len(originals)][is_kept]
    return kept
