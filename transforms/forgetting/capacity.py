"""Budgets: how much is kept for one owner; the lowest retention score goes first."""

from __future__ import annotations

import polars as pl


def over_capacity(rows: pl.DataFrame, budget: int, key: str) -> pl.DataFrame:
    """Rows that an owner has too many of.

    Pinned rows count, and stay. Rows without an owner have no budget. Equal scores go by age, then by
    id: the older first.

    Args:
        rows: ``tenant_id``, ``owner``, ``score``, ``is_pinned``, ``event_at`` and the key, of whole owners.
        budget: Most rows of one owner.
        key: Column with the row's own id.

    Returns:
        The rows that go.
    """
    who = ["tenant_id", "owner"]
    owned = _large(rows, pl.len(), budget)
    excess = owned.group_by(who).agg(excess=pl.len().cast(pl.Int64) - budget).filter(pl.col("excess") > 0)
    crowded = owned.join(excess, on=who)
    # Pinned rows rank highest, so the places of the others begin at 1.
    order = pl.struct("is_pinned", "score", "event_at", key)
    place = order.rank("ordinal").over(who).cast(pl.Int64)
    goes = ~pl.col("is_pinned") & (place <= pl.col("excess"))
    return crowded.filter(goes).drop("excess") if crowded.height else owned.clear()


def over_size(rows: pl.DataFrame, budget: int, size: str, key: str) -> pl.DataFrame:
    """Rows that do not fit an owner's budget of size, the best kept first.

    Pinned rows take their part of the budget, and stay. Order and owners as for ``over_capacity``.

    Args:
        rows: As for ``over_capacity``, and the column of the size.
        budget: Largest sum of sizes of one owner.
        size: Column with what a row takes.
        key: Column with the row's own id.

    Returns:
        The rows that go.
    """
    who = ["tenant_id", "owner"]
    owned = _large(rows, pl.col(size).sum(), budget)
    large = owned.group_by(who).agg(total=pl.col(size).sum()).filter(pl.col("total") > budget)
    crowded = owned.join(large, on=who, how="semi").sort(
        "is_pinned", "score", "event_at", key, descending=True
    )
    return crowded.filter(~pl.col("is_pinned") & (pl.col(size).cum_sum().over(who) > budget))


def _large(rows: pl.DataFrame, measure: pl.Expr, budget: int) -> pl.DataFrame:
    """Rows of owners that may be over a budget; nearly all owners are within, and go at once.

    Owners are told apart by a hash, in a fraction of the time that two texts take. Two owners of one hash
    are counted together, which takes none away: who is over is counted exactly after it.
    """
    owner = pl.col("tenant_id").hash(0) ^ pl.col("owner").hash(1)
    is_owned = pl.col("owner").is_not_null()
    totals = rows.filter(is_owned).group_by(owner.alias("_place")).agg(total=measure)
    large = totals.filter(pl.col("total") > budget)["_place"]
    return rows.filter(is_owned & owner.is_in(large.implode())) if large.len() else rows.clear()
