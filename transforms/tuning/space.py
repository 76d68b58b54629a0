"""Spaces of policies: a unit cube mapped to values, grids of them, and the file that describes them.

A search knows nothing of half-lives: it picks points of a cube, every side from 0 to 1, and a space says
which policy a point is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transforms.errors import ConfigError
from transforms.policy import Policy
from transforms.replay.changes import Changes, changed
from transforms.tuning.knobs import (
    DIGITS,
    HALF_LIVES,
    KNOBS,
    WEIGHTS,
    Knob,
    checked,
    is_number,
    knob_of,
    value_of,
)

Points = NDArray[np.float64]

NEVER_SHARE = 0.1
"""Part of a side of the cube that is "never", where a knob has it."""
WEIGHT_UNITS = 1_000
"""Weights are thousandths, so that a file names them in three digits and they sum to exactly 1."""
DECIMALS = 9
"""Of a weight that makes up the sum where others were given in more digits."""
_EDGE = 1e-9
"""Sides end so far from 0 and 1, whose logarithms are no weights."""
_DEPTH = 8
"""No key of a policy has more parts, however deep somebody nests a file."""
_GREATEST = 1e18
"""No number of a policy is greater."""
_RANGE_KEYS = ("min", "max", "steps", "scale", "never")


@dataclass(frozen=True)
class Space:
    """Knobs, a side of the cube each.

    Attributes:
        knobs: Each key once.
        is_simplex: Whether the knobs of weights are drawn evenly from all weights that sum to 1, with
            all five named; else each has its own range, and they are scaled down where they pass 1.
    """

    knobs: tuple[Knob, ...]
    is_simplex: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the knobs."""
        return tuple(knob.key for knob in self.knobs)

    def at(self, points: Points) -> list[Changes]:
        """The changes that points (n x knobs, 0 to 1) stand for."""
        columns = {knob.key: values_of(knob, points[:, i]) for i, knob in enumerate(self.knobs)}
        weights = [i for i, knob in enumerate(self.knobs) if knob.key.startswith(WEIGHTS)]
        if weights and self.is_simplex:
            # Exponential draws over their sum: evenly spread on the simplex (Dirichlet of ones).
            drawn = -np.log(np.clip(points[:, weights], _EDGE, 1.0 - _EDGE))
            units = _thousandths(drawn / drawn.sum(axis=1, keepdims=True))
            columns |= {
                self.knobs[i].key: (units[:, n] / WEIGHT_UNITS).tolist() for n, i in enumerate(weights)
            }
        elif weights:
            columns |= _scaled({self.knobs[i].key: columns[self.knobs[i].key] for i in weights})
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def point(self, policy: Policy) -> Points:
        """The point (knobs,) that comes nearest to a policy."""
        return np.array([self._place(knob, value_of(policy, knob.key)) for knob in self.knobs])

    def _place(self, knob: Knob, value: Any) -> float:
        if knob.choices:
            held = knob.choices.index(value) if value in knob.choices else 0
            return (held + 0.5) / len(knob.choices)
        if value is None:
            return 1.0 - NEVER_SHARE / 2
        if self.is_simplex and knob.key.startswith(WEIGHTS):
            return math.exp(-float(value))
        low, high, value = (_on(knob, v) for v in (knob.low, knob.high, min(max(value, knob.low), knob.high)))
        share = (value - low) / (high - low) if high > low else 0.5
        return share * (1.0 - NEVER_SHARE if knob.has_never else 1.0)

    def grid(self, limit: int) -> tuple[list[Changes], int]:
        """Every combination of the knobs' values, and how many were left out as their weights pass 1.

        Raises:
            ConfigError: There are more than the limit.
        """
        ladders = [ladder(knob) for knob in self.knobs]
        count = math.prod(len(values) for values in ladders)
        if count > limit:
            raise ConfigError(
                f"the grid has {count:,} policies, more than tune.grid_limit ({limit:,})",
                "Give fewer values or steps, or search it with --search guided --trials N.",
            )
        every: list[Changes] = [dict(zip(self.keys, row, strict=True)) for row in itertools.product(*ladders)]
        kept = [row for row in every if _weight(row) <= 1.0 + 1e-9]
        return kept, len(every) - len(kept)


def policy_of(policy: Policy, changes: Changes) -> Policy:
    """The policy with changes, the weights that they do not name rounded to thousandths.

    Those keep their proportions, which alone gives numbers that nobody would write. What rounding leaves
    goes to the greatest of them.
    """
    told = changed(policy, changes)
    named = {key.removeprefix(WEIGHTS) for key in changes if key.startswith(WEIGHTS)}
    weights = told.recall.weights_for(None).model_dump()
    rest = [name for name in weights if name not in named]
    if not named or not rest:
        return told
    units = {name: round(weights[name] * WEIGHT_UNITS) / WEIGHT_UNITS for name in rest}
    left = 1.0 - sum(weights[name] for name in named) - sum(units.values())
    greatest = max(rest, key=lambda name: units[name])
    units[greatest] = max(round(units[greatest] + left, DECIMALS), 0.0)
    whole = {f"{WEIGHTS}{name}": units.get(name, weights[name]) for name in weights}
    return changed(told, whole)


def usual_space(kinds: Iterable[str]) -> Space:
    """All weights, how close a row must be, and the half-lives of the kinds that occur."""
    wanted = {f"{HALF_LIVES}{kind}" for kind in kinds}
    weights = [key for key in KNOBS if key.startswith(WEIGHTS)]
    lives = [key for key in KNOBS if key in wanted]
    return Space(tuple(map(knob_of, [*weights, "recall.closeness_power", *lives])), is_simplex=True)


