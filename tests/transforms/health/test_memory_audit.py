"""The audit: spreads, use, stale rows, what goes next, contradictions and budgets, on planted memories."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lake.made import frame
from transforms.forgetting.due import judged
from transforms.health import audit
from transforms.health.audit import AUDITED
from transforms.policy import Policy
from transforms.policy_retention import CapacityPolicy, ColdPolicy
from transforms.schemas import EPISODES, FACTS

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
POLICY = Policy()
NULLABLE = ("owner", "expires_at", "retired_at", "content_chars", "reason", "due_at", "next_at")
"""Columns that may be null."""


def day(number: float) -> datetime:
    return NOON + timedelta(days=number)


def memories(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Judged memories; a conversation of a day ago that stays, unless a row says otherwise."""
    plain = {
        "table": "episodes", "tenant_id": "t", "owner": "user:ana", "kind": "conversation", "importance": 0.5,
        "access_count": 0, "event_at": day(-1), "last_accessed_at": day(-1), "content_chars": 10,
        "score": 0.5, "is_pinned": False, "is_held": False, "state": "stays", **dict.fromkeys(NULLABLE[1:3]),
    }  # fmt: skip
    named = [{"memory_id": f"m{i}", **plain, **row} for i, row in enumerate(rows)]
    return pl.DataFrame([{n: row.get(n) for n in AUDITED} for row in named], schema=AUDITED)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 100)), max_size=30))
