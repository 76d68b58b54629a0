"""Quality over time, and for whom it changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.evaluation.bootstrap import intervals
from transforms.policy_tune import TunePolicy
from transforms.replay.calls import Calls
from transforms.tuning.result import SLICES, WEEKS
from transforms.tuning.verdict import Drawn

Numbers = NDArray[np.float64]
BY = ("tenant", "agent", "kind", "route", "verb")
UNNAMED = "(none)"
"""Of calls that name no agent."""


def weeks(heads: pl.DataFrame, span: NDArray[np.bool_], current: Numbers, best: Numbers) -> pl.DataFrame:
    """``WEEKS``.

    Args:
        heads: ``calls.HEAD``.
        span: By call, whether it is of the earlier span.
        current: float64 (calls): metric under the current policy.
        best: The same under the best.
    """
    rows = heads.select(
        week_at=pl.col("recalled_at").dt.truncate("1w"),
        span=pl.Series(np.where(span, "train", "test"), dtype=pl.String),
        current=pl.Series(current),
        best=pl.Series(best),
    )
    means = rows.group_by("week_at", "span").agg(pl.len().alias("calls"), pl.col("current", "best").mean())
    ordered = means.sort("week_at", "span", descending=[False, True])
    return ordered.select(pl.col(name).cast(kind) for name, kind in WEEKS.items())


def slices(calls: Calls, current: Numbers, best: Numbers, drawn: Drawn, tune: TunePolicy) -> pl.DataFrame:
    """``SLICES``: the largest first in each way of cutting.

    A call belongs to every kind of which a memory was of use to it, so those may add up to more calls than
    there are.

    Args:
        calls: Labelled calls of the later span.
        current: float64 (calls): metric under the current policy.
        best: The same under the best.
        drawn: Clusters of the calls.
        tune: Section ``tune``; a slice of fewer than ``min_clusters`` has no interval.
    """
    found: list[tuple[object, ...]] = []
    for by in BY:
        members = _members(calls, by)
        mine: list[tuple[object, ...]] = []
        for (name,), rows in members.group_by("name", maintain_order=True):
            places = rows["call"].to_numpy()
            there = replace(drawn, codes=drawn.codes[places])
            now, then = current[places], best[places]
            low, high = _ends(then - now, there, tune)
            mine.append((by, name, len(places), now.mean(), then.mean(), (then - now).mean(), low, high))
        found += sorted(mine, key=lambda row: (-int(str(row[2])), str(row[1])))
    return pl.DataFrame(found, schema=SLICES, orient="row")


def _ends(difference: Numbers, drawn: Drawn, tune: TunePolicy) -> tuple[float | None, float | None]:
    if len(drawn) < tune.min_clusters:
        return None, None
    [found] = intervals(
        difference[:, None], clusters=drawn.codes, resamples=tune.resamples, level=tune.level, seed=tune.seed
    )
    return found.low, found.high


def _members(calls: Calls, by: str) -> pl.DataFrame:
    """``call`` (position) and ``name`` of each slice that it is in, by call."""
    numbered = calls.heads.with_row_index("call")
    if by == "kind":
        rows = calls.rows.select("kind", "gain", call=pl.Series(calls.call_of, dtype=pl.UInt32))
        used = rows.filter(pl.col("gain") > 0).select("call", name="kind").unique()
        return used.sort("call", "name")
    column = f"{by}_id" if by in ("tenant", "agent") else by
    return numbered.select("call", name=pl.col(column).fill_null(UNNAMED))