def space_of(tree: Mapping[str, Any], policy: Policy) -> Space:
    """The space that a grid file describes.

    Args:
        tree: The parsed file: by dotted key, or in nested tables, a list of values or a table of ``min``,
            ``max``, ``steps``, ``scale`` ("linear" or "log") and ``never`` (whether "never" is one more).
        policy: What the values must fit in.

    Raises:
        ConfigError: A key or a value is none that can be tuned; all that is wrong with one key is told.
    """
    found = tuple(_knob(key, told, policy) for key, told in _flat(tree, ""))
    if not found:
        raise ConfigError("the grid names no key", "Give values such as: recall.closeness_power = [2, 6]")
    twice = [key for key in {k.key for k in found} if sum(k.key == key for k in found) > 1]
    if twice:
        raise ConfigError(f"the grid names {min(twice)} twice", "Once in quotes, once in a table: keep one.")
    return Space(found)


def ladder(knob: Knob, steps: int | None = None) -> list[Any]:
    """Values of a knob for a grid, each once: its choices, or ``steps`` of its range and "never"."""
    if knob.choices:
        return list(knob.choices)
    count = steps or knob.steps
    shares = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.0])
    values = [_value(knob, float(share)) for share in shares]
    return [*dict.fromkeys(values), *([None] if knob.has_never else [])]


def values_of(knob: Knob, side: Points) -> list[Any]:
    """Values of a knob at places of its side of the cube, 0 to 1."""
    if knob.choices:
        places = np.minimum((side * len(knob.choices)).astype(np.int64), len(knob.choices) - 1)
        return [knob.choices[place] for place in places.tolist()]
    span = 1.0 - NEVER_SHARE if knob.has_never else 1.0
    return [None if place > span else _value(knob, place / span) for place in side.tolist()]


def _value(knob: Knob, share: float) -> float | int:
    low, high = _on(knob, knob.low), _on(knob, knob.high)
    value = low + share * (high - low)
    value = min(max(math.exp(value) if knob.scale == "log" else value, knob.low), knob.high)
    short = min(max(float(f"{value:.{DIGITS}g}"), knob.low), knob.high)
    return round(short) if knob.is_whole else short


def _on(knob: Knob, value: float) -> float:
    return math.log(value) if knob.scale == "log" else float(value)


def _thousandths(shares: Points) -> NDArray[np.int64]:
    """Shares that sum to 1, n x m, as whole units of which each row sums to ``WEIGHT_UNITS``."""
    exact = shares * WEIGHT_UNITS
    whole = np.floor(exact).astype(np.int64)
    left = WEIGHT_UNITS - whole.sum(axis=1)
    order = np.argsort(-(exact - whole), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    units: NDArray[np.int64] = whole + (ranks < left[:, None])
    return units


def _scaled(columns: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    values = np.array(list(columns.values()), np.float64)
    over = np.maximum(values.sum(axis=0), 1.0)
    # Down to the thousandth below, lest rounding brings the sum above 1 again.
    scaled = np.where(over > 1.0, np.floor(values / over * WEIGHT_UNITS) / WEIGHT_UNITS, values)
    return dict(zip(columns, scaled.tolist(), strict=True))


def _weight(changes: Changes) -> float:
    return float(sum(value for key, value in changes.items() if key.startswith(WEIGHTS)))


def _flat(tree: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, told in tree.items():
        key = f"{prefix}{name}"
        is_table = isinstance(told, Mapping) and not {"min", "max"} & set(told)
        if is_table and key.count(".") < _DEPTH:
            found += _flat(told, f"{key}.")
        else:
            found.append((key, told))
    return found


def _knob(key: str, told: Any, policy: Policy) -> Knob:
    usual = knob_of(key)
    if isinstance(told, Mapping):
        knob = _range(key, told, usual, policy.tune.grid_limit)
        ends = [knob.low, knob.high, *([None] if knob.has_never else [])]
        checked(policy, key, [round(v) if knob.is_whole and v is not None else v for v in ends])
        return knob
    if not isinstance(told, list) or not told:
        raise ConfigError(f"{key} has no list of values", "Write one, such as [7, 30, 90], or min and max.")
    values = tuple(None if value == "never" else value for value in told)
    checked(policy, key, values)
    return Knob(key, choices=tuple(dict.fromkeys(values)))


def _range(key: str, told: Mapping[str, Any], usual: Knob, most_steps: int) -> Knob:
    unknown = sorted(set(told) - set(_RANGE_KEYS))
    if unknown:
        raise ConfigError(f"{key} has an unknown {unknown[0]}", f"Known are {', '.join(_RANGE_KEYS)}.")
    if usual.choices:
        raise ConfigError(f"{key} has no range", f"Give a list of {', '.join(map(str, usual.choices))}.")
    low, high = told.get("min", usual.low), told.get("max", usual.high)
    scale, steps = told.get("scale", usual.scale), told.get("steps", usual.steps)
    never = told.get("never", False)
    remedy = "Write min, max, steps (whole, 1 or more) and scale (linear or log, from above 0)."
    if not all(is_number(v) and abs(v) <= _GREATEST for v in (low, high)) or low > high:
        raise ConfigError(f"{key} has no range from min to max", remedy)
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= most_steps:
        raise ConfigError(f"{key} has no number of steps up to {most_steps:,} (tune.grid_limit)", remedy)
    if scale not in ("linear", "log") or (scale == "log" and low <= 0) or not isinstance(never, bool):
        raise ConfigError(f"{key} cannot be divided on this scale", remedy)
    return Knob(key, low, high, scale, usual.is_whole, never, steps=steps)
