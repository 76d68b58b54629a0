"""The factors of a score as formulas of arrays that broadcast.

``transforms.scoring`` reckons the rows of one call with them, ``transforms.replay.scores`` those of many
calls by many policies. ``out`` is where a result goes, of its shape: new arrays cost more than the sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Numeric = Floats | float

BLIND_ROUTES = ("general", "recency")
"""Routes of questions that are about nothing: relevance tells no rows apart, all are as close."""


def known(values: ArrayLike) -> Floats:
    """Float64, NaN (not known, or the cosine of an empty vector) as 0."""
    wide = np.asarray(values, np.float64)
    return np.where(np.isnan(wide), 0.0, wide)


def closeness_of(relevance: Floats, best: Numeric, power: Numeric, out: Floats | None = None) -> Floats:
    """(Relevance over the best one of the call, above 0) to a power: what the other factors are times."""
    near: Floats = np.power(np.clip(relevance / best, 0.0, 1.0), power, out=out)
    return near


def recency_of(age_days: Floats, half_life_days: Numeric, out: Floats | None = None) -> Floats:
    """Half for each half-life; an endless one keeps 1. Ages are at least 0."""
    faded: Floats = np.exp2(np.divide(-age_days, half_life_days, out=out), out=out)
    return faded


def importance_of(importance: Floats, boost: Numeric, out: Floats | None = None) -> Floats:
    """Importance with what a success adds, 0 to 1."""
    boosted: Floats = np.clip(np.add(importance, boost, out=out), 0.0, 1.0, out=out)
    return boosted


def frequency_of(accesses: Floats, scale: Numeric, out: Floats | None = None) -> Floats:
    """Logarithm of accesses over that of the scale, 0 to 1. Accesses are at least 0."""
    often: Floats = np.clip(np.divide(np.log1p(accesses), np.log(scale), out=out), 0.0, 1.0, out=out)
    return often


def bonus_of(bonus: Floats, out: Floats | None = None) -> Floats:
    """Bonus of a tier, 0 to 1."""
    held: Floats = np.clip(bonus, 0.0, 1.0, out=out)
    return held
