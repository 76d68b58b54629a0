"""Whether a policy that served better on the earlier span is told from chance on the later one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.evaluation.bootstrap import intervals, resampled_means
from transforms.policy_tune import TunePolicy
from transforms.tuning.result import FINALISTS, Gain, Span, metric_name

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Calls of the later span by what is drawn as a whole.

    Attributes:
        codes: int64 (calls): of the cluster.
        name: ``user`` or ``session``.
    """

    codes: Codes
    name: str

    def __len__(self) -> int:
        return len(np.unique(self.codes))


@dataclass(frozen=True)
class Verdict:
    """What to do, why, and what to know."""

    is_recommended: bool
    told: str
    warnings: tuple[str, ...]


def gain_of(difference: Numbers, drawn: Drawn, train_gain: float, tune: TunePolicy) -> Gain:
    """The gain of one policy over the current one, with its interval (paired bootstrap over clusters).

    Args:
        difference: float64 (calls of the later span): best less current.
        drawn: Clusters of these calls.
        train_gain: The same mean on the earlier span.
        tune: Section ``tune``.
    """
    ends = _intervals(difference[:, None], drawn, tune)[0]
    return Gain(*ends, tune.level, len(drawn), drawn.name, train_gain)


def _intervals(
    differences: Numbers, drawn: Drawn, tune: TunePolicy
) -> list[tuple[float, float | None, float | None]]:
    found = intervals(
        differences, clusters=drawn.codes, resamples=tune.resamples, level=tune.level, seed=tune.seed
    )
    return [(each.mean, each.low, each.high) for each in found]


def p_values(differences: Numbers, drawn: Drawn, tune: TunePolicy) -> Numbers:
    """Two-sided, of no gain, by column: twice the smaller share of resampled means on either side of 0.

    With one added to either count, so that no number of draws gives 0 (Davison and Hinkley 1997). 1 where
    there are fewer than two clusters.
    """
    means = resampled_means(differences, clusters=drawn.codes, resamples=tune.resamples, seed=tune.seed)
    below, above = (means <= 0).sum(axis=0), (means >= 0).sum(axis=0)
    values: Numbers = np.minimum(2.0 * (1.0 + np.minimum(below, above)) / (1.0 + len(means)), 1.0)
    return values


def holm(values: Numbers) -> Numbers:
    """The p values adjusted for their number (Holm 1979): the chance that any of them is taken for a gain."""
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(values) else steps
    return adjusted


def finalists(
    trials: pl.DataFrame, test: Numbers, current: Numbers, drawn: Drawn, tune: TunePolicy
) -> pl.DataFrame:
    """The best trials of the search on the later span.

    Args:
        trials: ``trial``, ``train`` and ``train_gain`` of each, best on the earlier span first.
        test: float64 (calls of the later span, trials): metric under each.
        current: float64 (calls): under the current policy.
        drawn: Clusters of these calls.
        tune: Section ``tune``.

    Returns:
        ``FINALISTS``.
    """
    if trials.is_empty():
        return pl.DataFrame(schema=FINALISTS)
    differences = test - current[:, None]
    raw = p_values(differences, drawn, tune)
    adjusted = holm(raw)
    ends = pl.DataFrame(
        _intervals(differences, drawn, tune),
        schema={n: FINALISTS[n] for n in ("gain", "low", "high")},
        orient="row",
    )
    rows = trials.hstack(ends).with_columns(
        test=pl.Series(test.mean(axis=0)),
        p_value=pl.Series(raw),
        p_adjusted=pl.Series(adjusted),
        is_better=pl.Series(adjusted < 1.0 - tune.level) & (ends["gain"] > 0),
    )
    return rows.select(pl.col(name).cast(kind) for name, kind in FINALISTS.items())


def verdict(
    gain: Gain,
    is_changed: bool,
    is_feasible: bool,
    tried: int,
    test: Span,
    tune: TunePolicy,
    order: Gain | None = None,
) -> Verdict:
    """Recommend, or refuse to.

    The policy was chosen on the earlier span alone, so that its one interval on the later span needs no
    adjustment for how many were tried; those of the other finalists do, and have it.

    Args:
        gain: Of the best policy.
        is_changed: Whether the best policy is another than the current one.
        is_feasible: Whether any trial keeps the constraints.
        tried: Policies measured on the earlier span.
        test: Later span.
        tune: Section ``tune``.
        order: The gain with every memory there that the current policy is taken to have forgotten, and that
            was recalled all the same: a gain that rests on these alone is no gain over what was served.
    """
    warnings = _warnings(gain, tried, test, tune) if is_changed else ()
    if not is_feasible:
        return Verdict(False, f"None of {tried:,} policies keeps the constraints.", warnings)
    if not is_changed:
        told = (
            f"None of {tried:,} policies serves better than the current one by more than {tune.tolerance:g} "
            "(tune.tolerance)."
        )
        return Verdict(False, told, warnings)
    if gain.low is None or gain.high is None or gain.clusters < tune.min_clusters:
        told = (
            f"Not recommended: the later span has {gain.clusters:,} {gain.clustered_by}s, and a gain of "
            f"{gain.mean:+.4f} in fewer than {tune.min_clusters:,} (tune.min_clusters) tells nothing."
        )
        return Verdict(False, told, warnings)
    name = metric_name(tune.metric, tune.metric_at)
    span = f"{name} {gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"
    if gain.low <= 0:
        told = f"Not recommended: on the later span {span} is not told from no gain."
        return Verdict(False, told, warnings)
    if order is not None and (order.low is None or order.low <= 0):
        told = (
            f"Not recommended: on the later span {span}, but that rests on memories which the current policy "
            f"is taken to have forgotten by then, and which were recalled all the same. Without them it is "
            f"{order.mean:+.4f}, not told from no gain."
        )
        return Verdict(False, told, warnings)
    return Verdict(True, f"Recommended: {span} on the later span.", warnings)


def _warnings(gain: Gain, tried: int, test: Span, tune: TunePolicy) -> tuple[str, ...]:
    told = [
        f"{tried:,} policies were tried on the earlier span, and the best of so many looks better there "
        f"than it is: {gain.train:+.4f} where it was chosen, {gain.mean:+.4f} on the later span. Only "
        "the later figure counts, and only for the policy that was chosen before that span was looked at."
    ]
    if gain.clustered_by == "session":
        told.append(
            f"The later span has {test.users:,} users, fewer than {tune.min_clusters:,}: the interval is "
            "over sessions, and says how sure the gain is for these users, not for others."
        )
    return tuple(told)
