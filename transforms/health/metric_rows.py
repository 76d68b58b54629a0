"""Measures of a night as rows of ``schemas.METRICS``: a number each, with its name, part and unit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from transforms import ids, retention
from transforms.schemas import METRICS

UNITS = {
    "calls": "calls",
    "misses": "calls",
    "answered_ratio": "ratio",
    "known_calls": "calls",
    "hit_ratio": "ratio",
    "returned_rows": "rows",
    "used_ratio": "ratio",
    "timed_calls": "calls",
    "seconds_p50": "seconds",
    "seconds_p95": "seconds",
    "seconds_p99": "seconds",
    "contexts": "calls",
    "filled_ratio": "ratio",
    "packed_used_ratio": "ratio",
    "served_ratio": "ratio",
    "age_days_p50": "days",
    "age_days_p90": "days",
    "fact_rows": "rows",
    "superseded_ratio": "ratio",
    "outdated_ratio": "ratio",
    "judged_rows": "rows",
    "expired_rows": "rows",
    "expired_ratio": "ratio",
    "answers": "calls",
    "crowded_ratio": "ratio",
    "pairs_per_answer": "pairs",
    "repeated_ratio": "ratio",
    "removed_rows_a_day": "rows a day",
    "landed_rows_a_day": "rows a day",
    "removed_per_landed": "rows",
    "scored_rows": "rows",
    "score_p10": "score",
    "score_p50": "score",
    "score_p90": "score",
}
"""Every measure and its unit; docs/memory-metrics.md defines each."""
STATES = ("scored_rows", "score_p10", "score_p50", "score_p90")
"""Measures of how things stand, which look back on no window."""
VALUES_SCHEMA = pl.Schema(
    {"tenant_id": pl.String(), "name": pl.String(), "part": pl.String(), "value": pl.Float64()}
)
"""A measure; a null tenant is the whole lake."""


def values(wide: pl.DataFrame, part: str | None = None) -> pl.DataFrame:
    """``VALUES_SCHEMA`` of a wide frame: a row for each of ``UNITS`` among its columns that is known.

    Args:
        wide: A row a tenant and part; without ``tenant_id`` it is about the whole lake.
        part: Column that the measures are split by; None: by nothing.
    """
    names = [name for name in wide.columns if name in UNITS]
    lake = pl.lit(None, pl.String)
    shaped = wide.select(
        (pl.col("tenant_id") if "tenant_id" in wide.columns else lake.alias("tenant_id")),
        (pl.col(part) if part else pl.lit("")).alias("part"),
        *(pl.col(name).cast(pl.Float64) for name in names),
    )
    long = shaped.unpivot(names, index=["tenant_id", "part"], variable_name="name", value_name="value")
    is_number = pl.col("value").is_not_null() & pl.col("value").is_finite()
    return long.filter(is_number).select(list(VALUES_SCHEMA))


def metric_rows(
    told: pl.DataFrame,
    hashes: Mapping[str, str],
    *,
    window_days: float,
    as_of: datetime,
    measured_at: datetime,
) -> pl.DataFrame:
    """Measures as ``schemas.METRICS``, by name, tenant and part.

    Args:
        told: ``VALUES_SCHEMA``, each tenant, name and part once.
        hashes: Salted hash of each tenant; rows of one that is missing are left out.
        window_days: That they look back on; ``STATES`` look back on none.
        as_of: The instant they are as of; with tenant, name and part it makes the id.
        measured_at: When they were measured.
    """
    named = told.with_columns(
        tenant_hash=pl.when(pl.col("tenant_id").is_null())
        .then(pl.lit(""))
        .otherwise(
            pl.col("tenant_id").replace_strict(
                list(hashes), list(hashes.values()), default=None, return_dtype=pl.String
            )
        ),
        unit=pl.col("name").replace_strict(UNITS, return_dtype=pl.String),
        window_days=pl.when(~pl.col("name").is_in(STATES)).then(pl.lit(window_days)),
        as_of_at=retention.instant(as_of),
        measured_at=retention.instant(measured_at),
    ).drop_nulls("tenant_hash")
    moment = pl.lit(as_of.isoformat())
    made = named.with_columns(metric_id=ids.row_ids(named, moment, "tenant_hash", "name", "part"))
    return METRICS.conform(made).sort("name", "tenant_hash", "part")
