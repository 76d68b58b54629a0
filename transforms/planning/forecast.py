"""Rows and bytes to come: what is held now ages out, what comes is like the days that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt
import polars as pl

from transforms.planning.draws import day_draws
from transforms.planning.growth import ALL, Window, matrix
from transforms.planning.survival import early_survival, held_shares
from transforms.policy_plan import PlanPolicy

Numbers = npt.NDArray[np.float64]

FORECAST_SCHEMA = pl.Schema(
    {"tenant_id": pl.String, "after_days": pl.Int32, "rows": pl.Float64, "rows_low": pl.Float64,
     "rows_high": pl.Float64, "bytes": pl.Float64, "bytes_low": pl.Float64, "bytes_high": pl.Float64}
)  # fmt: skip
CLASSES_SCHEMA = pl.Schema(
    {"tenant_id": pl.String, "class": pl.String, "lifetime_days": pl.Int32, "bytes": pl.Float64}
)
"""Bytes that grow with a tenant's episodes: ``own`` live as long as these, others a lifetime of their own."""
OWN = "own"
_STEPS = 26
"""Points of the curve up to the last horizon, beside the horizons themselves: every two weeks of a year."""


@dataclass(frozen=True)
class Past:
    """What the forecast rests on.

    Args:
        history: ``growth.HISTORY_SCHEMA``, few tenants.
        window: Its window.
        as_of: Day from which it looks forward.
        classes: ``CLASSES_SCHEMA``.
    """

    history: pl.DataFrame
    window: Window
    as_of: date
    classes: pl.DataFrame


def horizons(plan: PlanPolicy, window: Window) -> tuple[list[int], list[int]]:
    """The horizons that the history reaches to, and those it does not."""
    wanted = sorted({plan.near_days, plan.middle_days, plan.far_days})
    reach = plan.reach_ratio * len(window.days)
    return [h for h in wanted if h <= reach], [h for h in wanted if h > reach]


def forecast(past: Past, plan: PlanPolicy) -> pl.DataFrame:
    """Rows and bytes of each tenant and of all at some days to come.

    Each drawn future repeats blocks of days of the window, of all tenants alike, so that what they have in
    common stays together. Rows that come are kept by the survival of their age; rows that are held age on.

    Returns:
        ``FORECAST_SCHEMA``: the expectation, and the interval that holds ``plan.level`` of the futures;
        day 0 is now. Empty where the history is too short.
    """
    reached, _ = horizons(plan, past.window)
    if past.window.fault or not reached:
        return pl.DataFrame(schema=FORECAST_SCHEMA)
    last = reached[-1]
    days = sorted({0, *reached, *(round(last * i / _STEPS) for i in range(1, _STEPS))})
    tenants = past.history["tenant_id"].unique().sort().to_list()
    rows, sizes = _futures(past, plan, days, tenants)
    told = [_told(name, days, rows[:, :, i], sizes[:, :, i], plan.level) for i, name in enumerate(tenants)]
    whole = _told(ALL, days, rows.sum(axis=2), sizes.sum(axis=2), plan.level)
    return pl.concat([whole, *told])


def _futures(
    past: Past, plan: PlanPolicy, days: Sequence[int], tenants: Sequence[str]
) -> tuple[Numbers, Numbers]:
    """Rows and bytes, float64 (days, 1 + futures, tenants); the first future is the expectation."""
    horizon = max(days)
    oldest = past.history["day"].min()
    longest = horizon + max(1, (past.as_of - oldest).days if isinstance(oldest, date) else 1)
    early = early_survival(past.history, past.as_of, longest)
    drawn = day_draws(len(past.window.days), horizon, plan)
    rows = _held(past, days, tenants, early, drawn, None)
    sizes = np.zeros_like(rows)
    for (kind, lifetime), held in past.classes.group_by(["class", "lifetime_days"], maintain_order=True):
        now = dict(held.select("tenant_id", "bytes").iter_rows())
        grown = rows if kind == OWN else _held(past, days, tenants, np.ones_like(early), drawn, (lifetime,))
        start = grown[0, 0]
        taken = np.array([float(now.get(name, 0.0)) for name in tenants])
        each = np.divide(taken, start, out=np.zeros(len(tenants)), where=start > 0)
        sizes += grown * each
    return rows, sizes


