"""Blocks of calls: candidates of some of them as arrays of one shape, and how many fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transforms.replay.arrays import Flags, Floats, Replay, Whole

CELLS = 131_072
"""Candidates times policies that are scored at a time: a megabyte an array, about the cache of a core."""
ROWS = 16_384
"""Candidates of a block, some 3 MB: what is gathered once for all portions of it."""
WIDTH = 512
"""Most policies at a time: a longer row of a product gains nothing."""
_ARRAYS, _COLUMNS = 6, 24
"""Arrays of cells and of rows that are held at once, at most."""


@dataclass(frozen=True)
class Block:
    """Candidates of C calls in the order of ``Replay.layout``, n places a call, some of them without a row.

    Attributes:
        calls: int64 (C,).
        rows: int64 (C, n): positions among the rows of the replay.
        is_row: bool (C, n): whether the place has a row.
        is_there: bool (C, n): and whether its memory was there.
        relevance: float64 (C, n); 0 of what is not there.
        near: float64 (C, n): relevance, and 1 where closeness is 1 for all.
        best: float64 (C, 1): the best of ``near``.
        age_days: float64 (C, n).
        accesses: float64 (C, n).
        importance: float64 (C, n).
        is_success: float64 (C, n): 1 or 0.
        kind: int64 (C, n).
        tier: int64 (C, n).
        is_kept: bool (C,): whether their order is as it was.
    """

    calls: Whole
    rows: Whole
    is_row: Flags
    is_there: Flags
    relevance: Floats
    near: Floats
    best: Floats
    age_days: Floats
    accesses: Floats
    importance: Floats
    is_success: Floats
    kind: Whole
    tier: Whole
    is_kept: Flags


def block_of(replay: Replay, calls: Whole, state: str, alive: Flags | None) -> Block:
    """Candidates of some calls; the best of a call is the best of those that are there."""
    first = replay.starts[calls]
    lengths = replay.starts[calls + 1] - first
    steps = np.arange(lengths.max(initial=0))
    is_row = steps < lengths[:, None]
    rows = replay.layout[np.where(is_row, first[:, None] + steps, first[:, None])]
    is_there = is_row if alive is None else is_row & alive[rows]
    relevance = np.where(is_there, replay.relevance[rows], 0.0)
    best = np.maximum(relevance.max(axis=1, initial=0.0), replay.beyond[calls])[:, None]
    is_flat = ~(replay.is_about[calls][:, None] & (best > 0))
    seen = replay.seen[state]
    return Block(
        calls=calls,
        rows=rows,
        is_row=is_row,
        is_there=is_there,
        relevance=relevance,
        near=np.where(is_flat, 1.0, relevance),
        best=np.where(is_flat, 1.0, best),
        age_days=seen.age_days[rows],
        accesses=seen.accesses[rows],
        importance=replay.importance[rows],
        is_success=replay.is_success[rows].astype(np.float64),
        kind=replay.kind[rows],
        tier=replay.tier[rows],
        is_kept=replay.is_kept[calls],
    )


def width_of(replay: Replay, calls: Whole, block_bytes: int) -> int:
    """Most policies at a time, so that a call of the most candidates fits, if any do."""
    longest = int(np.diff(replay.starts)[calls].max(initial=1))
    return max(1, min(WIDTH, CELLS // longest, block_bytes // (8 * _ARRAYS * longest)))


def blocks(replay: Replay, calls: Whole, block_bytes: int) -> list[Whole]:
    """Calls in portions, in their order, whose candidates fit; one of very many is alone."""
    most = max(1, min(ROWS, block_bytes // (8 * _COLUMNS)))
    lengths = np.diff(replay.starts)[calls]
    found, first = [], 0
    while first < len(calls):
        some = lengths[first : first + most]
        fits = np.arange(1, len(some) + 1) * np.maximum.accumulate(some) <= most
        count = max(1, int(fits.sum()))
        found.append(calls[first : first + count])
        first += count
    return found


def slices(block: Block, width: int, block_bytes: int) -> Iterator[slice]:
    """Calls of a block by so many at a time as may be scored under ``width`` policies."""
    cells = min(CELLS, block_bytes // (8 * _ARRAYS))
    count = max(1, cells // (width * max(1, block.rows.shape[1])))
    for first in range(0, len(block.calls), count):
        yield slice(first, min(first + count, len(block.calls)))


def by_weights(replay: Replay, calls: Whole, agents: Whole) -> list[tuple[int, Whole]]:
    """Calls by the place of their weights; those of one verb and as many candidates are neighbours."""
    candidates = np.diff(replay.starts)[calls]
    labels = np.add.reduceat((replay.gain > 0).astype(np.int64), replay.starts[:-1])[calls]
    is_search = np.isnan(replay.budget_tokens)[calls]
    ordered = calls[np.lexsort((calls, labels, candidates, is_search))]
    return [(place, ordered[agents[ordered] == place]) for place in np.unique(agents[ordered]).tolist()]
