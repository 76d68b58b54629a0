"""Recalls of the lake: those that nights have folded, and those that still wait in the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl

from flows.recalled import waiting_recalls
from lake import tables
from lake.lake import Lake
from lake.rights import tombstones
from transforms.schemas import RECALLS


def lake_recalls(
    lake: Lake, after: datetime, until: datetime, tenant: str | None, scope: Sequence[pl.Expr] = ()
) -> pl.DataFrame:
    """Recalls after one instant and up to another.

    Args:
        lake: Where.
        after: Exclusive.
        until: Inclusive.
        tenant: Of this one only, by the predicate of the read; None: of every one.
        scope: Further conditions on rows.

    Returns:
        ``schemas.RECALLS``, each row once; what is folded goes before what waits. Rows whose key was
        destroyed are not among them.
    """
    buckets = None if tenant is None else [lake.bucket(tenant)]
    at = pl.col("recalled_at")
    mine = [at > after, at <= until, *([pl.col("tenant_id") == tenant] if tenant is not None else []), *scope]
    held = tables.scan(lake, RECALLS, buckets=buckets, months=_months(after, until))
    folded = held.filter(*mine).collect()
    where = range(lake.buckets) if buckets is None else buckets
    waiting = [waiting_recalls(lake, bucket).filter(*mine) for bucket in where]
    every = pl.concat([folded, *waiting]).unique(list(RECALLS.key), keep="first", maintain_order=True)
    return _permitted(lake, every)


def _permitted(lake: Lake, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows without those of erased and opted-out subjects.

    A night folds none of them; those that were folded before somebody opted out stand until they are erased,
    and are shown to nobody.
    """
    refusing = tombstones.load(lake)
    if rows.is_empty() or not refusing:
        return rows
    who = ("tenant_id", "user_id", "agent_id", "session_id", "memory_id")
    return rows.filter(~refusing.is_refused(rows.select(*who, event_at="recalled_at")))


def _months(after: datetime, until: datetime) -> list[str]:
    """Months that an interval touches, ``YYYY-MM``."""
    months, day = {until.strftime("%Y-%m")}, after
    while day <= until:
        months.add(day.strftime("%Y-%m"))
        day += timedelta(days=28)
    return sorted(months)
