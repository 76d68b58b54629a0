"""Regret: uses that a policy would have lost, where a threshold would have hurt, and who is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from tests.transforms.forgetting import plain
from tests.transforms.replay.plain_past import at, call, log, memories, memory
from transforms.forgetting import regret
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.replay.lives import SEEN_SCHEMA
from transforms.replay.survival import Past

CALM = changed(Policy(), {"staleness.is_enabled": False, "decay.forget_below": 0.0})
BRIEF = changed(CALM, {"retention.by_kind_seconds": {"conversation": 10 * 86_400}})
"""A conversation lives ten days."""


def given(recalls: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """What callers were given."""
    rows = log(recalls).filter("is_returned").rename({"recalled_at": "at"})
    return rows.sort("at", "call_id", "rank").select(*SEEN_SCHEMA.names(), "call_id", "is_used")


def used(
    rows: Sequence[dict[str, Any]], recalls: Sequence[dict[str, Any]], new: Policy, current: Policy = CALM
) -> pl.DataFrame:
    seen = given(recalls)
    past = Past.made(seen.drop("call_id", "is_used"), memories(rows), log(recalls))
    return regret.uses(past, seen, current, new)


ROWS = [
    memory("early", 1, importance=0.75),
    memory("late", 19, importance=0.25),
    memory("fact", 1, stored_in="facts", kind="fact", tier="semantic"),
]
RECALLS = [
    *call(1, 5, ROWS[:1], is_used=True),
    *call(2, 20, ROWS, is_used=False),
    *call(3, 21, ROWS[:1], is_used=True),
    *call(4, 22, ROWS[:1], is_returned=False),
]


def test_a_use_after_the_lifetime_is_lost_and_one_before_it_is_not() -> None:
    found = used(ROWS, RECALLS, BRIEF)
    assert found.select("call_id", "memory_id", "lost_current", "lost_new").rows() == [
        ("c1", "early", None, None),
        ("c2", "early", None, "expired"),
        ("c2", "late", None, None),
        ("c2", "fact", None, None),
        ("c3", "early", None, "expired"),
    ]


def test_losses_are_counted_by_kind_and_by_what_was_used() -> None:
    found = regret.regret(used(ROWS, RECALLS, BRIEF), ("kind",))
    columns = ("use", "kind", "uses", "memories", "lost_new", "lost_memories_new", "lost_current")
    assert found.select(columns).rows() == [
        ("given", "conversation", 4, 2, 2, 1, 0),
        ("given", "fact", 1, 1, 0, 0, 0),
        ("used", "conversation", 2, 1, 1, 1, 0),
    ]  # fmt: skip


def test_the_same_policy_loses_the_same() -> None:
    found = regret.regret(used(ROWS, RECALLS, BRIEF, BRIEF))
    assert found["lost_new"].to_list() == found["lost_current"].to_list() == [2, 0, 1]
    assert found["lost_more"].to_list() == [0, 0, 0]
    assert regret.regret(used(ROWS, RECALLS, BRIEF))["lost_more"].to_list() == [2, 0, 1]


def test_losses_are_counted_by_reason() -> None:
    stale = changed(CALM, {"staleness.is_enabled": True, "staleness.below_importance": 0.9})
    found = regret.lost_by_reason(used([ROWS[0]], call(1, 50, ROWS[:1]), stale, BRIEF))
    assert found.rows() == [
        ("given", "conversation", "expired", 1, 0),
        ("given", "conversation", "stale", 0, 1),
    ]


def test_ages_are_those_of_the_use_and_the_score_is_that_before_it() -> None:
    found = used(ROWS, RECALLS, CALM)
    told = {(r["call_id"], r["memory_id"]): r for r in found.iter_rows(named=True)}
    last = told["c3", "early"]
    assert (last["age_days"], last["idle_days"]) == (20.0, 1.0)
    assert (told["c1", "early"]["age_days"], told["c1", "early"]["idle_days"]) == (4.0, 4.0)
    expected = plain.score(ROWS[0], plain.Access(2, at(20)), CALM.decay, at(21))
    assert last["score"] == pytest.approx(expected)
    once = plain.score(ROWS[0], plain.Access(0, at(1)), CALM.decay, at(5))
    assert told["c1", "early"]["score"] == pytest.approx(once)


def test_a_threshold_loses_what_lies_beyond_it_and_nothing_at_it() -> None:
    marks = {"age_days": (4.0, 18.9, 19.0), "score": (0.0, 1.1)}
    found = regret.shares(
        regret.thresholds(used(ROWS, RECALLS, CALM), marks), ("measure", "use", "threshold")
    )
    assert found.rows() == [
        ("age_days", "given", 4.0, 5, 3, 0.6),
        ("age_days", "given", 18.9, 5, 3, 0.6),
        ("age_days", "given", 19.0, 5, 1, 0.2),
        ("age_days", "used", 4.0, 2, 1, 0.5),
        ("age_days", "used", 18.9, 2, 1, 0.5),
        ("age_days", "used", 19.0, 2, 1, 0.5),
        ("score", "given", 0.0, 5, 0, 0.0),
        ("score", "given", 1.1, 5, 5, 1.0),
        ("score", "used", 0.0, 2, 0, 0.0),
        ("score", "used", 1.1, 2, 2, 1.0),
    ]


def test_a_lifetime_loses_what_the_curve_says_it_loses() -> None:
    """The curve at ten days and the policy with a lifetime of ten days count the same uses."""
    found = used(ROWS[:2], [row for row in RECALLS if row["memory_id"] != "fact"], BRIEF)
    curve = regret.thresholds(found, {"age_days": (10.0,)})
    assert curve.filter(use="given")["lost"].item() == found["lost_new"].is_not_null().sum() == 2


def test_examples_are_each_memory_once_the_used_and_the_important_first() -> None:
    rows = [memory(name, 1, importance=weight) for name, weight in (("a", 0.25), ("b", 0.5), ("c", 0.75))]
    recalls = [*call(1, 20, rows), *call(2, 25, rows[:1], is_used=True)]
    found = regret.worst(used(rows, recalls, BRIEF), 2)
    assert found.select("memory_id", "is_used", "call_id", "lost_uses").rows() == [
        ("a", True, "c1", 2),
        ("c", False, "c1", 1),
    ]


def test_a_memory_that_the_lake_lost_is_marked() -> None:
    found = used([], call(1, 5, ROWS[:1]), CALM)
    assert found["is_there"].to_list() == [False]
    assert used(ROWS, call(1, 5, ROWS[:1]), CALM)["is_there"].to_list() == [True]


def test_no_uses() -> None:
    empty = pl.DataFrame(schema=regret.USE_SCHEMA)
    assert regret.regret(empty).is_empty()
    assert regret.lost_by_reason(empty).is_empty()
    assert regret.shares(regret.thresholds(empty, {"score": (0.5,)}), ("measure",)).is_empty()
    assert regret.worst(empty, 5).is_empty()
