"""Claims for the benchmark of facts, made by a seed: many users, few slots each, with changes and repeats."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl

from transforms import ids
from transforms.predicates import PREDICATES
from transforms.schemas import CLAIMS

START = datetime(2026, 1, 1, tzinfo=UTC)
TENANTS = 50
OBJECTS = 4
"""Distinct objects a slot may name."""
SESSION_CLAIMS = 4
"""Claims of one session."""
SOURCES = ("user_said", "tool_result", "inferred")


def make_claims(rows: int, users: int, seed: int = 7) -> pl.DataFrame:
    """``rows`` claims of ``users`` owners over a year, a predicate and an object of a skewed choice each."""
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(0, users, rows))
    names = np.array([p.name for p in PREDICATES])
    predicate = (len(names) * rng.random(rows) ** 2).astype(int)
    thing = (OBJECTS * rng.random(rows) ** 2).astype(int)
    at = rng.integers(0, 360 * 86_400, rows)
    late = np.where(rng.random(rows) < 0.05, rng.integers(0, 20 * 86_400, rows), 3_600)
    drawn = pl.DataFrame(
        {
            "row": np.arange(rows),
            "user": user,
            "session": rng.integers(0, np.maximum(1, rows // users // SESSION_CLAIMS), rows),
            "predicate": names[predicate],
            "thing": thing,
            "at": at,
            "late": late,
            "source": np.array(SOURCES)[rng.choice(3, rows, p=[0.65, 0.2, 0.15])],
            "roll": rng.random(rows),
            "confidence": np.round(rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95], rows), 2),
        }
    )
    return _columns(drawn)


def _columns(drawn: pl.DataFrame) -> pl.DataFrame:
    """The columns of ``schemas.CLAIMS`` from what was drawn."""
    pad = pl.col("user").cast(pl.String).str.zfill(6)
    event_at = pl.lit(START).cast(pl.Datetime("us", "UTC")) + pl.duration(seconds="at")
    key = "thing " + pl.col("thing").cast(pl.String)
    frame = drawn.with_columns(
        tenant_id="tenant-" + (pl.col("user") % TENANTS).cast(pl.String),
        tenant_bucket=pl.lit(0),
        user_id="user-" + pad,
        owner="user:user-" + pad,
        agent_id=pl.lit("desk"),
        session_id="s-" + pad + "-" + pl.col("session").cast(pl.String),
        extractor=pl.lit("rules"),
        operation=pl.when(pl.col("roll") < 0.03).then(pl.lit("retract")).otherwise(pl.lit("assert")),
        polarity=pl.when(pl.col("roll") > 0.95).then(pl.lit("negative")).otherwise(pl.lit("positive")),
        subject=pl.lit("user"),
        subject_key=pl.lit("user"),
        aspect=pl.lit(""),
        object=key,
        object_key=key,
        fact="user " + pl.col("predicate") + " " + key,
        importance=pl.lit(0.5),
        trust=pl.when(pl.col("source") == "user_said").then(1.0).otherwise(0.4),
        sensitivity=pl.lit("normal"),
        speaker=pl.lit(None, pl.String),
        span_start=pl.lit(0),
        span_end=pl.lit(20),
        event_at=event_at,
        valid_from=event_at,
        valid_until=pl.lit(None, pl.Datetime("us", "UTC")),
        recorded_at=event_at + pl.duration(seconds="late"),
        expires_at=pl.lit(None, pl.Datetime("us", "UTC")),
    )
    frame = frame.with_columns(
        episode_id=ids.row_ids(frame, "tenant_id", "row"),
        claim_id=ids.row_ids(frame, "tenant_id", "row", "fact"),
        confidence=pl.when(pl.col("source") == "tool_result").then(0.4).otherwise("confidence"),
    )
    return CLAIMS.conform(frame).sort(CLAIMS.sort_by)
