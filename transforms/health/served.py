"""Measures of what recall serves: kinds, age, facts that had been replaced, rows past their expiry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from transforms import retention
from transforms.forgetting.due import Wishes
from transforms.health.measures import MEASURED_VERBS, grouped, nearest_rank, share
from transforms.policy import Policy
from transforms.schemas import INSTANT

SERVED = (
    "call_id", "tenant_id", "memory_id", "kind", "rank", "event_at", "policy_hash", "recalled_at",
)  # fmt: skip
"""Columns of ``schemas.RECALLS`` that these measures look at."""
FACT_KINDS = ("fact", "preference")
ALL = ""
"""Kind of the line about all kinds."""
LIFETIMES_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "memory_id": pl.String(),
        "user_id": pl.String(),
        "retention_tier": pl.String(),
        "expires_at": INSTANT,
    }
)
"""What bounds the life of a memory; ``expires_at`` is the row's own, null where its source gave none."""
KINDS_SCHEMA = pl.Schema({"rows": pl.Int64(), "served_ratio": pl.Float64()})
AGES_SCHEMA = pl.Schema({"rows": pl.Int64(), "age_days_p50": pl.Float64(), "age_days_p90": pl.Float64()})
STALE_SCHEMA = pl.Schema(
    {"fact_rows": pl.Int64(), "superseded_ratio": pl.Float64(), "outdated_ratio": pl.Float64()}
)
EXPIRED_SCHEMA = pl.Schema(
    {"judged_rows": pl.Int64(), "expired_rows": pl.Int64(), "expired_ratio": pl.Float64()}
)


def served_rows(recalls: pl.LazyFrame) -> pl.DataFrame:
    """Memories that callers were given: ``SERVED``, by recalled_at, call and rank.

    Args:
        recalls: ``schemas.RECALLS``.
    """
    given = recalls.filter(pl.col("verb").is_in(MEASURED_VERBS), "is_returned", pl.col("rank") > 0)
    rows = given.select(SERVED).collect(engine="streaming")
    return rows.sort("recalled_at", "tenant_id", "call_id", "rank", "memory_id")


def kinds(served: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """What kinds are served: ``by``, ``kind`` and ``KINDS_SCHEMA``; the shares of a group sum to 1."""
    counted = grouped(served, [*by, "kind"], {"rows": pl.len()}, pl.Schema({"rows": pl.Int64()}))
    total = pl.col("rows").sum().over(by) if by else pl.col("rows").sum()
    return counted.with_columns(served_ratio=pl.col("rows") / total).select(*by, "kind", *KINDS_SCHEMA)


def ages(served: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """How old what is served is: ``by``, ``kind`` (``ALL`` for every kind) and ``AGES_SCHEMA``.

    The age of a row is the time from when what it tells of happened, or was last confirmed, to the call.
    """
    age = (pl.col("recalled_at") - pl.col("event_at")).dt.total_microseconds() / 86_400_000_000
    dated = served.with_columns(age_days=age.clip(lower_bound=0))
    both = pl.concat([dated, dated.with_columns(kind=pl.lit(ALL))])
    told = {"rows": pl.len(), **{f"age_days_p{q}": nearest_rank(pl.col("age_days"), q) for q in (50, 90)}}
    return grouped(both, [*by, "kind"], told, AGES_SCHEMA)


def with_ends(served: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Facts that were served and are still held, with what is known of their end at the call.

    Args:
        served: ``SERVED``, and further columns.
        facts: ``tenant_id``, ``fact_id``, ``valid_until`` and ``retired_at`` of ``schemas.FACTS`` that stand.

    Returns:
        Rows of served facts with ``is_superseded``, whether the lake knew by then that it no longer holds,
        and ``is_outdated``, whether it had ended by then by all that is known today.
    """
    ends = facts.select("tenant_id", "valid_until", "retired_at", memory_id="fact_id")
    found = served.filter(pl.col("kind").is_in(FACT_KINDS)).join(
        ends, on=["tenant_id", "memory_id"], how="inner", maintain_order="left"
    )
    at = pl.col("recalled_at")
    known = (pl.col("retired_at") <= at).fill_null(False)
    ended = (pl.col("valid_until") <= at).fill_null(False)
    return found.with_columns(is_superseded=known, is_outdated=known | ended)


def staleness(facts_served: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``by`` and ``STALE_SCHEMA`` of rows from ``with_ends``."""
    told = {
        "fact_rows": pl.len(),
        "superseded_ratio": pl.col("is_superseded").mean(),
        "outdated_ratio": pl.col("is_outdated").mean(),
    }
    return grouped(facts_served, by, told, STALE_SCHEMA)


def with_expiry(
    served: pl.DataFrame, lifetimes: pl.DataFrame, policy: Policy, wishes: Wishes, since: datetime | None
) -> pl.DataFrame:
    """Rows whose expiry at the call can be told, with ``is_expired``.

    Only calls that were made under this very policy, after people last changed a period or a pin, are
    judged: an earlier one kept to other lifetimes, and was right to.

    Args:
        served: ``SERVED``, and further columns.
        lifetimes: ``LIFETIMES_SCHEMA``, each memory once; one that is missing is not judged.
        policy: Whose lifetimes hold.
        wishes: Periods and pins.
        since: When the last wish was changed; None where there never was one.
    """
    mine = served.filter(pl.col("policy_hash") == policy.hash())
    if since is not None:
        mine = mine.filter(pl.col("recalled_at") > retention.instant(since))
    known = mine.join(lifetimes, on=["tenant_id", "memory_id"], how="inner", maintain_order="left")
    due = retention.expiry_expr(policy.retention, wishes.periods, wishes.pins, key="memory_id")
    late = (pl.col("expires_at") <= pl.col("recalled_at")).fill_null(False)
    return known.with_columns(due).with_columns(is_expired=late)


def expired(judged: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``by`` and ``EXPIRED_SCHEMA`` of rows from ``with_expiry``; the share must be 0."""
    gone = pl.col("is_expired").sum()
    told = {"judged_rows": pl.len(), "expired_rows": gone, "expired_ratio": share(gone, pl.len())}
    return grouped(judged, by, told, EXPIRED_SCHEMA)
