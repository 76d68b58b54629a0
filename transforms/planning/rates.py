"""Rates of use and of work: recalls, runs, and how many memories come of how many episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from transforms.schemas import INSTANT

CALLS_SCHEMA = pl.Schema(
    [("hour", INSTANT), ("calls", pl.Int64), ("rows", pl.Int64), ("seconds", pl.List(pl.Float64))]
)
"""Logged calls by hour, with the rows of their candidates and how long those took that were timed."""
WORK_SCHEMA = pl.Schema(
    {"step": pl.String, "runs": pl.Int64, "rows": pl.Int64, "seconds": pl.Float64,
     "seconds_per_1000_rows": pl.Float64, "rows_per_second": pl.Float64, "peak_bytes": pl.Int64,
     "peak_bytes_per_1000_rows": pl.Float64}
)  # fmt: skip
RATIOS_SCHEMA = pl.Schema({"name": pl.String, "rows": pl.Int64, "per_1000_episodes": pl.Float64})
HOUR_SECONDS, DAY_HOURS = 3_600, 24


@dataclass(frozen=True)
class Recalled:
    """How recall is used.

    Args:
        calls: Logged calls in the window, scaled up where only a sample is logged.
        per_day: Of them a day.
        peak_per_second: A second of the busiest hour.
        peak_ratio: Busiest hour over the mean hour; None where that is known of no more than a day.
        rows_per_call: Candidates logged of a call.
        p50_seconds: Middle latency; None: nothing was timed.
        p95_seconds: Nineteen of twenty are faster.
        timed: Calls that were timed.
    """

    calls: float = 0.0
    per_day: float = 0.0
    peak_per_second: float = 0.0
    peak_ratio: float | None = None
    rows_per_call: float | None = None
    p50_seconds: float | None = None
    p95_seconds: float | None = None
    timed: int = 0


def recalled(hours: pl.DataFrame, days: float, sample_ratio: float) -> Recalled:
    """Rates of the calls of a window.

    Args:
        hours: ``CALLS_SCHEMA``.
        days: Days from the first call of the window, or its begin where there were calls before, to its end.
        sample_ratio: Share of calls that are logged.
    """
    if hours.is_empty() or sample_ratio <= 0 or days <= 0:
        return Recalled()
    logged = int(hours["calls"].sum())
    busiest = float(hours["calls"].max())  # type: ignore[arg-type]
    per_hour = logged / (days * DAY_HOURS)
    times = hours["seconds"].explode(empty_as_null=False).drop_nulls().to_numpy()
    middle, slow = np.quantile(times, [0.5, 0.95]) if len(times) else (None, None)
    return Recalled(
        calls=logged / sample_ratio,
        per_day=logged / sample_ratio / days,
        peak_per_second=busiest / sample_ratio / HOUR_SECONDS,
        peak_ratio=max(1.0, busiest / per_hour) if days > 1 else None,
        rows_per_call=float(hours["rows"].sum()) / logged,
        p50_seconds=None if middle is None else float(middle),
        p95_seconds=None if slow is None else float(slow),
        timed=len(times),
    )


def work(runs: pl.DataFrame) -> pl.DataFrame:
    """What each step takes for a thousand rows (``WORK_SCHEMA``), over its finished runs that did anything.

    Rows are those that a run read; of one that says none, those that it wrote. A large run counts as much
    more as it is larger; a small one mostly shows what starting takes.

    Args:
        runs: ``schemas.RUNS``.
    """
    done = runs.filter(pl.col("state") == "done").with_columns(
        rows=pl.when(pl.col("rows_in") > 0).then("rows_in").otherwise("rows_out")
    ).filter(pl.col("rows") > 0)  # fmt: skip
    largest = pl.col("peak_bytes").sort_by("rows", "run_id").last()
    summed = done.group_by("step").agg(
        runs=pl.len().cast(pl.Int64),
        peak_bytes=pl.col("peak_bytes").max(),
        peak_bytes_per_1000_rows=largest / pl.col("rows").max() * 1_000,
        rows=pl.col("rows").sum(),
        seconds=pl.col("seconds").sum(),
    )
    return (
        summed.with_columns(
            seconds_per_1000_rows=pl.col("seconds") / pl.col("rows") * 1_000,
            rows_per_second=pl.when(pl.col("seconds") > 0).then(pl.col("rows") / pl.col("seconds")),
        )
        .select(WORK_SCHEMA.names())
        .cast(WORK_SCHEMA)
        .sort("step")
    )


def text_growth(whole: tuple[int, int], part: tuple[int, int]) -> float:
    """The power of the episodes with which distinct texts grow (Heaps 1978), 0 to 1; 1 where none repeats.

    A text of a tenant is embedded once however often it is said, so vectors grow more slowly than episodes.

    Args:
        whole: Episodes and distinct texts of all persons.
        part: The same of some of them.
    """
    (rows, texts), (fewer, fewer_texts) = whole, part
    if not 0 < fewer < rows or not 0 < fewer_texts <= texts:
        return 1.0
    return min(1.0, math.log(texts / fewer_texts) / math.log(rows / fewer))


def ratios(counts: Mapping[str, int], episodes: int) -> pl.DataFrame:
    """How many of each come of a thousand episodes (``RATIOS_SCHEMA``), by name.

    Args:
        counts: Of each thing that is derived or served.
        episodes: All that were ever taken in, those that are gone by now included.
    """
    rows = [(name, count, count / episodes * 1_000 if episodes else None) for name, count in counts.items()]
    return pl.DataFrame(rows, schema=RATIOS_SCHEMA, orient="row").sort("name")
