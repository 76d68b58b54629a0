"""How near a row must be to be worth packing: nearer than texts come that have nothing to do with it.

Cosines of two models are no more comparable than degrees of two scales, and within one model those of two
scripts are not, either: unrelated Chinese texts can be nearer to each other than an English question to its
answer. So the floor is a quantile of cosines between texts of different people in one script, measured in
the space itself, and it is used only where texts that belong together are seen to clear it.
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
LEAST_NEIGHBOURS = 15
CLEARED_AT = 0.95
RELATED_SHARE = 0.15
"""Of pairs between two sessions of one person, so many are about the same things and are the nearest ones.
Measured on five conversations in two spaces: the 0.95 of strangers lies at 0.80 to 0.82 of these pairs."""
REASON = "relevance_floor"

Basis = Literal["owners", "sessions"]


@dataclass(frozen=True)
class Background:
    """Cosines of unrelated texts of one script in one vector space.

    Attributes:
        basis: Whether the pairs are of different owners, or of different sessions of one.
        pairs: How many.
        cosines: Their quantiles at ``SHARES``.
        cleared: Of texts that stand next to each other in a session, how many are nearer than the 0.95 of
            unrelated ones.
    """

    basis: Basis
    pairs: int
    cosines: tuple[float, ...]
    cleared: float

    def at(self, share: float) -> float:
        """The cosine that so large a share of unrelated texts stays below, by linear interpolation."""
        return float(np.interp(share, SHARES, self.cosines))

    def as_dict(self) -> dict[str, Any]:
        """The shape that a manifest holds."""
        return {**self.__dict__, "shares": SHARES}


def read_background(record: Mapping[str, Any]) -> Background:
    """What ``as_dict`` gave.

    Raises:
        ValueError: It is something else.
        KeyError: As ValueError.
        TypeError: As ValueError.
    """
    basis, pairs, cosines = record["basis"], record["pairs"], tuple(map(float, record["cosines"]))
    cleared = float(record["cleared"])
    is_ours = tuple(record["shares"]) == SHARES and len(cosines) == len(SHARES)
    is_sane = bool(np.isfinite([*cosines, cleared]).all() and (np.diff(cosines) >= 0).all())
    if basis not in ("owners", "sessions") or type(pairs) is not int or not (is_ours and is_sane):
        raise ValueError("no background of cosines")
    return Background(basis, pairs, cosines, cleared)


@dataclass(frozen=True)
class Sampled:
    """Cosines of sampled texts, read as questions, and what tells which of them are related.

    Attributes:
        cosines: float32 (queries, rows), query i being the text of row i; NaN where a vector is missing.
        beside: float32 (queries,), to the row that follows it in its session; NaN where none does.
        owner: Code of each row's owner.
        session: Code of each row's session; below 0 for none.
        script: Of each row's text (``transforms.scripts``).
    """

    cosines: NDArray[np.float32]
    beside: NDArray[np.float32]
    owner: NDArray[np.int64]
    session: NDArray[np.int64]
    script: NDArray[np.str_]


def backgrounds(sampled: Sampled) -> dict[str, Background]:
    """Of each script, quantiles of cosines between texts that are not about the same things.

    A script is missing where too few pairs can be told to be unrelated, or too few to belong together.
    """
    found = {
        name: _background(sampled, sampled.script == name) for name in np.unique(sampled.script).tolist()
    }
    return {name: one for name, one in found.items() if one is not None}


def _background(sampled: Sampled, is_mine: NDArray[np.bool_]) -> Background | None:
    queries = len(sampled.cosines)
    is_asked = is_mine[:queries]
    cosines = sampled.cosines[np.ix_(is_asked, is_mine)]
    beside = sampled.beside[is_asked]
    beside = beside[np.isfinite(beside)]
    if len(beside) < LEAST_NEIGHBOURS:
        return None
    is_known = np.isfinite(cosines)
    rows = [(codes[:queries][is_asked], codes[is_mine]) for codes in (sampled.owner, sampled.session)]
    (asker, owner), (from_session, session) = rows
    strangers = cosines[is_known & (asker[:, None] != owner[None, :])]
    if len(strangers) >= LEAST_PAIRS:
        return _quantiles("owners", strangers, 1.0, beside)
    is_told = (from_session[:, None] >= 0) & (session[None, :] >= 0)
    apart = cosines[is_known & is_told & (from_session[:, None] != session[None, :])]
    return _quantiles("sessions", apart, 1 - RELATED_SHARE, beside) if len(apart) >= LEAST_PAIRS else None


def _quantiles(
    basis: Basis, cosines: NDArray[np.float32], unrelated_share: float, beside: NDArray[np.float32]
) -> Background:
    shares = np.array([*SHARES, CLEARED_AT]) * unrelated_share
    *found, clear = np.quantile(cosines.astype(np.float64), shares).tolist()
    cleared = round(float((beside >= clear).mean()), 4)
    return Background(basis, len(cosines), tuple(round(value, 4) for value in found), cleared)


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


def floor_of(policy: RecallPolicy, space: str, measured: Mapping[str, Background], script: str) -> Floor:
    """The floor for a question: the policy's own of its space, else what was measured of its script.

    Args:
        policy: Shares, and floors of its own.
        space: Vector space.
        measured: Of the generation, by script.
        script: Of the question.
    """
    given = policy.relevance_floor.get(space)
    if given is not None:
        return Floor(relevance=given)
    mine = measured.get(script)
    if mine is None or policy.floor_share == 0 or mine.cleared < policy.floor_cleared:
        return Floor()
    return Floor(cosine=mine.at(policy.floor_share), words=policy.floor_words)


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
