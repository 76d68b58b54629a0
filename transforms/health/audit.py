"""The audit of one person or agent: stale rows, contradictions, spreads, what goes next, how full it is.

``memories`` below are judged rows: ``AUDITED`` columns, one row a memory that recall may serve.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from transforms import retention
from transforms.facts.belief import current
from transforms.facts.slots import BASE
from transforms.forgetting.due import cold_at, stale_at
from transforms.policy import Policy
from transforms.predicates import SINGLE_VALUED
from transforms.schemas import INSTANT

AUDITED = pl.Schema(
    {
        "table": pl.String(),
        "memory_id": pl.String(),
        "tenant_id": pl.String(),
        "owner": pl.String(),
        "kind": pl.String(),
        "importance": pl.Float64(),
        "access_count": pl.Int64(),
        "event_at": INSTANT,
        "last_accessed_at": INSTANT,
        "expires_at": INSTANT,
        "retired_at": INSTANT,
        "content_chars": pl.Int64(),
        "score": pl.Float64(),
        "is_pinned": pl.Boolean(),
        "is_held": pl.Boolean(),
        "state": pl.String(),
        "reason": pl.String(),
        "due_at": INSTANT,
        "next_at": INSTANT,
    }
)
"""A judged memory; ``retired_at`` is when a fact was, null for all that stands."""
BINS = 10
"""Bars of a spread, of equal width from 0 to 1."""
SPREAD_SCHEMA = pl.Schema(
    {"kind": pl.String(), "from": pl.Float64(), "until": pl.Float64(), "rows": pl.Int64()}
)
USE_SCHEMA = pl.Schema(
    {
        "memory_id": pl.String(),
        "served": pl.Int64(),
        "used": pl.Int64(),
        "last_served_at": INSTANT,
        "served_retired": pl.Int64(),
    }
)
CONTRADICTIONS_SCHEMA = pl.Schema(
    {
        "left": pl.String(),
        "right": pl.String(),
        "subject": pl.String(),
        "predicate": pl.String(),
        "aspect": pl.String(),
        "left_fact": pl.String(),
        "right_fact": pl.String(),
        "why": pl.String(),
    }
)
CAPACITY_SCHEMA = pl.Schema(
    {"budget": pl.String(), "held": pl.Int64(), "most": pl.Int64(), "held_ratio": pl.Float64()}
)


def spread(memories: pl.DataFrame, value: str) -> pl.DataFrame:
    """How a value from 0 to 1 is spread, by kind: ``SPREAD_SCHEMA``, bars without rows left out.

    A value on the edge of two bars counts with the upper one, 1 with the last.
    """
    place = (pl.col(value).cast(pl.Float64) * BINS + 1e-6).floor().clip(0, BINS - 1)
    placed = memories.select("kind", place=place).drop_nulls("place")
    counted = placed.group_by("kind", "place").agg(rows=pl.len().cast(pl.Int64)).sort("kind", "place")
    edges = {"from": pl.col("place") / BINS, "until": (pl.col("place") + 1) / BINS}
    return counted.with_columns(**edges).select(list(SPREAD_SCHEMA)).cast(SPREAD_SCHEMA)


def use(recalls: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """How often each memory that was served was, and was of use: ``USE_SCHEMA``, by memory.

    Args:
        recalls: ``memory_id``, ``is_used`` and ``recalled_at`` of returned rows.
        memories: ``memory_id`` and ``retired_at``.
    """
    known = recalls.join(memories.select("memory_id", "retired_at"), on="memory_id", how="inner")
    is_late = (pl.col("retired_at") <= pl.col("recalled_at")).fill_null(False)
    counted = known.group_by("memory_id").agg(
        served=pl.len(),
        used=pl.col("is_used").fill_null(False).sum(),
        last_served_at=pl.col("recalled_at").max(),
        served_retired=is_late.sum(),
    )
    return counted.select(list(USE_SCHEMA)).cast(USE_SCHEMA).sort("memory_id")


def never_used(memories: pl.DataFrame) -> pl.DataFrame:
    """Memories that were served and never of use, as far as agents say, those served most first.

    Args:
        memories: ``AUDITED`` with ``served`` and ``used``.
    """
    found = memories.filter(pl.col("served") > 0, pl.col("used") == 0)
    return found.sort("served", "score", "memory_id", descending=[True, True, False])


def stale(memories: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Rows that are out of date or that nobody asks for, with ``why`` and ``since_at``, oldest first.

    ``superseded``: a fact that was retired. Then, of rows that are no younger than
    ``staleness.after_days``: ``never_asked_for``, ``not_asked_for`` in that time. Pinned rows are listed too.

    Args:
        memories: ``AUDITED``.
        policy: Section staleness.
        as_of: The instant.
    """
    now = retention.instant(as_of)
    before = now - pl.lit(timedelta(days=policy.staleness.after_days))
    is_retired = (pl.col("retired_at") <= now).fill_null(False)
    is_idle = pl.col("last_accessed_at") <= before
    why = (
        pl.when(is_retired)
        .then(pl.lit("superseded"))
        .when(is_idle & (pl.col("access_count") == 0))
        .then(pl.lit("never_asked_for"))
        .when(is_idle)
        .then(pl.lit("not_asked_for"))
    )
    since = pl.when(is_retired).then("retired_at").otherwise("last_accessed_at")
    found = memories.with_columns(why=why, since_at=since).drop_nulls("why")
    return found.sort("since_at", "memory_id")


