"""The retention score: what a memory is still worth at an instant, and when it falls below the threshold.

A pure function of the memory, its accesses, the policy and the instant; no score is made from a score.
All instants are microseconds since 1970 inside the expressions.
"""

from __future__ import annotations

import math
from datetime import datetime

import polars as pl

from transforms import retention
from transforms.policy_retention import DecayPolicy
from transforms.schemas import INSTANT, KINDS

_DAY_US = 86_400_000_000
_FAR_US = 36_500 * _DAY_US
"""Nothing is forgotten later than this after its last access: it stays inside the calendar."""
_FADING = tuple(kind for kind in KINDS if kind != "summary")
"""Kinds whose priority steps down with age: what happened, not what was made of it."""
_FALLBACK = "conversation"
"""Kind whose half-life an unknown kind takes."""


_PARTS = ("decay_rate", "lasting", "is_fading")


def scored(rows: pl.LazyFrame, decay: DecayPolicy, as_of: datetime) -> pl.LazyFrame:
    """Rows with their retention ``score``, Float64 from 0 to 1, and ``forgotten_at``.

    Args:
        rows: ``kind``, ``importance``, ``event_at``, ``access_count`` and ``last_accessed_at``.
        decay: Weights, half-lives and threshold.
        as_of: The instant; an access after it counts as one at it.

    Returns:
        The rows in their order; ``forgotten_at`` is the first instant at which the score falls below the
        threshold if nobody asks again, null for never.

    Raises:
        UsageError: The as-of has no time zone.
    """
    parted = rows.with_columns(_rate(decay), _lasting(decay), _is_fading(decay))
    return parted.with_columns(_score(decay, as_of), _forgotten_at(decay)).drop(_PARTS)


def score_expr(decay: DecayPolicy, as_of: datetime) -> pl.Expr:
    """``score`` of ``scored`` alone, as one expression."""
    worth = _lasting(decay) + decay.recency_weight * recency_expr(decay, as_of)
    return (priority_expr(decay, as_of) * worth).clip(0.0, 1.0).alias("score")


def recency_expr(decay: DecayPolicy, as_of: datetime) -> pl.Expr:
    """0.5 ** (days since the last access / half-life of the kind); 1 for an access in the future."""
    return _recency(_rate(decay), as_of)


def frequency_expr(decay: DecayPolicy) -> pl.Expr:
    """min(1, ln(1 + accesses) / ln(scale))."""
    counted = pl.col("access_count").cast(pl.Float64).log1p() / math.log(decay.frequency_scale)
    return counted.clip(0.0, 1.0).alias("frequency")


def priority_expr(decay: DecayPolicy, as_of: datetime) -> pl.Expr:
    """What the score is multiplied with: less for an episode of a certain age, counted from its event."""
    return _priority(decay, _is_fading(decay), as_of)


def is_forgotten(decay: DecayPolicy) -> pl.Expr:
    """Whether a row with ``score`` is below the threshold."""
    return pl.col("score") < decay.forget_below


def _score(decay: DecayPolicy, as_of: datetime) -> pl.Expr:
    worth = pl.col("lasting") + decay.recency_weight * _recency(pl.col("decay_rate"), as_of)
    return (_priority(decay, pl.col("is_fading"), as_of) * worth).clip(0.0, 1.0).alias("score")


def _recency(rate: pl.Expr, as_of: datetime) -> pl.Expr:
    # exp is several times as fast as a power.
    return (_days(pl.col("last_accessed_at"), as_of) * rate).exp().alias("recency")


def _steps(decay: DecayPolicy) -> list[tuple[float, float]]:
    """Age in days and priority from there on, in the order of age."""
    given = (
        (decay.fade_after_days, decay.fade_factor),
        (decay.fade_more_after_days, decay.fade_more_factor),
    )
    return sorted((after, factor) for after, factor in given if after is not None)


def _priority(decay: DecayPolicy, fades: pl.Expr, as_of: datetime) -> pl.Expr:
    found, days = pl.lit(1.0), _days(pl.col("event_at"), as_of)
    for after, factor in _steps(decay):
        found = pl.when(fades & (days >= after)).then(factor).otherwise(found)
    return found.alias("priority")


def _forgotten_at(decay: DecayPolicy) -> pl.Expr:
    """When the score falls below the threshold.

    Each stretch of one priority p is solved for itself: p (lasting + weight x recency) = threshold at
    recency = (threshold / p - lasting) / weight, hence half-life x log2(1 / recency) days after the
    last access. The earliest moment that lies in its own stretch is the answer.
    """
    event, fades = pl.col("event_at").to_physical(), pl.col("is_fading")
    steps = [(event + math.ceil(after * _DAY_US), factor) for after, factor in _steps(decay)]
    first = _falls_at(decay, 1.0, pl.col("last_accessed_at").to_physical())
    moments = [first if not steps else pl.when(~fades | (first < steps[0][0])).then(first)]
    for place, (begins, factor) in enumerate(steps):
        falls = _falls_at(decay, factor, begins)
        ends = steps[place + 1][0] if place + 1 < len(steps) else pl.lit(None, pl.Int64)
        moments.append(pl.when(fades & (ends.is_null() | (falls < ends))).then(falls))
    return pl.min_horizontal(moments).cast(INSTANT).alias("forgotten_at")


def _falls_at(decay: DecayPolicy, priority: float, begins: pl.Expr) -> pl.Expr:
    """When the score of a stretch that begins then is below the threshold; null for never."""
    if priority == 0:
        return begins if decay.forget_below > 0 else pl.lit(None, pl.Int64)
    wanted = decay.forget_below / priority - pl.col("lasting")
    if decay.recency_weight == 0:
        return pl.when(wanted > 0).then(begins)
    share, rate = wanted / decay.recency_weight, pl.col("decay_rate")
    # Of a share above 1 it never was worth keeping; of one at or below 0 it never falls so far.
    days = pl.when((share > 0) & (rate < 0)).then(share.log() / rate)
    moment = pl.col("last_accessed_at").to_physical() + (days * _DAY_US).clip(0, _FAR_US).cast(pl.Int64)
    return pl.when(share > 1).then(begins).when(moment.is_not_null()).then(pl.max_horizontal(begins, moment))


def _lasting(decay: DecayPolicy) -> pl.Expr:
    """The part of the score that age does not touch."""
    importance = pl.col("importance").cast(pl.Float64)
    return (decay.importance_weight * importance + decay.frequency_weight * frequency_expr(decay)).alias(
        "lasting"
    )


def _is_fading(decay: DecayPolicy) -> pl.Expr:
    fades = pl.col("kind").is_in(_FADING) if _steps(decay) else pl.lit(False)
    return fades.alias("is_fading")


def _rate(decay: DecayPolicy) -> pl.Expr:
    """Logarithm of what is left of recency after a day: -ln 2 / half-life; 0 for a kind without one."""
    rates = {k: -math.log(2) / d if d else 0.0 for k, d in decay.half_life_days.items()}
    default = rates.get(_FALLBACK, 0.0)
    found = pl.col("kind").replace_strict(
        list(rates), list(rates.values()), default=default, return_dtype=pl.Float64
    )
    return found.alias("decay_rate")


def _days(since: pl.Expr, as_of: datetime) -> pl.Expr:
    """Days from an instant to the as-of; 0 where the writer's clock was ahead."""
    age = retention.instant(as_of).to_physical() - since.to_physical()
    return (age / _DAY_US).clip(lower_bound=0.0)
