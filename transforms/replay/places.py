"""Places of the candidates that were of use among all of their call, and the measures of those places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transforms.replay.arrays import Floats, Replay, Whole
from transforms.replay.blocks import Block

_BYTE = 255
"""Most that a count of one byte holds."""


@dataclass(frozen=True)
class Labels:
    """Candidates with a gain, call after call.

    Attributes:
        starts: int64 (calls + 1).
        places: int64: of each, its place in the layout of its call, from 0.
        gains: float64: of each, above 0.
    """

    starts: Whole
    places: Whole
    gains: Floats


def labels_of(replay: Replay) -> Labels:
    """Every candidate with a gain above 0."""
    gains = replay.gain[replay.layout]
    held = np.flatnonzero(gains > 0)
    call = np.repeat(np.arange(len(replay)), np.diff(replay.starts))[held]
    starts = np.concatenate([[0], np.cumsum(np.bincount(call, minlength=len(replay)))]).astype(np.int64)
    return Labels(starts, held - replay.starts[call], gains[held])


def ideal_gains(replay: Replay, metric_at: int) -> Floats:
    """By call, the discounted gain of the best possible order; 0 where nothing was of use."""
    held = np.flatnonzero(replay.gain > 0)
    call = np.repeat(np.arange(len(replay)), np.diff(replay.starts))[held]
    order = np.lexsort((-replay.gain[held], call))
    held, call = held[order], call[order]
    firsts = np.searchsorted(call, np.arange(len(replay)))
    place = np.arange(len(held)) - firsts[call]
    worth = replay.gain[held] * discounts(metric_at)[np.minimum(place, metric_at)]
    found: Floats = np.bincount(call, weights=worth, minlength=len(replay)).astype(np.float64)
    return found


def discounts(metric_at: int) -> Floats:
    """1 / log2(1 + place) of the places from 1 to ``metric_at``, and 0 for those beyond."""
    return np.append(1.0 / np.log2(1.0 + np.arange(1, metric_at + 1)), 0.0)


class Places:
    """Places of the labels of a block, by policy.

    Args:
        block: Of calls with a label each.
        labels: Of all calls.
        width: Policies, P.
        metric_at: Places that count; the others are one.
    """

    def __init__(self, block: Block, labels: Labels, width: int, metric_at: int) -> None:
        self._block, self._metric_at = block, metric_at
        self._counts = np.diff(labels.starts)[block.calls]
        self._starts = np.concatenate([[0], np.cumsum(self._counts)]).astype(np.int64)
        mine = labels.starts[block.calls] - self._starts[:-1]
        held = np.arange(self._starts[-1]) + np.repeat(mine, self._counts)
        self._places, self._gains = labels.places[held], labels.gains[held]
        self._better = np.zeros((len(held), width), np.int64)

    def count(self, keys: Floats, part: slice) -> None:
        """See how many candidates are better than each label of some calls of the block.

        Args:
            keys: float64 (calls, n, P), see ``scores.Scorer.keys``.
            part: Which calls.
        """
        counts = self._counts[part]
        for number in range(int(counts.max())):
            mine = np.flatnonzero(counts > number)
            labels = self._starts[part.start + mine] + number
            held = keys if len(mine) == len(keys) else keys[mine]
            own = keys[mine, self._places[labels]][:, None, :]
            found = _better(held[:, :_BYTE], own)
            for begin in range(_BYTE, keys.shape[1], _BYTE):
                found += _better(held[:, begin : begin + _BYTE], own)
            self._better[labels] = found

    def measures(self, rows: Floats | None = None) -> dict[str, Floats]:
        """``ndcg`` (not yet over the best possible), ``recall``, ``mrr`` and ``hit``; float64 (C, P) each.

        Args:
            rows: float64 (C, P): of the answers; places beyond do not count. None: all up to metric_at do.
        """
        shape, most = (len(self._counts), self._better.shape[1]), self._metric_at
        gained, within, best = np.zeros(shape), np.zeros(shape), np.full(shape, most)
        discount = discounts(most)
        for number in range(int(self._counts.max())):
            mine = np.flatnonzero(self._counts > number)
            labels = self._starts[mine] + number
            better = np.minimum(self._better[labels], most)
            better[~self._block.is_there[mine, self._places[labels]]] = most
            if rows is not None:
                better[better >= rows[mine]] = most
            gained[mine] += self._gains[labels][:, None] * discount[better]
            within[mine] += better < most
            best[mine] = np.minimum(best[mine], better)
        is_hit = best < most
        return {
            "ndcg": gained,
            "recall": within / self._counts[:, None],
            "mrr": np.where(is_hit, 1.0 / (1.0 + best), 0.0),
            "hit": is_hit.astype(np.float64),
        }


def _better(keys: Floats, own: Floats) -> Whole:
    """How many of at most ``_BYTE`` candidates have a higher key, counted in bytes; int64 (calls, P)."""
    is_better: NDArray[np.bool_] = keys > own
    counts: Whole = np.add.reduce(is_better.view(np.uint8), axis=1, dtype=np.uint8).astype(np.int64)
    return counts


def lost_of(replay: Replay, block: Block) -> Floats:
    """Share of the gain of each call that belongs to candidates which are not there; float64 (C,)."""
    gains = np.where(block.is_row, replay.gain[block.rows], 0.0)
    lost: Floats = np.where(block.is_there, 0.0, gains).sum(axis=1) / gains.sum(axis=1)
    return lost
