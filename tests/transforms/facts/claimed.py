"""Claims for tests: short to write, whole in their columns, and few enough in kind that they meet."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import strategies as st

from transforms import ids
from transforms.policy import Policy
from transforms.policy_sleep import FactsPolicy
from transforms.schemas import CLAIMS

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
POLICY = Policy()
SMALL = Policy(facts=FactsPolicy(min_sessions=2))
VECTORS = pl.Schema({"fact": pl.String, "vector": pl.List(pl.Float32)})


def days(count: float) -> datetime:
    return NOON + timedelta(days=count)


def claim(number: int, thing: str = "Oslo", at: float = 0, **other: Any) -> dict[str, Any]:
    """A claim with defaults: user u of tenant t said at day ``at`` that she lives in ``thing``."""
    subject = other.get("subject_key", "user")
    predicate, polarity = other.get("predicate", "lives_in"), other.get("polarity", "positive")
    row = {
        "tenant_id": "t",
        "tenant_bucket": 0,
        "user_id": "u",
        "agent_id": "a",
        "session_id": f"s{number}",
        "episode_id": f"e{number}",
        "extractor": "rules-1",
        "operation": "assert",
        "subject": subject,
        "subject_key": subject,
        "predicate": predicate,
        "aspect": "",
        "object": thing,
        "object_key": thing.casefold(),
        "polarity": polarity,
        "fact": f"{subject} {'' if polarity == 'positive' else 'not '}{predicate} {thing}",
        "confidence": 0.8,
        "importance": 0.5,
        "trust": 1.0,
        "sensitivity": "normal",
        "source": "user_said",
        "speaker": None,
        "span_start": 0,
        "span_end": 10,
        "valid_from": days(other.get("since", at)),
        "valid_until": None if other.get("until") is None else days(other["until"]),
        "event_at": days(at),
        "recorded_at": days(other.get("known", at)),
        "expires_at": None,
    }
    row |= {name: value for name, value in other.items() if name not in ("since", "until", "known")}
    row["owner"] = f"user:{row['user_id']}" if row["user_id"] else f"agent:{row['agent_id']}"
    row["claim_id"] = ids.row_id(row["tenant_id"], row["episode_id"], f"{number}")
    return row


def frame(claims: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """``schemas.CLAIMS`` of the claims, in their order."""
    if not claims:
        return CLAIMS.empty()
    return CLAIMS.conform(
        pl.DataFrame(list(claims), schema_overrides=dict(CLAIMS.polars), infer_schema_length=None)
    )


def at_angles(claims: Sequence[dict[str, Any]], degrees: dict[str, float]) -> pl.DataFrame:
    """Vectors of the claims' sentences, by the angle of their object; without one, no vector."""
    angles = {c["fact"]: degrees[c["object"]] for c in claims if c["object"] in degrees}
    made = [(f, [2 * math.cos(math.radians(d)), 2 * math.sin(math.radians(d))]) for f, d in angles.items()]
    return pl.DataFrame(made, schema=VECTORS, orient="row")


def keyed(claims: pl.DataFrame) -> pl.DataFrame:
    """Groups where equal keys are all that agrees; a key with a prime says what the one without does."""
    key = pl.col("object_key")
    near = pl.when(key.str.ends_with("'")).then(0.95).cast(pl.Float32)
    return claims.select("claim_id", object_group=key.str.strip_suffix("'"), similarity=near)


def drawn_claims(max_size: int = 150, is_tidy: bool = False) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Claims of few owners, slots and objects; tidy ones come in order and hold from when they are said."""
    return st.builds(
        lambda count, seed: _by_chance(count, random.Random(seed), is_tidy),
        st.integers(0, max_size),
        st.integers(0, 2**32),
    )


def _by_chance(count: int, rng: random.Random, is_tidy: bool) -> list[dict[str, Any]]:
    return [drawn_claim(rng, number, is_tidy) for number in range(count)]


def drawn_claim(rng: random.Random, number: int, is_tidy: bool = False) -> dict[str, Any]:
    """One claim by chance."""
    operation = rng.choice(["assert"] * 4 + ["retract"])
    at = number if is_tidy else rng.randrange(10)
    until = rng.randrange(10) if not is_tidy and rng.random() < 0.2 else None
    return claim(
        number,
        rng.choice(["a", "b", "a'"] + ([""] if operation == "retract" else [])),
        at,
        tenant_id=rng.choice(["t", "t", "t", "w"]),
        user_id=rng.choice(["u", "u", "v", "w", "x", None]),
        agent_id=rng.choice(["a", "b"]),
        session_id=rng.choice(["s1", "s2", "s3", None]),
        episode_id=f"e{rng.randrange(6)}",
        span_start=rng.randrange(3),
        operation=operation,
        predicate=rng.choice(["lives_in", "lives_in", "likes"]),
        polarity=rng.choice(["positive", "positive", "negative"]),
        source=rng.choice(["user_said", "tool_result", "inferred", "inferred"]),
        confidence=rng.choice([0.3, 0.5, 0.9]),
        trust=rng.choice([0.4, 1.0]),
        importance=rng.choice([0.2, 0.7]),
        sensitivity=rng.choice(["normal", "personal", "restricted"]),
        expires_at=rng.choice([None, days(50), days(60)]),
        since=at if is_tidy else rng.choice([at, at, rng.randrange(10)]),
        until=until,
        known=at if is_tidy else rng.choice([at, at + 1, rng.randrange(10)]),
    )
