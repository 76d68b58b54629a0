"""Which of the best rows are returned: those that say most together, not the same thing in other words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def diversified(
    scores: NDArray[np.float64],
    vectors: NDArray[np.floating[Any]],
    *,
    share: float,
    count: int | None,
    cosine: float,
) -> NDArray[np.int64]:
    """Places of rows with ``count`` of them first that differ; both parts best first.

    Carbonell and Goldstein, "The Use of MMR", 1998: one after the other the row with the highest score, less
    a share of the best score for its cosine to the likest row chosen before.

    Args:
        scores: Best first.
        vectors: Rows x d, row by row with them, of length 1 or zeros.
        share: 0 leaves the rows as they are.
        count: How many are wanted; all where None.
        cosine: A row nearer than this to one chosen repeats it: it counts for none, and stays where it is
            for ``scoring.originals`` to find.
    """
    places = np.arange(len(scores), dtype=np.int64)
    if share <= 0 or count is None or count >= len(scores):
        return places
    likest, is_repeat = np.zeros(len(scores)), np.zeros(len(scores), np.bool_)
    chosen: list[int] = []
    while len(chosen) < count and len(chosen) + np.count_nonzero(is_repeat) < len(scores):
        worth = scores - share * scores[0] * likest
        worth[is_repeat] = worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
        likest = np.maximum(likest, np.einsum("id,d->i", vectors, vectors[chosen[-1]]))
        is_repeat = likest > cosine
        is_repeat[chosen] = False
    is_first = is_repeat & (scores >= scores[chosen].min(initial=np.inf))
    is_first[chosen] = True
    return np.concatenate([places[is_first], places[~is_first]])