def test_a_spread_counts_every_value_once_in_its_tenth(values: list[tuple[str, int]]) -> None:
    rows = memories([{"kind": kind, "importance": percent / 100} for kind, percent in values])
    wanted = Counter((kind, min(percent // 10, 9)) for kind, percent in values)
    found = audit.spread(rows, "importance")
    assert {(kind, round(low * 10)): n for kind, low, _, n in found.iter_rows()} == wanted
    assert found.rows() == sorted(found.rows())


def test_single_precision_does_not_move_a_value_to_the_bar_below() -> None:
    rows = memories([{"importance": n / 10} for n in range(11)]).with_columns(
        pl.col("importance").cast(pl.Float32)
    )
    assert audit.spread(rows, "importance")["rows"].to_list() == [1] * 9 + [2]


def test_use_of_each_memory_and_of_facts_after_they_were_retired() -> None:
    held = memories([{}, {"retired_at": day(-2), "table": "facts", "kind": "fact"}, {}])
    recalls = pl.DataFrame(
        [
            ("m0", None, day(-3)),
            ("m0", True, day(-1)),
            ("m1", None, day(-3)),
            ("m1", False, day(-2)),
            ("m1", True, day(-1)),
            ("other", True, day(-1)),
        ],
        schema={"memory_id": pl.String, "is_used": pl.Boolean, "recalled_at": pl.Datetime("us", "UTC")},
        orient="row",
    )
    assert audit.use(recalls, held).rows() == [("m0", 2, 1, day(-1), 0), ("m1", 3, 1, day(-1), 2)]


def test_stale_rows_with_why_oldest_first() -> None:
    rows = memories(
        [
            {"last_accessed_at": day(-29)},
            {"last_accessed_at": day(-30)},
            {"last_accessed_at": day(-40), "access_count": 3, "is_pinned": True},
            {"retired_at": day(-35), "last_accessed_at": day(-90)},
            {"retired_at": day(1)},
        ]
    )
    found = audit.stale(rows, POLICY, NOON)
    assert found.select("memory_id", "why", "since_at").rows() == [
        ("m2", "not_asked_for", day(-40)),
        ("m3", "superseded", day(-35)),
        ("m1", "never_asked_for", day(-30)),
    ]
    assert audit.stale_by_why(found).rows() == [
        ("never_asked_for", 1),
        ("not_asked_for", 1),
        ("superseded", 1),
    ]


def test_what_goes_next_and_why() -> None:
    rows = memories(
        [
            {"next_at": day(5), "expires_at": day(5)},
            {"reason": "stale", "state": "waiting", "score": 0.9},
            {"reason": "expired", "state": "goes", "score": 0.1},
            {"next_at": day(2), "expires_at": day(5)},
            {},
            {"table": "facts", "next_at": day(40), "expires_at": day(40)},
        ]
    )
    found = audit.upcoming(rows, POLICY, NOON)
    assert found.select("memory_id", "why", "goes_at").rows() == [
        ("m2", "expired", NOON),
        ("m1", "stale", NOON),
        ("m3", "decayed", day(2)),
        ("m0", "expired", day(5)),
        ("m5", "expired", day(40)),
    ]
    assert audit.next_by_month(found).rows() == [
        ("2026-06", "decayed", 1),
        ("2026-06", "expired", 2),
        ("2026-06", "stale", 1),
        ("2026-07", "expired", 1),
    ]


COLD = Policy(cold=ColdPolicy(after_days=25))
LOW = Policy(**{"decay": {"importance_weight": 0.05, "frequency_weight": 0.0}})


@pytest.mark.parametrize(
    ("policy", "importance", "tier", "why"),
    [
        (POLICY, 0.5, "medium_term", "expired"),
        (POLICY, 0.29, "medium_term", "stale"),
        (POLICY, 0.1, "medium_term", "decayed"),
        (COLD, 0.5, "medium_term", "cold"),
        (LOW, 0.5, "medium_term", "decayed"),
        (LOW, 0.5, "session", "expired"),
    ],
)
def test_the_reason_foretold_is_the_one_that_retention_gives_at_that_instant(
    policy: Policy, importance: float, tier: str, why: str
) -> None:
    row = {"episode_id": "e", "tenant_id": "t", "user_id": "ana", "kind": "conversation", "event_at": day(0),
           "importance": importance, "retention_tier": tier, "content_chars": 5}  # fmt: skip
    episodes = frame(EPISODES, [row]).lazy()
    now = judged(episodes, None, policy, day(0.1))
    shaped = now.with_columns(table=pl.lit("episodes"), memory_id="episode_id", state=pl.lit("stays"))
    extra = {n: pl.lit(None, t) for n, t in AUDITED.items() if n not in shaped.columns}
    held = shaped.with_columns(**extra).select(list(AUDITED)).cast(AUDITED)
    (foretold,) = audit.upcoming(held, policy, day(0.1)).to_dicts()
    assert foretold["why"] == why
    then = judged(episodes, None, policy, foretold["goes_at"] + timedelta(milliseconds=1))
    assert then["reason"].to_list() == [why]


def fact(name: str, predicate: str, shown: str, **fields: Any) -> dict[str, Any]:
    plain = {
        "fact_id": name, "tenant_id": "t", "owner": "user:ana", "user_id": "ana", "subject": "Ana",
        "subject_key": "ana", "predicate": predicate, "object": shown, "object_key": shown.lower(),
        "polarity": "positive", "fact": f"Ana {predicate} {shown}", "valid_from": day(-9),
        "recorded_at": day(-9), "first_mentioned_at": day(-9), "last_confirmed_at": day(-9),
    }  # fmt: skip
    return {**plain, **fields}


def test_facts_that_cannot_both_hold() -> None:
    rows = [
        fact("a", "lives_in", "Graz"),
        fact("b", "lives_in", "Porto"),
        fact("c", "lives_in", "Ghent", valid_until=day(-1), retired_at=day(-1)),
        fact("d", "lives_in", "Graz", owner="user:bo", user_id="bo"),
        fact("e", "likes", "tea"),
        fact("f", "likes", "coffee"),
        fact("g", "likes", "tea", polarity="negative"),
        fact("h", "lives_in", "Lyon", recorded_at=day(1)),
    ]
    found = audit.contradictions(frame(FACTS, rows), NOON)
    assert found.select("left", "right", "why").rows() == [("a", "b", "two_objects"), ("e", "g", "denied")]
    assert found.row(0, named=True)["right_fact"] == "Ana lives_in Porto"
    assert audit.contradictions(FACTS.empty(), NOON).is_empty()


def test_how_full_the_budgets_are() -> None:
    policy = Policy(capacity=CapacityPolicy(facts=4, indexed_rows=10, episodes=8, content_chars=80))
    rows = memories(
        [
            {"content_chars": 30},
            {"content_chars": 10},
            {"table": "facts", "kind": "fact", "content_chars": None},
            {"table": "facts", "kind": "fact", "retired_at": day(-1), "content_chars": None},
        ]
    )
    assert audit.capacity(rows, 1, policy).rows() == [
        ("episodes", 2, 8, 0.25),
        ("facts", 1, 4, 0.25),
        ("indexed_rows", 3, 10, 0.3),
        ("content_chars", 40, 80, 0.5),
    ]
