"""How retention scores are spread, kind by kind, in counts that add up: of a part of a lake, or of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

import polars as pl

BINS = 10
"""Bars of a kind's distribution of scores, of equal width from 0 to 1."""
STEPS = 10_000
"""Steps from 0 to 1 that scores are counted by: they are told to four digits."""
QUANTILES = (10, 50, 90)
"""Percent."""
COUNTED = ("kind", "score", "reason", "state", "is_pinned")
"""Columns that are counted."""
Spread = dict[str, Any]
"""``scores`` (rows by step of the score), ``bars``, ``forgotten`` (rows by reason), ``held``, ``waiting`` and
``pinned`` of one kind; JSON."""


def spread(memories: pl.DataFrame) -> dict[str, Spread]:
    """Counts by kind.

    Args:
        memories: ``COUNTED``.
    """
    found = {}
    for (kind,), rows in memories.select(COUNTED).group_by("kind"):
        score, states = rows["score"], rows["state"]
        bars = Counter(_counted((score * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)))
        found[str(kind)] = {
            "scores": {str(k): n for k, n in _counted((score * STEPS).round().cast(pl.Int64)).items()},
            "bars": [bars[place] for place in range(BINS)],
            "forgotten": _counted(rows["reason"].drop_nulls()),
            **{state: int((states == state).sum()) for state in ("held", "waiting")},
            "pinned": int(rows["is_pinned"].sum()),
        }
    return found


def _counted(values: pl.Series) -> dict[Any, int]:
    return dict(values.value_counts().iter_rows())


def together(parts: Iterable[Mapping[str, Spread]]) -> dict[str, Spread]:
    """Counts of parts that have no row in common, added up."""
    found: dict[str, Spread] = {}
    for part in parts:
        for kind, more in part.items():
            held = found.setdefault(kind, {"scores": {}, "bars": [0] * BINS, "forgotten": {}})
            for name in ("scores", "forgotten"):
                held[name] = dict(Counter(held[name]) + Counter(more[name]))
            held["bars"] = [a + b for a, b in zip(held["bars"], more["bars"], strict=True)]
            for name in ("held", "waiting", "pinned"):
                held[name] = held.get(name, 0) + more[name]
    return found


def by_kind(spreads: Mapping[str, Spread]) -> list[dict[str, Any]]:
    """Rows, distribution of scores and reasons of each kind, by name.

    A quantile is the score of a row: the nearest one, told to four digits.
    """
    return [
        {
            "kind": kind,
            "rows": sum(held["bars"]),
            **_quantiles(held["scores"]),
            "histogram": held["bars"],
            "forgotten": dict(sorted(held["forgotten"].items())),
            **{name: held[name] for name in ("held", "waiting", "pinned")},
        }
        for kind, held in sorted(spreads.items())
    ]


def _quantiles(scores: Mapping[str, int]) -> dict[str, float]:
    steps = sorted((int(step), rows) for step, rows in scores.items())
    ends = list(accumulate(rows for _, rows in steps))
    found = {}
    for percent in QUANTILES:
        place = _nearest(ends[-1], percent)
        step = next(step for (step, _), end in zip(steps, ends, strict=True) if place < end)
        found[f"p{percent}"] = step / STEPS
    return found


def _nearest(rows: int, percent: int) -> int:
    """Place of the row nearest to a quantile, from 0; of two as near the later one."""
    return ((rows - 1) * percent * 2 + 100) // 200
