"""Bootstrapped confidence intervals of means, by question or by whole conversations; seeded, vectorised."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_CELLS = 4_000_000
"""Counts of draws held at once (32 MB): with many questions the resamples are drawn in portions."""


@dataclass(frozen=True)
class Interval:
    """A mean and the interval its resampled means lie in; the ends are None where nothing can be said."""

    mean: float
    low: float | None
    high: float | None


def intervals(
    values: Numbers,
    *,
    clusters: Codes | None = None,
    resamples: int = 2_000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Interval]:
    """Percentile intervals of the mean of each column (Efron 1979).

    Args:
        values: n x m, a question a row; all columns are resampled alike, so differences of two systems
            on the same questions are had by passing their difference (the paired bootstrap).
        clusters: Code of each row's cluster, from 0. Then whole clusters are drawn, as questions on one
            conversation are not independent, and the mean is over all rows drawn. Null: rows are drawn.
        resamples: How many times.
        level: Share of resampled means inside.
        seed: Of the draws.

    Returns:
        One interval a column; the ends are None with fewer than two rows or clusters, which tell nothing
        of what others would have given.
    """
    rows, columns = values.shape
    if not rows:
        return []
    means = values.mean(axis=0)
    drawn = resampled_means(values, clusters=clusters, resamples=resamples, seed=seed)
    if not len(drawn):
        return [Interval(float(mean), None, None) for mean in means]
    outside = (1.0 - level) / 2
    low, high = np.quantile(drawn, [outside, 1.0 - outside], axis=0)
    return [Interval(float(means[i]), float(low[i]), float(high[i])) for i in range(columns)]


def resampled_means(
    values: Numbers, *, clusters: Codes | None = None, resamples: int = 2_000, seed: int = 0
) -> Numbers:
    """The means that ``intervals`` takes its ends of, resamples x m; none of fewer than two units."""
    sums, sizes = (values, np.ones(len(values))) if clusters is None else _by_cluster(values, clusters)
    if len(sums) < 2:
        return np.zeros((0, values.shape[1]))
    return np.concatenate([_means(draws, sums, sizes) for draws in _draws(len(sums), resamples, seed)])


def _by_cluster(values: Numbers, clusters: Codes) -> tuple[Numbers, Numbers]:
    """Sums and sizes of the clusters that occur."""
    names, codes = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, codes, values)
    return sums, np.bincount(codes).astype(np.float64)


def _draws(units: int, resamples: int, seed: int) -> Iterator[Numbers]:
    """How often each unit was drawn, resamples x units, in portions."""
    random = np.random.default_rng(seed)
    portion = max(1, _CELLS // units)
    for start in range(0, resamples, portion):
        size = min(portion, resamples - start)
        picked = random.integers(0, units, (size, units)) + np.arange(size)[:, None] * units
        counts = np.bincount(picked.ravel(), minlength=size * units)
        yield counts.reshape(size, units).astype(np.float64)


def _means(draws: Numbers, sums: Numbers, sizes: Numbers) -> Numbers:
    means: Numbers = (draws @ sums) / (draws @ sizes)[:, None]
    return means
