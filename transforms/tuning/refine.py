"""Small moves from the best point: what a sampler leaves undone, as it draws and does not climb."""

from __future__ import annotations

import numpy as np

from transforms.tuning.tried import QUALITY, Points, Tried, aimed

STEP = 0.2
"""First length of a move, as a part of a side of the cube; halved where no move is better."""
LEAST_STEP = 0.005
"""A shorter move changes a value in its third digit at most."""


def refine(tried: Tried, count: int) -> None:
    """Pattern search from the best point (Hooke and Jeeves 1961), every round of moves measured at once.

    A round tries both directions of every side, then all that were better together, and the best two. It
    goes to the best of these, or halves its step.

    Args:
        tried: The search so far; goes on with what is tried here.
        count: Most trials.
    """
    held, step, left = tried.best(), STEP, count
    while left > 0 and step >= LEAST_STEP:
        first = len(tried.points)
        around = _around(tried.points[held], step)[:left]
        tried.add(around)
        together = _together(tried, held, first)[: left - len(around)]
        if len(together):
            tried.add(together)
        left -= len(around) + len(together)
        best = tried.best()
        step = step if best != held else step / 2
        held = best


def _around(point: Points, step: float) -> Points:
    """Moves of one side each, in both directions, that stay on the cube."""
    moves = np.concatenate([-step * np.eye(len(point)), step * np.eye(len(point))])
    points = np.clip(point + moves, 0.0, 1.0)
    found: Points = points[(points != point).any(axis=1)]
    return found


def _together(tried: Tried, held: int, first: int) -> Points:
    """Better moves of different sides at once: all of them, and the best two."""
    base, worth = tried.points[held], tried.worth(tried.rows[held])
    gains: dict[int, tuple[float, float]] = {}
    for place in range(first, len(tried.points)):
        side = int(np.argmax(tried.points[place] != base))
        gain = aimed(tried.rows[place], QUALITY) - worth[1]
        if tried.worth(tried.rows[place]) > worth and gain > gains.get(side, (0.0, 0.0))[0]:
            gains[side] = gain, float(tried.points[place][side])
    sides = sorted(gains, key=lambda side: (-gains[side][0], side))
    groups = {tuple(sides), tuple(sides[:2])} - {tuple(sides[:1]), ()}
    found = np.tile(base, (len(groups), 1))
    for row, group in enumerate(sorted(groups)):
        found[row, list(group)] = [gains[side][1] for side in group]
    return found
