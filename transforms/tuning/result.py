"""The result of a search for a policy: what was tried, what is best, and whether that is told from chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from transforms.declarations import INSTANT

METRICS = ("ndcg", "recall", "mrr", "hit")
"""Of the memories that were of use, each 0 to 1; higher is better."""

FINALISTS = {
    "trial": pl.Int64, "train": pl.Float64, "train_gain": pl.Float64, "test": pl.Float64,
    "gain": pl.Float64, "low": pl.Float64, "high": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "is_better": pl.Boolean,
}  # fmt: skip
"""Best trials of the earlier span, on the later one: ``gain`` is over the current policy there, with its
interval; ``p_adjusted`` by Holm over the rows; ``is_better`` where that is below 1 - level."""
SWEEP = {
    "key": pl.String,
    "value": pl.Float64,
    "told": pl.String,
    "quality": pl.Float64,
    "is_held": pl.Boolean,
}
"""One knob moved, all others as in the best policy: quality on the earlier span. ``value`` is null where it
is "never" or no number; ``told`` is always text; ``is_held``: the value of the best policy itself."""
KNOBS = {
    "key": pl.String, "range": pl.Float64, "least": pl.Float64, "most": pl.Float64, "at_most": pl.String,
    "held": pl.String,
}  # fmt: skip
"""By knob, the one that matters most first: highest less lowest quality of its sweep, the value (as text) of
the highest, and the value of the best policy."""
HEAT = {"half_life_days": pl.Float64, "told": pl.String, "recency_weight": pl.Float64, "quality": pl.Float64}
"""Quality on the earlier span by half-life of the commonest kind (null, told "never": endless) and weight."""
WEEKS = pl.Schema(
    {
        "week_at": INSTANT,
        "span": pl.String(),
        "calls": pl.Int64(),
        "current": pl.Float64(),
        "best": pl.Float64(),
    }
)
"""Quality by week (from Monday) and span, ``train`` or ``test``, under either policy."""
SLICES = {
    "by": pl.String, "name": pl.String, "calls": pl.Int64, "current": pl.Float64, "best": pl.Float64,
    "gain": pl.Float64, "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip
"""Who gains and who loses on the later span; ``by`` is tenant, agent, kind, route or verb. The ends of the
interval are null where there are too few to tell."""


@dataclass(frozen=True)
class Span:
    """Labelled calls of a stretch of time; instants of the first and the last."""

    from_at: datetime
    to_at: datetime
    calls: int
    sessions: int
    users: int


@dataclass(frozen=True)
class Measured:
    """A policy and how it served.

    Attributes:
        trial: Its row of the trials; 0 is the current policy.
        changes: Value by dotted key where it differs from the current policy; None is "never".
        train: Means over the earlier span: ``METRICS``, ``tokens`` of an answer, ``lost`` (share of the
            memories of use that the policy had forgotten by then).
        test: The same over the later span.
        index_rows: Memories held at the as-of under the policy; None where the memories are not known.
        index_bytes: Their size in the index.
    """

    trial: int
    changes: Mapping[str, Any]
    train: Mapping[str, float]
    test: Mapping[str, float]
    index_rows: int | None = None
    index_bytes: int | None = None


@dataclass(frozen=True)
class Gain:
    """Best less current on the later span, paired by call.

    Attributes:
        mean: The gain in the metric.
        low: Lower end of its interval; None where there are too few clusters to tell.
        high: Upper end.
        level: Confidence of the interval.
        clusters: How many were drawn.
        clustered_by: ``user``, ``session`` or ``call``.
        train: Gain on the earlier span, that was searched on.
    """

    mean: float
    low: float | None
    high: float | None
    level: float
    clusters: int
    clustered_by: str
    train: float

    @property
    def optimism(self) -> float:
        """How much more the search promised than the later span kept."""
        return self.train - self.mean


@dataclass(frozen=True)
class Tuning:
    """Everything of a search.

    Attributes:
        metric: One of ``METRICS``, what was maximised.
        metric_at: Places of an answer that count.
        search: ``guided``, ``random`` or ``grid``.
        seed: Of the search and of the draws.
        as_of: End of the window.
        label: Where it is taken from which memories were of use.
        keys: Dotted keys that were tried, and all weights where one was; each is a column of ``trials``.
        trials: A row a trial, 0 the current policy: ``trial``, a column a key (null is "never"), and on the
            earlier span ``quality`` (the metric), ``METRICS``, ``tokens``, ``lost``; ``index_rows`` and
            ``index_bytes`` (null: not known); ``is_feasible`` (keeps the constraints), ``is_pareto`` (no
            feasible trial is at least as good in all of quality, tokens and bytes and better in one),
            ``is_best``.
        current: The policy as configured.
        best: The feasible trial of highest quality on the earlier span; the current policy where none is
            higher, or none is feasible.
        gain: Of the best over the current policy on the later span.
        train: Earlier span.
        test: Later span.
        finalists: ``FINALISTS``.
        sweep: ``SWEEP``.
        knobs: ``KNOBS``.
        heat: ``HEAT``; empty where no kind fades.
        heat_kind: The kind whose half-life that is.
        weeks: ``WEEKS``.
        slices: ``SLICES``.
        constraints: Limit by column of ``trials``: ``tokens``, ``index_bytes``.
        is_recommended: Whether the gain is told from chance: its interval lies above 0.
        verdict: That in a sentence or two.
        warnings: What a reader has to know before believing it.
        notes: What was left out, and why.
    """

    metric: str
    metric_at: int
    search: str
    seed: int
    as_of: datetime
    label: str
    keys: tuple[str, ...]
    trials: pl.DataFrame
    current: Measured
    best: Measured
    gain: Gain
    train: Span
    test: Span
    finalists: pl.DataFrame
    sweep: pl.DataFrame
    knobs: pl.DataFrame
    heat: pl.DataFrame
    heat_kind: str
    weeks: pl.DataFrame
    slices: pl.DataFrame
    constraints: Mapping[str, float]
    is_recommended: bool
    verdict: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    policy_file: str | None = field(default=None)
    """Text of ``policy.toml``; None where nothing is recommended."""

    @property
    def metric_name(self) -> str:
        """Such as ``nDCG@10``."""
        return metric_name(self.metric, self.metric_at)


def metric_name(metric: str, at: int) -> str:
    """Such as ``nDCG@10``."""
    told = {"ndcg": "nDCG", "recall": "recall", "mrr": "MRR", "hit": "hit"}[metric]
    return f"{told}@{at}"
