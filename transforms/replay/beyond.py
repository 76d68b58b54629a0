"""The most relevant candidate of a call where it is not among the logged ones.

Closeness is relative to the best of all candidates. Those that are logged may lack it: a fact below the floor
of derived rows, one beyond the logged candidates, one that was erased since. What was logged of the others
tells how relevant it was: closeness = (relevance / best) ** power.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.factors import known
from transforms.replay.calls import Calls

Floats = NDArray[np.float64]
_LEAST = 1e-200
"""Closeness below this is on its way to underflow and tells nothing exact."""


def best_beyond(calls: Calls, is_about: NDArray[np.bool_]) -> Floats:
    """Relevance of the best candidate of each call where it was not logged, else 0.

    Args:
        calls: Their closeness and relevance, and the hash of the policy that they were answered under.
        is_about: By call, whether its closeness is by relevance at all.
    """
    if not len(calls):
        return np.zeros(0)
    starts = calls.starts[:-1]
    near = known(calls.rows["closeness"].to_numpy())
    relevance = known(calls.rows["relevance"].to_numpy())
    best_near, best = np.maximum.reduceat(near, starts), np.maximum.reduceat(relevance, starts)
    is_usable = (near > _LEAST) & (relevance > 0)
    # The further a row is, the less close: the least of each are those of one row.
    low_near = np.minimum.reduceat(np.where(is_usable, near, np.inf), starts)
    low = np.minimum.reduceat(np.where(is_usable, relevance, np.inf), starts)
    powers = _powers(calls.heads["policy_hash"], is_about, (best, best_near), (low, low_near))
    missing = is_about & (best_near < 1) & (best_near > _LEAST) & (best > 0) & (powers > 0)
    found = np.zeros(len(calls))
    found[missing] = best[missing] * best_near[missing] ** (-1.0 / powers[missing])
    # Nothing logged is relevant, and yet nothing counts in full: something else was.
    found[is_about & (best_near < 1) & (best == 0)] = 1.0
    return found


def _powers(
    hashes: pl.Series, is_about: NDArray[np.bool_], top: tuple[Floats, Floats], low: tuple[Floats, Floats]
) -> Floats:
    """``closeness_power`` of the policy of each call, as its most telling call has it; 0: none tells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(top[0]) - np.log(low[0])
        slope = (np.log(top[1]) - np.log(low[1])) / apart
    is_usable = is_about & np.isfinite(apart) & np.isfinite(slope) & (apart > 0) & (slope > 0)
    told = pl.DataFrame({"policy_hash": hashes, "apart": np.where(is_usable, apart, 0.0), "power": slope})
    by_policy = told.filter(pl.Series(is_usable)).sort("apart", "power", descending=True)
    firsts = by_policy.unique("policy_hash", keep="first", maintain_order=True)
    joined = told.select("policy_hash").join(
        firsts.select("policy_hash", "power"), on="policy_hash", how="left", maintain_order="left"
    )
    return joined["power"].fill_null(0.0).to_numpy()
