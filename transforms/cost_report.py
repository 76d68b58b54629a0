"""What the cost ledger comes to: sums by whatever it tells apart, live against batch, the month to come."""

from __future__ import annotations

import calendar
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Any

import polars as pl

from transforms.costs import EMBEDDING

LINES_SCHEMA = pl.Schema(
    {
        "month": pl.String(),
        "day": pl.Date(),
        "as_of_at": pl.Datetime("us", "UTC"),
        "run_id": pl.String(),
        "step": pl.String(),
        "state": pl.String(),
        "tenant_hash": pl.String(),
        "model_key": pl.String(),
        "task": pl.String(),
        "mode": pl.String(),
        "requests": pl.Int64(),
        "cached": pl.Int64(),
        "input_tokens": pl.Int64(),
        "output_tokens": pl.Int64(),
        "money": pl.Float64(),
    }
)
"""Output of ``sql/cost_lines.sql``, in its order: sums of money are then the same each time."""
COUNTS = ("requests", "cached", "input_tokens", "output_tokens", "money", "saved_money")
_PRICED = ("model_key", "task", "mode")
_BATCHED = ("live", "batch")


def with_saved(lines: pl.DataFrame) -> pl.DataFrame:
    """Lines with ``saved_money``: what the answers that were kept would have cost at the mean of those sent.

    Args:
        lines: ``LINES_SCHEMA``. A model and task of which the window holds no sent request saved nothing
            that can be told.
    """
    total = pl.col("money").sum().over(_PRICED) / pl.col("requests").sum().over(_PRICED)
    mean = pl.when(pl.col("requests").sum().over(_PRICED) > 0).then(total).otherwise(0.0)
    return lines.with_columns(saved_money=pl.col("cached") * mean)


def grouped(lines: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Sums of ``COUNTS`` by some columns, in their order, and ``cached_ratio``: kept answers among all.

    Args:
        lines: From ``with_saved``.
        by: Columns of ``LINES_SCHEMA``.
    """
    sums = lines.group_by(by, maintain_order=True).agg(pl.col(n).sum() for n in COUNTS)
    return sums.with_columns(_cached_ratio()).sort(by, nulls_last=True)


def totals(lines: pl.DataFrame) -> dict[str, Any]:
    """Sums of all lines."""
    sums = lines.select(pl.col(n).sum() for n in COUNTS).with_columns(_cached_ratio())
    return sums.row(0, named=True)


def _cached_ratio() -> pl.Expr:
    every = pl.col("cached") + pl.col("requests")
    return pl.when(every > 0).then(pl.col("cached") / every).alias("cached_ratio")


def live_against_batch(lines: pl.DataFrame, batch_price_ratio: float) -> pl.DataFrame:
    """What the same tokens cost live and by the Batch API, by model and task; embeddings are always live.

    Args:
        lines: ``LINES_SCHEMA``.
        batch_price_ratio: Price of a batch as a part of the live one; 0: it is free, and says nothing of
            what its tokens cost live.

    Returns:
        ``model_key``, ``task``, ``input_tokens``, ``output_tokens``, ``spent_money``, ``live_money``,
        ``batch_money``, ``saved_money`` (by the batches that were sent) and ``possible_money`` (what
        batches would have saved of what was sent live).
    """
    asked = lines.filter(pl.col("mode").is_in(_BATCHED), pl.col("task") != EMBEDDING)
    is_batch, ratio = pl.col("mode") == "batch", batch_price_ratio
    as_live = pl.when(is_batch).then(pl.col("money") / (ratio or math.inf)).otherwise("money")
    priced = asked.with_columns(
        live_money=as_live, batch_money=pl.when(is_batch).then("money").otherwise(pl.col("money") * ratio)
    )
    names = ("input_tokens", "output_tokens", "live_money", "batch_money")
    keys = ["model_key", "task"]
    return (
        priced.group_by(keys, maintain_order=True)
        .agg(
            *(pl.col(n).sum() for n in names),
            spent_money=pl.col("money").sum(),
            saved_money=(pl.col("live_money") - pl.col("money")).filter(is_batch).sum(),
            possible_money=(pl.col("money") - pl.col("batch_money")).filter(~is_batch).sum(),
        )
        .select(
            *keys,
            "input_tokens",
            "output_tokens",
            "spent_money",
            "live_money",
            "batch_money",
            "saved_money",
            "possible_money",
        )
        .sort(keys)
    )


def by_day(lines: pl.DataFrame, first: datetime, until: datetime) -> pl.DataFrame:
    """``day`` and ``money`` of each whole day of an interval, those without a run at 0."""
    last = until.date() - timedelta(days=1)  # the day of the as-of is not over
    if first.date() > last:
        return pl.DataFrame(schema={"day": pl.Date(), "money": pl.Float64()})
    days = pl.date_range(first.date(), last, eager=True).alias("day").to_frame()
    sums = lines.group_by("day", maintain_order=True).agg(pl.col("money").sum())
    return days.join(sums, on="day", how="left", maintain_order="left").with_columns(
        pl.col("money").fill_null(0.0)
    )


@dataclass(frozen=True)
class Projection:
    """The calendar month of an as-of, as it will come to if days go on as they went.

    Attributes:
        month: YYYY-MM.
        spent: Money so far.
        days: Whole days that the rate is taken from.
        daily: Mean money of a day.
        projected: Money of the month; None with too few days, as are the next two.
        low: Lower end of the interval, no less than ``spent``.
        high: Its upper end.
        level: Confidence of the interval.
    """

    month: str
    spent: float
    days: int
    daily: float | None
    projected: float | None
    low: float | None
    high: float | None
    level: float


def projection(
    lines: pl.DataFrame, days: pl.DataFrame, as_of: datetime, *, min_days: int, level: float
) -> Projection:
    """What the month of the as-of comes to.

    The rest of the month is so many more days of the mean; the interval is that of the sum of r new days when
    n were seen (s² (r + r²/n), normal): it holds as far as days are alike and do not hang together.

    Args:
        lines: ``LINES_SCHEMA``.
        days: From ``by_day``.
        as_of: Where the month stands.
        min_days: Fewest days to project from.
        level: Confidence of the interval.
    """
    month = as_of.strftime("%Y-%m")
    spent = float(lines.filter(pl.col("month") == month)["money"].sum())
    count = days.height
    mean = float(days["money"].to_numpy().mean()) if count else None
    if mean is None or count < min_days:
        return Projection(month, spent, count, mean, None, None, None, level)
    length = calendar.monthrange(as_of.year, as_of.month)[1]
    first = as_of.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    left = max(length - (as_of - first) / timedelta(days=1), 0.0)
    spread = float(days["money"].to_numpy().std(ddof=1)) if count > 1 else 0.0
    wide = NormalDist().inv_cdf(0.5 + level / 2) * spread * math.sqrt(left + left**2 / count)
    middle = spent + mean * left
    return Projection(month, spent, count, mean, middle, max(spent, middle - wide), middle + wide, level)
