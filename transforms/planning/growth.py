"""How fast memory grows: rows a day by tenant, from when things happened, not from when files were loaded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from transforms.planning.draws import day_draws
from transforms.policy_plan import PlanPolicy

Numbers = npt.NDArray[np.float64]

HISTORY_SCHEMA = pl.Schema(
    {"tenant_id": pl.String, "kind": pl.String, "day": pl.Date, "lifetime_days": pl.Int32,
     "gone_day": pl.Date, "is_early": pl.Boolean, "is_late": pl.Boolean, "rows": pl.Int64, "chars": pl.Int64}
)  # fmt: skip
"""Episodes that ever came, by when they happened; ``lifetime_days``: null is for ever; ``gone_day``: null is
held; ``is_early``: gone before their time; ``is_late``: landed long after they happened."""
RATES_SCHEMA = pl.Schema(
    {"tenant_id": pl.String, "rows": pl.Int64, "rows_per_day": pl.Float64, "low": pl.Float64,
     "high": pl.Float64, "late_ratio": pl.Float64, "trend_ratio": pl.Float64}
)  # fmt: skip
DAILY_SCHEMA = pl.Schema({"day": pl.Date, "rows": pl.Int64, "is_counted": pl.Boolean})
ALL = ""
"""The tenant that stands for all."""
REST = "other tenants"


@dataclass(frozen=True)
class Window:
    """The days that growth is told from.

    Args:
        first: First of them.
        last: Last of them; the day of the as-of and days that have not landed are not in it.
        left_out: Days whose rows look like a load that was stamped with the day of loading.
        fault: Why no forecast can be made; empty where one can.
    """

    first: date
    last: date
    left_out: tuple[date, ...] = ()
    fault: str = ""

    @property
    def days(self) -> list[date]:
        """Every day that counts."""
        span = (self.last - self.first).days + 1
        every = [self.first + timedelta(days=i) for i in range(max(0, span))]
        return [day for day in every if day not in set(self.left_out)]


def window_of(history: pl.DataFrame, as_of: date, landed_until: date | None, plan: PlanPolicy) -> Window:
    """The window of whole days before the as-of.

    Args:
        history: ``HISTORY_SCHEMA``.
        as_of: Day of the as-of.
        landed_until: Day of the last landing: what happened on it may not have landed yet. None: none has.
        plan: Its window and the fewest days.
    """
    last = min(as_of, landed_until or as_of) - timedelta(days=1)
    if history.is_empty():
        return Window(as_of, last, fault="no episode had landed by then")
    # The first day of all has only begun when the lake did.
    oldest = history["day"].min()
    begun = (oldest if isinstance(oldest, date) else as_of) + timedelta(days=1)
    first = max(begun, last - timedelta(days=int(plan.window_days) - 1))
    found = Window(first, last)
    counts = daily(history, found).filter(pl.col("rows") > 0)
    middle = float(counts["rows"].median() or 0) if counts.height else 0.0  # type: ignore[arg-type]
    spikes = counts.filter(pl.col("rows") > plan.spike_ratio * middle)["day"].to_list()
    left_out = tuple(spikes) if counts.height >= plan.spike_days else ()
    held = Window(first, last, left_out)
    if len(held.days) < plan.min_days:
        fault = f"{max(0, len(held.days))} whole days of history, a forecast needs {plan.min_days}"
        return Window(first, last, left_out, fault)
    if not counts.height:
        return Window(first, last, left_out, "nothing happened in the days that are looked at")
    return held


def daily(history: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Episodes of each day of the window (``DAILY_SCHEMA``); a day without any is 0."""
    span = max(0, (window.last - window.first).days + 1)
    days = pl.DataFrame({"day": [window.first + timedelta(days=i) for i in range(span)]}, {"day": pl.Date})
    counted = history.group_by("day").agg(pl.col("rows").sum())
    told = days.join(counted, on="day", how="left").with_columns(
        pl.col("rows").fill_null(0), is_counted=~pl.col("day").is_in(list(window.left_out))
    )
    return told.select(DAILY_SCHEMA.names()).cast(DAILY_SCHEMA).sort("day")


