"""Trials that no other trial beats in everything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def is_front(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows that no row dominates: is at most as much in every column, and less in one.

    Equal rows are on the front together. In the order of the first column only rows that come before can
    dominate, and a row is compared with the front so far alone: what a dominated row dominates, the front
    dominates too.

    Args:
        costs: n x m, less is better; a NaN is no number that could be compared, and the row is not in.
    """
    on_front = np.zeros(len(costs), np.bool_)
    order = np.lexsort(costs.T[::-1])
    front = np.zeros((0, costs.shape[1]))
    for place in order.tolist():
        row = costs[place]
        if np.isnan(row).any():
            continue
        beaten = (front <= row).all(axis=1) & (front < row).any(axis=1)
        if not beaten.any():
            on_front[place] = True
            front = np.vstack([front, row])
    return on_front