def upcoming(memories: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """What retention takes next, first what is due: with ``goes_at`` and ``why``.

    A row that is due goes with the next night, unless it is held or waits for a summary (``state``). Of the
    others the first instant at which a reason will apply counts, if nobody asks for them before; what is
    evicted for want of room cannot be told before it is.

    Args:
        memories: ``AUDITED``.
        policy: Sections staleness and cold.
        as_of: The instant.
    """
    fades = (pl.col("table") == "episodes") & ~pl.col("is_pinned")
    at = pl.col("next_at")
    coming = (
        pl.when(at == pl.col("expires_at"))
        .then(pl.lit("expired"))
        .when(fades & (at == stale_at(policy)))
        .then(pl.lit("stale"))
        .when(fades & (at == cold_at(policy)))
        .then(pl.lit("cold"))
        .otherwise(pl.lit("decayed"))
    )
    is_due = pl.col("reason").is_not_null()
    found = memories.with_columns(
        is_due=is_due,
        why=pl.when(is_due).then("reason").otherwise(coming),
        goes_at=pl.when(is_due).then(retention.instant(as_of)).otherwise(at),
    ).drop_nulls("goes_at")
    return found.sort("is_due", "goes_at", "score", "memory_id", descending=[True, False, False, False]).drop(
        "is_due"
    )


def stale_by_why(rows: pl.DataFrame) -> pl.DataFrame:
    """``why`` and ``rows`` of rows from ``stale``."""
    return rows.group_by("why").agg(rows=pl.len().cast(pl.Int64)).sort("why")


def next_by_month(rows: pl.DataFrame) -> pl.DataFrame:
    """``month`` (YYYY-MM, UTC), ``why`` and ``rows`` of rows from ``upcoming``."""
    dated = rows.with_columns(month=pl.col("goes_at").dt.strftime("%Y-%m"))
    return dated.group_by("month", "why").agg(rows=pl.len().cast(pl.Int64)).sort("month", "why")


def contradictions(facts: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Pairs of facts that hold at an instant and cannot both: ``CONTRADICTIONS_SCHEMA``.

    ``two_objects``: another object of a predicate that takes one at a time; ``denied``: the same object, once
    affirmed and once denied.

    Args:
        facts: ``schemas.FACTS`` that stand, with ``recorded_at``.
        as_of: The instant.
    """
    names = [*BASE, "fact_id", "fact", "subject", "object_key", "polarity"]
    held = (
        current(facts, as_of)
        .select(names)
        .with_columns(is_single=pl.col("predicate").is_in(list(SINGLE_VALUED)))
    )
    pairs = held.join(held, on=[*BASE, "is_single"], how="inner", suffix="_right", nulls_equal=True).filter(
        pl.col("fact_id") < pl.col("fact_id_right")
    )
    same = pl.col("object_key") == pl.col("object_key_right")
    why = (
        pl.when(same & (pl.col("polarity") != pl.col("polarity_right")))
        .then(pl.lit("denied"))
        .when(pl.col("is_single") & ~same & (pl.col("polarity") == pl.col("polarity_right")))
        .then(pl.lit("two_objects"))
    )
    told = pairs.with_columns(why=why).drop_nulls("why")
    shown = told.select(
        "subject", "predicate", "aspect", "why", left="fact_id", right="fact_id_right", left_fact="fact",
        right_fact="fact_right",
    )  # fmt: skip
    return shown.select(list(CONTRADICTIONS_SCHEMA)).cast(CONTRADICTIONS_SCHEMA).sort("left", "right")


def capacity(memories: pl.DataFrame, facts_held: int, policy: Policy) -> pl.DataFrame:
    """How much of each budget is used: ``CAPACITY_SCHEMA``.

    Args:
        memories: ``AUDITED``, of one owner.
        facts_held: Facts and preferences that hold.
        policy: Section capacity.
    """
    served = memories.filter(pl.col("retired_at").is_null())
    episodes = served.filter(pl.col("table") == "episodes")
    most = policy.capacity
    told = [
        ("episodes", episodes.height, most.episodes),
        ("facts", facts_held, most.facts),
        ("indexed_rows", served.height, most.indexed_rows),
        ("content_chars", int(episodes["content_chars"].sum()), most.content_chars),
    ]
    rows = [(name, held, limit, held / limit) for name, held, limit in told]
    return pl.DataFrame(rows, schema=CAPACITY_SCHEMA, orient="row")
