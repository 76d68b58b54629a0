"""Measures that stop where an answer does: against an oracle, one call and one row after the other."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.transforms.replay.replay_cases import (
    BLOCK,
    Case,
    cases,
    is_clear,
    made,
    oracle_measures,
    oracle_order,
    policies,
)
from transforms.policy import Policy
from transforms.replay.arrays import Replay
from transforms.replay.changes import changed
from transforms.replay.measures import replayed

NOW = Policy()


def shown(case: Case, policy: Policy) -> int:
    """Rows of the answer, the call being answered under the default policy."""
    head, rows = case
    order, _ = oracle_order(head, rows, [True] * len(rows), policy)
    if head["budget_tokens"] is None:
        given_rows = sum(bool(one["is_returned"]) for one in rows)
        is_same = policy.recall.default_k == NOW.recall.default_k
        return given_rows if is_same else policy.recall.default_k
    is_default = head["budget_tokens"] == NOW.context.default_budget_tokens
    room = policy.context.default_budget_tokens if is_default else head["budget_tokens"]
    taken = 0
    for number, place in enumerate(order):
        taken += rows[place]["tokens"]
        if taken > room:
            return number
    return len(order)


def ideal(gains: list[float], at: int) -> float:
    return sum(g / math.log2(1 + n) for n, g in enumerate(sorted(gains, reverse=True)[:at], 1))


@settings(max_examples=60)
@given(cases(), policies(), st.sampled_from([1, 2, 3, 10]), st.integers(1, 5))
def test_what_an_answer_does_not_hold_counts_for_nothing(
    given_cases: list[Case], policy: Policy, k: int, at: int
) -> None:
    policy = changed(policy, {"decay.refresh": "served", "recall.default_k": k})
    whole = [[True] * len(rows) for _, rows in given_cases]
    assume(is_clear(given_cases, whole, policy))
    replay = Replay.made(made(given_cases), current=NOW)
    names = ("ndcg", "recall", "mrr", "hit")
    found = replayed(
        replay, [policy], metric_at=at, per_call=True, block_bytes=BLOCK, measures=names, is_cut=True
    )
    for number, case in enumerate(given_cases):
        head, rows = case
        gains = [one["gain"] or 0.0 for one in rows]
        if not any(gains):
            continue
        cut = min(at, shown(case, policy))
        told = dict.fromkeys(names, 0.0)
        if cut:
            told = oracle_measures(head, rows, whole[number], policy, cut, (0, None))
            told["ndcg"] *= ideal(gains, cut) / ideal(gains, at)
        for name in names:
            assert found.per_call[name][number, 0] == pytest.approx(told[name]), name
