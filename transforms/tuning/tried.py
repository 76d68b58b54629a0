"""Points of a space that a search has tried, and what each measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.replay.changes import Changes
from transforms.tuning.space import Space

Points = NDArray[np.float64]
Measure = Callable[[Sequence[Changes]], pl.DataFrame]
"""Measures changes of the current policy, all at once: ``quality``, ``tokens`` and ``index_bytes`` (null: not
known) among its columns, a row each, in their order."""
Limits = Mapping[str, float]
"""The most that a trial may come to, by column."""
QUALITY = "quality"
COSTS = ("tokens", "index_bytes")


@dataclass
class Tried:
    """A search so far, beginning with the current policy.

    Attributes:
        space: Where it searches.
        measure: Measures a batch.
        limits: What a trial may come to.
        points: (knobs,) each.
        rows: Measures of each.
        changes: Of each but the first.
        measured: Measures of each batch.
    """

    space: Space
    measure: Measure
    limits: Limits
    points: list[Points]
    rows: list[Mapping[str, Any]]
    changes: list[Changes] = field(default_factory=list)
    measured: list[pl.DataFrame] = field(default_factory=list)

    def add(self, points: Points) -> list[Mapping[str, Any]]:
        """Measure points (n x knobs); returns a row each."""
        changes = self.space.at(points)
        measured = self.measure(changes)
        rows: list[Mapping[str, Any]] = list(measured.iter_rows(named=True))
        self.points += list(points)
        self.rows += rows
        self.changes += changes
        self.measured.append(measured)
        return rows

    def best(self) -> int:
        """Position of the best, the first of equals."""
        worths = [self.worth(row) for row in self.rows]
        return worths.index(max(worths))

    def worth(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """What is better is more: fewer limits broken, then quality."""
        over = max([0.0, *self.over(row).values()])
        return -over, aimed(row, QUALITY)

    def over(self, row: Mapping[str, Any]) -> dict[str, float]:
        """By limit, how far a row is above it, as a part of it; at most 0 keeps it."""
        return {name: (float(row[name]) - most) / max(most, 1.0) for name, most in self.limits.items()}


def aimed(row: Mapping[str, Any], aim: str) -> float:
    """A measure, 0 where it is not known."""
    value = row[aim]
    return float(value) if value is not None and math.isfinite(value) else 0.0
