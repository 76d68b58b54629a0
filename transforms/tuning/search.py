"""Searches of a space of policies: random points, or points chosen by what earlier ones measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.replay.changes import Changes
from transforms.tuning.space import Space

Measure = Callable[[Sequence[Changes]], pl.DataFrame]
"""Measures changes of the current policy, all at once: ``quality``, ``tokens`` and ``index_bytes`` (null: not
known) among its columns, a row each, in their order."""
Limits = Mapping[str, float]
"""The most that a trial may come to, by column."""
QUALITY = "quality"
COSTS = ("tokens", "index_bytes")
FRONT_SHARE = 0.2
"""Part of the trials of a guided search that look for cheap policies beside good ones."""


def random_search(space: Space, count: int, seed: int) -> list[Changes]:
    """Points drawn evenly from the cube."""
    return space.at(np.random.default_rng(seed).random((count, len(space.knobs))))


def guided_search(
    space: Space,
    measure: Measure,
    start: tuple[NDArray[np.float64], Mapping[str, Any]],
    *,
    count: int,
    batch: int,
    seed: int,
    limits: Limits,
) -> tuple[list[Changes], list[pl.DataFrame]]:
    """A tree-structured Parzen estimator (Bergstra et al. 2011), asked for a batch of points at a time.

    Batches let one pass of the replay measure many policies; with the liar of optuna the points of a batch
    keep off each other. The last ``FRONT_SHARE`` of the trials maximise quality and minimise tokens and
    bytes, so that the Pareto front holds more than by-products. Nothing is written, and nothing said.

    Args:
        space: Where to search.
        measure: Measures a batch.
        start: The point of the current policy, and its measures.
        count: Trials, 1 or more.
        batch: Trials measured together.
        seed: Of the sampler.
        limits: What a trial may come to; the sampler is told of those that break them.

    Returns:
        The changes that were tried, and the measures of each batch.
    """
    import optuna

    found: list[Changes] = []
    measured: list[pl.DataFrame] = []
    known: list[tuple[NDArray[np.float64], Mapping[str, Any]]] = [start]
    front = int(count * FRONT_SHARE)
    plan = (((QUALITY,), count - front), ((QUALITY, *_costs(start[1])), front))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        for aims, trials in plan:
            study = _study(space, known, aims, limits, seed)
            for first in range(0, trials, batch):
                changes, rows, points = _batch(
                    study, space, measure, min(batch, trials - first), aims, limits
                )
                known += list(zip(points, rows.iter_rows(named=True), strict=True))
                found += changes
                measured.append(rows)
    return found, measured


def _batch(
    study: Any, space: Space, measure: Measure, count: int, aims: Sequence[str], limits: Limits
) -> tuple[list[Changes], pl.DataFrame, NDArray[np.float64]]:
    asked = [study.ask(_sides(space)) for _ in range(count)]
    points = np.array([[trial.params[key] for key in space.keys] for trial in asked])
    changes = space.at(points)
    rows = measure(changes)
    for trial, row in zip(asked, rows.iter_rows(named=True), strict=True):
        for name, over in _over(row, limits).items():
            trial.set_constraint(name, over)
        study.tell(trial, [_aimed(row, aim) for aim in aims])
    return changes, rows, points


def _study(
    space: Space,
    known: Sequence[tuple[NDArray[np.float64], Mapping[str, Any]]],
    aims: Sequence[str],
    limits: Limits,
    seed: int,
) -> Any:
    """A study in memory that knows what was tried before."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    directions = ["maximize" if aim == QUALITY else "minimize" for aim in aims]
    study = optuna.create_study(sampler=sampler, directions=directions)
    for point, row in known:
        study.add_trial(
            optuna.create_trial(
                values=[_aimed(row, aim) for aim in aims],
                params=dict(zip(space.keys, point.tolist(), strict=True)),
                distributions=_sides(space),
                constraints=_over(row, limits) or None,
            )
        )
    return study


def _sides(space: Space) -> dict[str, Any]:
    import optuna

    return {key: optuna.distributions.FloatDistribution(0.0, 1.0) for key in space.keys}


def _costs(row: Mapping[str, Any]) -> list[str]:
    return [name for name in COSTS if _is_number(row.get(name))]


def _aimed(row: Mapping[str, Any], aim: str) -> float:
    return float(row[aim]) if _is_number(row[aim]) else 0.0


def _over(row: Mapping[str, Any], limits: Limits) -> dict[str, float]:
    """By limit, how far a row is above it, as a part of it; at most 0 keeps it."""
    return {name: (float(row[name]) - most) / max(most, 1.0) for name, most in limits.items()}


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)