def _held(
    past: Past,
    days: Sequence[int],
    tenants: Sequence[str],
    early: Numbers,
    drawn: npt.NDArray[np.int64],
    lifetime: tuple[object] | None,
) -> Numbers:
    """Rows held on each day; with a lifetime given, of everything that ever came and lives so long."""
    history = past.history
    if lifetime is None:
        standing = history.filter(pl.col("gone_day").is_null())
    else:
        history = history.with_columns(lifetime_days=pl.lit(lifetime[0], dtype=pl.Int32))
        standing = history
    places = {name: i for i, name in enumerate(tenants)}
    window = past.window.days
    made = np.zeros((len(days), 1 + len(drawn), len(tenants)))
    for lives in history["lifetime_days"].unique().sort().to_list():
        shares = held_shares(early, lives)
        is_it = pl.col("lifetime_days").eq_missing(lives)
        mine = history.filter(is_it).select("tenant_id").unique().sort("tenant_id")
        columns = [places[name] for name in mine["tenant_id"]]
        counts = matrix(history.filter(is_it), window, mine)
        old = standing.filter(is_it)
        for at, day in enumerate(days):
            weights = _weights(drawn[:, :day], shares[:day][::-1], len(window))
            made[at][:, columns] += weights @ counts
            if day or lifetime is not None:
                kept = _aged(old, past, shares, early, day)
            else:
                kept = old["rows"].to_numpy()  # held now, though some of it may be due
            owners = np.array([places[name] for name in old["tenant_id"]], dtype=np.int64)
            made[at] += np.bincount(owners, weights=kept, minlength=len(tenants))
    return made


def _weights(drawn: npt.NDArray[np.int64], shares: Numbers, days: int) -> Numbers:
    """How much of each day of the window is held at the end, float64 (1 + futures, days); first the mean."""
    futures, horizon = drawn.shape
    if not horizon:
        return np.zeros((1 + futures, days))
    flat = (drawn + np.arange(futures)[:, None] * days).ravel()
    held = np.bincount(flat, weights=np.tile(shares, futures), minlength=futures * days)
    mean = np.full((1, days), shares.sum() / days)
    return np.concatenate([mean, held.reshape(futures, days)])


def _aged(old: pl.DataFrame, past: Past, shares: Numbers, early: Numbers, day: int) -> Numbers:
    """Rows of the past that are still held after so many more days."""
    ages = (pl.lit(past.as_of) - pl.col("day")).dt.total_days()
    age = np.clip(old.select(ages).to_series().to_numpy(), 0, len(shares) - 1 - day)
    kept = np.divide(shares[age + day], early[age], out=np.zeros(len(age)), where=early[age] > 0)
    found: Numbers = old["rows"].to_numpy() * np.minimum(kept, 1.0)
    return found


def _told(name: str, days: Sequence[int], rows: Numbers, sizes: Numbers, level: float) -> pl.DataFrame:
    outside = (1 - level) / 2
    ends: Mapping[str, Numbers] = {
        f"{what}_{end}": np.quantile(values[:, 1:], share, axis=1)
        for what, values in (("rows", rows), ("bytes", sizes))
        for end, share in (("low", outside), ("high", 1 - outside))
    }
    columns = {
        "tenant_id": [name] * len(days),
        "after_days": list(days),
        "rows": rows[:, 0],
        "bytes": sizes[:, 0],
    }
    return pl.DataFrame({**columns, **ends}).select(FORECAST_SCHEMA.names()).cast(FORECAST_SCHEMA)