def fewer_tenants(history: pl.DataFrame, most: int) -> pl.DataFrame:
    """The same with the largest tenants by themselves and the others as one."""
    sums = history.group_by("tenant_id").agg(pl.col("rows").sum())
    largest = sums.sort(["rows", "tenant_id"], descending=[True, False]).head(most)["tenant_id"]
    named = pl.when(pl.col("tenant_id").is_in(largest.implode())).then("tenant_id").otherwise(pl.lit(REST))
    return history.with_columns(tenant_id=named)


def matrix(history: pl.DataFrame, days: list[date], groups: pl.DataFrame) -> Numbers:
    """Rows by day and group.

    Args:
        history: ``HISTORY_SCHEMA``.
        days: One row each.
        groups: Columns of the history that name a group; one column of the result each.

    Returns:
        float64 (days, groups).
    """
    by = groups.columns
    placed = (
        history.group_by("day", *by)
        .agg(pl.col("rows").sum())
        .join(groups.with_row_index("column"), on=by, how="inner", nulls_equal=True)
        .join(pl.DataFrame({"day": days}, {"day": pl.Date}).with_row_index("row"), on="day", how="inner")
    )
    made = np.zeros((len(days), groups.height))
    made[placed["row"].to_numpy(), placed["column"].to_numpy()] = placed["rows"].to_numpy()
    return made


def rates(history: pl.DataFrame, window: Window, plan: PlanPolicy) -> pl.DataFrame:
    """Rows a day by tenant and of all (``RATES_SCHEMA``), largest first.

    ``low`` and ``high`` hold the mean of as many days drawn in blocks (the circular block bootstrap of
    Politis and Romano 1992). ``trend_ratio`` is the later half of the window over the earlier one.
    """
    groups = history.select("tenant_id").unique().sort("tenant_id")
    days = window.days
    counts = matrix(history, days, groups)
    counts = np.column_stack([counts.sum(axis=1), counts])
    names = [ALL, *groups["tenant_id"].to_list()]
    low: Numbers | list[None] = [None] * len(names)
    high: Numbers | list[None] = [None] * len(names)
    if len(days) >= plan.min_days:
        drawn = day_draws(len(days), len(days), plan)
        times = np.apply_along_axis(np.bincount, 1, drawn, minlength=len(days))
        outside = (1 - plan.level) / 2
        low, high = np.quantile(times @ counts / len(days), [outside, 1 - outside], axis=0)
    half = len(days) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        trend = (
            counts[-half:].mean(axis=0) / counts[:half].mean(axis=0) if half else np.full(len(names), np.nan)
        )
    per_day = counts.mean(axis=0) if days else np.zeros(len(names))
    told = pl.DataFrame(
        {"tenant_id": names, "rows_per_day": per_day, "low": low, "high": high, "trend_ratio": trend}
    )
    return told.join(_held(history), on="tenant_id", how="left").with_columns(
        pl.col("rows").fill_null(0),
        trend_ratio=pl.when(pl.col("trend_ratio").is_finite()).then("trend_ratio"),
    ).select(RATES_SCHEMA.names()).cast(RATES_SCHEMA).sort(
        ["rows_per_day", "rows", "tenant_id"], descending=[True, True, False]
    )  # fmt: skip


def _held(history: pl.DataFrame) -> pl.DataFrame:
    """Rows held, and the share of all that landed late, by tenant and of all."""
    each = pl.concat([history, history.with_columns(tenant_id=pl.lit(ALL))])
    late = pl.col("rows").filter(pl.col("is_late")).sum() / pl.col("rows").sum()
    return each.group_by("tenant_id").agg(
        rows=pl.col("rows").filter(pl.col("gone_day").is_null()).sum(), late_ratio=late
    )
