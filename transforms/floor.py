"""How near a row must be to be worth packing: what texts that have nothing to do with it reach by chance.

Cosines of two models are no more comparable than degrees of two scales, so no constant serves both. The floor
is a quantile of cosines between texts of different people, measured in the space itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.policy_recall import RecallPolicy

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Quantiles that are kept."""
LEAST_PAIRS = 1_000
"""From fewer, a quantile of 0.95 is guesswork."""
RELATED_SHARE = 0.15
"""Of pairs between two sessions of one person, so many are about the same things and are the nearest ones.
Measured on five conversations in two spaces: the 0.95 of strangers lies at 0.80 to 0.82 of these pairs."""
REASON = "relevance_floor"

Basis = Literal["owners", "sessions"]


@dataclass(frozen=True)
class Background:
    """Cosines of unrelated texts in one vector space.

    Attributes:
        basis: Whether the pairs are of different owners, or of different sessions of one.
        pairs: How many.
        cosines: Their quantiles at ``SHARES``.
    """

    basis: Basis
    pairs: int
    cosines: tuple[float, ...]

    def at(self, share: float) -> float:
        """The cosine that so large a share of unrelated texts stays below, by linear interpolation."""
        return float(np.interp(share, SHARES, self.cosines))

    def as_dict(self) -> dict[str, Any]:
        """The shape that a manifest holds."""
        return {"basis": self.basis, "pairs": self.pairs, "shares": SHARES, "cosines": self.cosines}


def read_background(record: Mapping[str, Any]) -> Background:
    """What ``as_dict`` gave.

    Raises:
        ValueError: It is something else.
        KeyError: As ValueError.
        TypeError: As ValueError.
    """
    basis, pairs, cosines = record["basis"], record["pairs"], tuple(map(float, record["cosines"]))
    is_ours = tuple(record["shares"]) == SHARES and len(cosines) == len(SHARES)
    is_sane = bool(np.isfinite(cosines).all() and (np.diff(cosines) >= 0).all())
    if basis not in ("owners", "sessions") or type(pairs) is not int or not (is_ours and is_sane):
        raise ValueError("no background of cosines")
    return Background(basis, pairs, cosines)


def background(
    cosines: NDArray[np.float32], owner: NDArray[np.int64], session: NDArray[np.int64]
) -> Background | None:
    """Quantiles of the cosines between texts that are not about the same things.

    Args:
        cosines: (queries, rows), query i being the text of row i; NaN where a vector is missing.
        owner: Code of each row's owner.
        session: Code of each row's session; below 0 for none.

    Returns:
        None where too few pairs can be told to be unrelated.
    """
    queries = len(cosines)
    is_known = np.isfinite(cosines)
    strangers = cosines[is_known & (owner[:queries, None] != owner[None, :])]
    if len(strangers) >= LEAST_PAIRS:
        return _quantiles("owners", strangers, 1.0)
    told = (session[:queries, None] >= 0) & (session[None, :] >= 0)
    apart = cosines[is_known & told & (session[:queries, None] != session[None, :])]
    return _quantiles("sessions", apart, 1 - RELATED_SHARE) if len(apart) >= LEAST_PAIRS else None


def _quantiles(basis: Basis, cosines: NDArray[np.float32], unrelated_share: float) -> Background:
    found = np.quantile(cosines.astype(np.float64), np.array(SHARES) * unrelated_share)
    return Background(basis, len(cosines), tuple(round(float(value), 4) for value in found))


@dataclass(frozen=True)
class Floor:
    """What a row must reach to be packed.

    Attributes:
        relevance: Least relevance; 0 asks for none.
        cosine: Least cosine; None asks for none.
        words: A row that holds so large a part of the question's words needs no cosine.
    """

    relevance: float = 0.0
    cosine: float | None = None
    words: float = 0.0


def floor_of(policy: RecallPolicy, space: str, measured: Background | None) -> Floor:
    """The floor of a vector space: the policy's own for it, else the measured one, else none."""
    given = policy.relevance_floor.get(space)
    if given is not None:
        return Floor(relevance=given)
    if measured is None or policy.floor_share == 0:
        return Floor()
    return Floor(cosine=measured.at(policy.floor_share), words=policy.floor_words)


def below(rows: pl.DataFrame, floor: Floor, exempt: Collection[str]) -> pl.Series:
    """Which rows are not worth packing.

    Args:
        rows: ``memory_id``, ``cosine``, and ``bm25``: the part of the question's words that the row holds,
            null for none.
        floor: What is asked of them; its relevance is looked at when they are packed.
        exempt: Ids of rows that are wanted however far they are.
    """
    if floor.cosine is None:
        return pl.Series("below", [False]).new_from_index(0, rows.height)
    is_near = pl.col("cosine") >= floor.cosine
    has_words = (pl.col("bm25") >= floor.words).fill_null(value=False)
    is_exempt = pl.col("memory_id").is_in(sorted(exempt))
    return rows.select(~(is_near | has_words | is_exempt)).to_series()
