"""Searches of a space of policies: random points, or points chosen by what earlier ones measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.replay.changes import Changes
from transforms.tuning.refine import refine
from transforms.tuning.space import Space
from transforms.tuning.tried import COSTS, QUALITY, Limits, Measure, Tried, aimed

REFINED_SHARE = 0.4
"""Part of the trials of a guided search that climb from the best of the trials before."""
FRONT_SHARE = 0.2
"""Part of them that looks for cheap policies beside good ones."""


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
    """A sampler that learns, then a climb from its best, then a look at cheap policies.

    The first is a tree-structured Parzen estimator (Bergstra et al. 2011), asked for a batch of points at a
    time: one pass of the replay measures many policies, and with the liar of optuna the points of a batch
    keep off each other. ``REFINED_SHARE`` of the trials climb (``refine``). The last ``FRONT_SHARE`` maximise
    quality and minimise tokens and bytes, so that the Pareto front holds more than by-products. Nothing is
    written, and nothing said.

    Args:
        space: Where to search.
        measure: Measures a batch.
        start: The point of the current policy, and its measures.
        count: Trials, 1 or more; a climb that has come to its end leaves some over.
        batch: Trials measured together.
        seed: Of the sampler.
        limits: What a trial may come to; the sampler is told of those that break them.

    Returns:
        The changes that were tried, and the measures of each batch.
    """
    import optuna

    tried = Tried(space, measure, limits, [start[0]], [start[1]])
    refined, front = int(count * REFINED_SHARE), int(count * FRONT_SHARE)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        _sampled(tried, (QUALITY,), count - refined - front, batch, seed)
        refine(tried, refined)
        _sampled(tried, (QUALITY, *_costs(start[1])), front, batch, seed)
    return tried.changes, tried.measured


def _sampled(tried: Tried, aims: Sequence[str], count: int, batch: int, seed: int) -> None:
    """Ask a sampler that knows what was tried before."""
    if not count:
        return
    study = _study(tried, aims, seed)
    for first in range(0, count, batch):
        asked = [study.ask(_sides(tried.space)) for _ in range(min(batch, count - first))]
        points = np.array([[trial.params[key] for key in tried.space.keys] for trial in asked])
        for trial, row in zip(asked, tried.add(points), strict=True):
            for name, over in tried.over(row).items():
                trial.set_constraint(name, over)
            study.tell(trial, [aimed(row, aim) for aim in aims])


def _study(tried: Tried, aims: Sequence[str], seed: int) -> Any:
    """A study in memory."""
    import optuna

    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    directions = ["maximize" if aim == QUALITY else "minimize" for aim in aims]
    study = optuna.create_study(sampler=sampler, directions=directions)
    for point, row in zip(tried.points, tried.rows, strict=True):
        study.add_trial(
            optuna.create_trial(
                values=[aimed(row, aim) for aim in aims],
                params=dict(zip(tried.space.keys, point.tolist(), strict=True)),
                distributions=_sides(tried.space),
                constraints=tried.over(row) or None,
            )
        )
    return study


def _sides(space: Space) -> dict[str, Any]:
    import optuna

    return {key: optuna.distributions.FloatDistribution(0.0, 1.0) for key in space.keys}


def _costs(row: Mapping[str, Any]) -> list[str]:
    return [name for name in COSTS if row.get(name) is not None and math.isfinite(row[name])]
