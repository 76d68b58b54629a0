"""A second opinion on the best rows of a search, mixed into their relevance without moving the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]


def top_positions(relevance: Numbers, count: int) -> Positions:
    """Positions of the ``count`` most relevant rows, best first; of equal ones the earlier."""
    return np.argsort(-relevance, kind="stable")[:count].astype(np.int64)


def mixed(relevance: Numbers, positions: Positions, scores: Numbers, share: float) -> Numbers:
    """Relevance in which some rows are ordered anew.

    Only differences of the scores count, never their size: a model's logits and another's shares are both
    spread over the span that the relevance of these rows has. So the rows stay above those that were
    not scored, and what is measured against a floor keeps its scale.

    Args:
        relevance: 0 to 1, by row.
        positions: Rows that were scored.
        scores: Finite, higher is better, in the order of ``positions``.
        share: Weight of the scores in the new order; the rest is the old relevance.

    Returns:
        A copy with new values at the positions.
    """
    changed = relevance.astype(np.float64)
    held = changed[positions]
    low, high = held.min(initial=1.0), held.max(initial=0.0)
    if not len(held) or not (_spread(held).any() and _spread(scores).any()):
        return changed  # all alike, or apart by less than a number can tell
    new = (1 - share) * _spread(held) + share * _spread(scores)
    changed[positions] = low + (high - low) * _spread(new)
    return changed


def _spread(values: Numbers) -> Numbers:
    """Values from 0 (the least) to 1 (the most); all 0 where they are equal."""
    halved = values / 2  # of the largest numbers the span itself would overflow
    span = float(halved.max() - halved.min())
    return (halved - halved.min()) / span if span > 0 else np.zeros_like(values)
