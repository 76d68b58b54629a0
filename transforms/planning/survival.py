"""How much of what comes is still held after so many days: by lifetime, and by removals before it."""

from __future__ import annotations

from datetime import date

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.float64]


def early_survival(history: pl.DataFrame, as_of: date, longest: int) -> Numbers:
    """Share of rows not removed before their time, by age in days: the product-limit estimate.

    Rows that are held, or that went because their time was over, tell of their age so far only
    (Kaplan and Meier 1958). Beyond the oldest age that was seen the share stays as it is.

    Args:
        history: ``growth.HISTORY_SCHEMA``.
        as_of: Day that ages of held rows are told from.
        longest: Oldest age wanted.

    Returns:
        float64 (longest + 1,), 1 at age 0, never rising.
    """
    ended = history.with_columns(
        age=(pl.coalesce("gone_day", pl.lit(as_of, dtype=pl.Date)) - pl.col("day")).dt.total_days()
    ).filter(pl.col("age") >= 0)
    ages = np.minimum(ended["age"].to_numpy(), longest)
    rows = ended["rows"].to_numpy().astype(np.float64)
    is_early = ended["is_early"].fill_null(value=False).to_numpy()
    left = np.bincount(ages, weights=rows, minlength=longest + 1)
    gone = np.bincount(ages[is_early], weights=rows[is_early], minlength=longest + 1)
    at_risk = left[::-1].cumsum()[::-1]
    hazard = np.divide(gone, at_risk, out=np.zeros(longest + 1), where=at_risk > 0)
    # What is removed at an age was held until then; at the last age all that is older is gathered.
    hazard[0], hazard[longest] = 0.0, 0.0
    return np.cumprod(1.0 - hazard)


def held_shares(early: Numbers, lifetime_days: int | None) -> Numbers:
    """Share of rows still held by age, with a lifetime; None is for ever."""
    if lifetime_days is None:
        return early
    return np.where(np.arange(len(early)) < lifetime_days, early, 0.0)
