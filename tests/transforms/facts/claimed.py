"""Claims for tests: short to write, whole in their columns, and few enough in kind that they meet."""

from __future__ import annotations

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
REVISIONS = ("revision", "is_removed")


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


def keyed(claims: pl.DataFrame) -> pl.DataFrame:
    """Groups where equal keys are all that agrees; a key with a prime says what the one without does."""
    key = pl.col("object_key")
    near = pl.when(key.str.ends_with("'")).then(0.95).cast(pl.Float32)
    return claims.select("claim_id", object_group=key.str.strip_suffix("'"), similarity=near)


@st.composite
def drawn_claims(draw: st.DrawFn, max_size: int = 14, is_tidy: bool = False) -> list[dict[str, Any]]:
    """Claims of few owners, slots and objects; tidy ones come in order and hold from when they are said."""
    return [_drawn(draw, number, is_tidy) for number in range(draw(st.integers(0, max_size)))]


def _drawn(draw: st.DrawFn, number: int, is_tidy: bool) -> dict[str, Any]:
    day = st.integers(0, 9)
    operation = draw(st.sampled_from(["assert"] * 4 + ["retract"]))
    things = ["a", "b", "a'"] + ([""] if operation == "retract" else [])
    at = number if is_tidy else draw(day)
    until = None if is_tidy or draw(st.integers(0, 4)) else draw(day)
    user = draw(st.sampled_from(["u", "u", "v", None]))
    return claim(
        number,
        draw(st.sampled_from(things)),
        at,
        tenant_id=draw(st.sampled_from(["t", "t", "t", "w"])),
        user_id=user,
        agent_id=draw(st.sampled_from(["a", "b"])),
        session_id=draw(st.sampled_from(["s1", "s2", "s3", None])),
        episode_id=f"e{draw(st.integers(0, 5))}",
        span_start=draw(st.integers(0, 2)),
        operation=operation,
        predicate=draw(st.sampled_from(["lives_in", "lives_in", "likes"])),
        polarity=draw(st.sampled_from(["positive", "positive", "negative"])),
        source=draw(st.sampled_from(["user_said", "tool_result", "inferred", "inferred"])),
        confidence=draw(st.sampled_from([0.3, 0.5, 0.9])),
        trust=draw(st.sampled_from([0.4, 1.0])),
        importance=draw(st.sampled_from([0.2, 0.7])),
        sensitivity=draw(st.sampled_from(["normal", "personal", "restricted"])),
        expires_at=draw(st.sampled_from([None, days(50), days(60)])),
        since=at if is_tidy else draw(st.sampled_from([at, at, draw(day)])),
        until=until,
        known=at if is_tidy else draw(st.sampled_from([at, at + 1, draw(day)])),
    )
