"""Scores of logged calls under many policies: the same as recall's own, a call and a policy at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.transforms.replay.replay_cases import (
    BLOCK,
    Case,
    call,
    cases,
    is_clear,
    made,
    moved,
    oracle_order,
    oracle_scores,
    policies,
    row,
)
from transforms.errors import ConfigError
from transforms.policy import Policy
from transforms.policy_recall import RecallPolicy
from transforms.policy_retention import DecayPolicy
from transforms.replay.arrays import Floats, Replay
from transforms.replay.calls import Calls
from transforms.replay.changes import changed
from transforms.replay.scores import logged_scores, ranking, scored
from transforms.replay.settings import SHARED_LEAST
from transforms.replay.survival import Masks


def table(replay: Replay, mine: list[Policy], masks: Masks | None = None, block_bytes: int = BLOCK) -> Floats:
    """All scores, rows x policies; each cell is told exactly once."""
    found = np.zeros((len(replay.relevance), len(mine)))
    told = np.zeros(found.shape, np.int64)
    for rows, places, scores in scored(replay, mine, masks=masks, block_bytes=block_bytes):
        found[np.ix_(rows, places)] = scores
        told[np.ix_(rows, places)] += 1
    assert (told == 1).all()
    return found


@settings(max_examples=60)
@given(cases(), st.lists(policies(), min_size=3, max_size=5), st.sampled_from([1, 5_000, BLOCK]))
def test_scores_are_those_of_recall(given_cases: list[Case], mine: list[Policy], block_bytes: int) -> None:
    many = [*mine, *(changed(mine[0], {"recall.weights.relevance": i / 20}) for i in range(SHARED_LEAST))]
    found = table(Replay.made(made(given_cases)), many, block_bytes=block_bytes)
    for place, policy in enumerate(many):
        plain = [score for head, rows in given_cases for score in oracle_scores(head, rows, policy)]
        assert found[:, place] == pytest.approx(plain, abs=1e-12)


@settings(max_examples=40)
@given(cases(), policies(), st.data())
def test_what_is_forgotten_has_no_score_and_makes_others_no_less_close(
    given_cases: list[Case], policy: Policy, data: st.DataObject
) -> None:
    replay = Replay.made(made(given_cases))
    count = len(replay.relevance)
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    masks = Masks([(np.array([1]), alive), (np.array([0]), None)])
    found = table(replay, [policy, policy], masks)
    begin = 0
    for head, rows in given_cases:
        part = slice(begin, begin + len(rows))
        assert found[part, 0] == pytest.approx(oracle_scores(head, rows, policy), abs=1e-12)
        left = [one for one, is_there in zip(rows, alive[part], strict=True) if is_there]
        assert np.isnan(found[part, 1]).tolist() == (~alive[part]).tolist()
        if left:
            assert found[part, 1][alive[part]] == pytest.approx(oracle_scores(head, left, policy), abs=1e-12)
        begin = part.stop


@settings(max_examples=60)
@given(cases(), policies(), st.data())
def test_a_ranking_is_the_order_of_recall(
    given_cases: list[Case], policy: Policy, data: st.DataObject
) -> None:
    replay = Replay.made(made(given_cases))
    sizes = [len(rows) for _, rows in given_cases]
    alive = [data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in sizes]
    assume(is_clear(given_cases, alive, policy))
    masks = Masks([(np.array([0]), np.concatenate(alive))])
    for number, (head, rows) in enumerate(given_cases):
        order, scores = oracle_order(head, rows, alive[number], policy)
        mine, found = ranking(replay, policy, number, masks)
        assert (mine - replay.starts[number]).tolist() == order
        assert found == pytest.approx(scores, abs=1e-12)


def test_rows_of_the_same_score_stand_by_time_then_by_id() -> None:
    rows = [
        row("b", event_days=2.0),
        row("c", event_days=1.0),
        row("a", event_days=2.0),
        row("best", relevance=0.9, event_days=9.0),
    ]
    replay = Replay.made(made([(call("c1"), rows)]))
    order, scores = ranking(replay, Policy(), 0)
    assert [rows[place]["memory_id"] for place in order] == ["best", "c", "a", "b"]
    assert scores[1] == scores[2] == scores[3]


def test_a_call_by_time_keeps_its_order_whatever_the_policy() -> None:
    rows = [row(f"m{day}", event_days=float(day), relevance=day / 10) for day in range(1, 6)]
    replay = Replay.made(made([(call("c1", route="recency"), rows)]))
    for policy in (Policy(), changed(Policy(), {"recall.weights.relevance": 1.0})):
        assert ranking(replay, policy, 0)[0].tolist() == [0, 1, 2, 3, 4]
    forgotten = Masks([(np.array([0]), np.array([True, False, True, True, False]))])
    assert ranking(replay, Policy(), 0, forgotten)[0].tolist() == [0, 2, 3]


def test_an_access_of_the_future_is_age_0() -> None:
    rows = [row("m0", seen_days=0.0), row("m1", seen_days=-3.0)]
    replay = Replay.made(made([(call("c1"), rows)]))
    _, scores = ranking(replay, Policy(), 0)
    assert scores[0] == scores[1]


def test_a_policy_that_refreshes_otherwise_reads_other_accesses() -> None:
    rows = [row("m0", seen_days=1.0), row("m1", seen_days=1.0, relevance=0.4)]
    calls = made([(call("c1"), rows)])
    used = changed(Policy(), {"decay.refresh": "used"})
    access = {"used": moved(calls, 5.0)}
    assert "used" in Replay.made(calls, access=access).seen
    older = [one | {"seen_days": 6.0, "access_count": 1} for one in rows]
    for current, expected in ((Policy(), older), (used, rows), (None, rows)):
        replay = Replay.made(calls, access=access, current=current)
        found = table(replay, [used, Policy()])
        assert found[:, 0] == pytest.approx(oracle_scores(call("c1"), expected, used), abs=1e-12)
        if current != used:
            assert found[:, 1] == pytest.approx(oracle_scores(call("c1"), rows, Policy()), abs=1e-12)


def test_more_relevance_is_never_a_lower_place() -> None:
    rows = [
        row(f"m{i}", relevance=i / 10, seen_days=float(i % 4), event_days=float(i % 3)) for i in range(10)
    ]
    replay = Replay.made(made([(call("c1"), rows)]))
    shares = [changed(Policy(), {"recall.weights.relevance": share}) for share in (0.2, 0.5, 0.8, 1.0)]
    places = [ranking(replay, policy, 0)[0].tolist().index(9) for policy in shares]
    assert all(after <= before for before, after in pairwise(places))
    assert places[-1] == 0


def test_numbers_that_cannot_be_reckoned_with_are_named() -> None:
    replay = Replay.made(made([(call("c1"), [row("m0")])]))
    decay = DecayPolicy.model_construct(half_life_days={"conversation": 0.0}, refresh="served")
    with pytest.raises(ConfigError, match="half_life_days"):
        list(scored(replay, [Policy(decay=decay)], block_bytes=BLOCK))


def test_calls_without_candidates_or_none_at_all() -> None:
    replay = Replay.made(made([]))
    assert len(replay) == 0
    assert list(scored(replay, [Policy()], block_bytes=BLOCK)) == []
    assert logged_scores(replay, Policy(), block_bytes=BLOCK).tolist() == []


def test_the_best_candidate_may_be_missing_from_the_log() -> None:
    """A fact below the floor, or one that was erased: it was what the others were compared with."""
    policy = Policy(recall=RecallPolicy(closeness_power=3.5))
    rows = [row("gone", relevance=0.9), row("m1", relevance=0.6), row("m2", relevance=0.3)]
    whole = made([(call("c1"), rows)], policy)
    left = Calls(whole.heads, whole.rows[1:], np.array([0, 2]))
    replay = Replay.made(left)
    assert replay.beyond == pytest.approx([0.9], rel=1e-12)
    for power in (0.0, 1.0, 3.5, 6.0):
        other = changed(policy, {"recall.closeness_power": power})
        expected = oracle_scores(call("c1"), rows, other)[1:]
        assert table(replay, [other])[:, 0] == pytest.approx(expected, abs=1e-12)


def test_one_row_alone_takes_the_power_of_its_policys_other_calls() -> None:
    policy = Policy(recall=RecallPolicy(closeness_power=2.0))
    two = [row("gone", relevance=0.8), row("m1", relevance=0.2)]
    others = [row("n1", relevance=0.7), row("n2", relevance=0.35)]
    whole = made([(call("c1"), two), (call("c2"), others)], policy)
    left = Calls(whole.heads, whole.rows[[1, 2, 3]], np.array([0, 1, 3]))
    assert Replay.made(left).beyond == pytest.approx([0.8, 0.0], rel=1e-9)
