"""Which knob matters: each moved alone, and a map of half-life against the weight of recency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from transforms.policy import Policy
from transforms.policy_entries import MEMORY_KINDS
from transforms.replay.changes import Changes
from transforms.tuning.knobs import HALF_LIVES, WEIGHTS, Knob, knob_of, told, value_of
from transforms.tuning.result import HEAT, KNOBS, SWEEP
from transforms.tuning.space import Space, ladder

RECENCY = f"{WEIGHTS}recency"
MOST_WEIGHT = 0.8
"""Where weights are moved to: beyond it the other four have nothing to say, and answers fall apart."""


def sweep_changes(space: Space, policy: Policy, steps: int) -> list[tuple[str, Any]]:
    """Key and value of every policy that differs from one in a single knob.

    A weight moved alone leaves the others in their proportions. The value that the policy has is among
    them, so that a sweep passes through it.
    """
    found: list[tuple[str, Any]] = []
    for knob in space.knobs:
        values = dict.fromkeys([*_ladder(knob, steps), value_of(policy, knob.key)])
        found += [(knob.key, value) for value in sorted(values, key=_order)]
    return found


def _ladder(knob: Knob, steps: int) -> list[Any]:
    is_weight = knob.key.startswith(WEIGHTS) and not knob.choices
    return ladder(replace(knob, high=min(knob.high, MOST_WEIGHT)) if is_weight else knob, steps)


def _order(value: Any) -> tuple[int, Any]:
    """Numbers, then "never"; names by name."""
    return (1, 0.0) if value is None else (0, value)


def sweep_of(policy: Policy, moved: Sequence[tuple[str, Any]], quality: Sequence[float]) -> pl.DataFrame:
    """``SWEEP`` of what was moved and what it measured, in that order."""
    rows = [
        (key, _number(value), told(value), quality[i], value == value_of(policy, key))
        for i, (key, value) in enumerate(moved)
    ]
    return pl.DataFrame(rows, schema=SWEEP, orient="row")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def knobs_of(sweep: pl.DataFrame) -> pl.DataFrame:
    """``KNOBS`` of ``SWEEP``."""
    found = (
        sweep.group_by("key", maintain_order=True)
        .agg(
            range=pl.col("quality").max() - pl.col("quality").min(),
            least=pl.col("quality").min(),
            most=pl.col("quality").max(),
            at_most=pl.col("told").get(pl.col("quality").arg_max()),
            held=pl.col("told").filter("is_held").first(),
        )
        .sort("range", "key", descending=[True, False])
    )
    return found.select(list(KNOBS))


def commonest_kind(kinds: pl.Series) -> str:
    """The known kind of most candidates, the first by name of equals; empty where there are none."""
    known = kinds.filter(kinds.is_in(list(MEMORY_KINDS)))
    counts = known.value_counts(sort=False).sort(["count", kinds.name], descending=[True, False])
    return str(counts[kinds.name][0]) if counts.height else ""


def heat_changes(kind: str, steps: int) -> list[Changes]:
    """Every half-life of a kind with every weight of recency; the other weights keep their proportions."""
    lives, weights = _ladder(knob_of(f"{HALF_LIVES}{kind}"), steps), _ladder(knob_of(RECENCY), steps)
    return [{f"{HALF_LIVES}{kind}": life, RECENCY: weight} for life in lives for weight in weights]


def heat_of(kind: str, moved: Sequence[Changes], quality: Sequence[float]) -> pl.DataFrame:
    """``HEAT`` of what was moved and what it measured."""
    lives = [changes[f"{HALF_LIVES}{kind}"] for changes in moved]
    rows = [
        (_number(life), told(life), changes[RECENCY], value)
        for life, changes, value in zip(lives, moved, quality, strict=True)
    ]
    return pl.DataFrame(rows, schema=HEAT, orient="row")


def taken_back(changes: Changes, keys: Sequence[str]) -> list[Changes]:
    """The changes without one of the keys each, so that the current policy's value holds there again.

    All weights go together, as one alone cannot: they sum to 1.
    """
    weights = [key for key in keys if key.startswith(WEIGHTS)]
    groups = [*([weights] if weights else []), *([key] for key in keys if key not in weights)]
    return [{key: value for key, value in changes.items() if key not in group} for group in groups]
