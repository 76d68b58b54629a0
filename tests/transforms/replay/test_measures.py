"""Measures of many policies at once: known answers, and a slow oracle that follows the words."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import polars as pl
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
    oracle_measures,
    policies,
    row,
)
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.replay.arrays import Replay
from transforms.replay.calls import Calls
from transforms.replay.changes import changed
from transforms.replay.measures import MEASURES, Replayed, replayed
from transforms.replay.settings import SHARED_LEAST
from transforms.replay.survival import Masks


def measured(replay: Replay, mine: list[Policy], masks: Masks | None = None, at: int = 3) -> Replayed:
    return replayed(replay, mine, metric_at=at, masks=masks, per_call=True, block_bytes=BLOCK)


def limits(head: dict[str, object], rows: list[dict[str, object]], policy: Policy) -> tuple[int, int | None]:
    """How long an answer is, the calls being answered under the default policy."""
    k = sum(bool(one["is_returned"]) for one in rows)
    if policy.recall.default_k != Policy().recall.default_k:
        k = policy.recall.default_k
    budget = head["budget_tokens"]
    if budget == Policy().context.default_budget_tokens:
        budget = policy.context.default_budget_tokens
    return k, budget  # type: ignore[return-value]


@settings(max_examples=80)
@given(cases(), st.lists(policies(), min_size=3, max_size=4), st.integers(1, 4), st.data())
def test_every_measure_is_what_its_words_say(
    given_cases: list[Case], mine: list[Policy], at: int, data: st.DataObject
) -> None:
    mine = [changed(policy, {"decay.refresh": "served"}) for policy in mine]
    sizes = [len(rows) for _, rows in given_cases]
    alive = [data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in sizes]
    whole = [[True] * n for n in sizes]
    masks = Masks([(np.array([0]), np.concatenate(alive)), (np.arange(1, len(mine)), None)])
    for policy in mine:
        assume(is_clear(given_cases, alive, policy) and is_clear(given_cases, whole, policy))
    replay = Replay.made(made(given_cases), current=Policy())
    found = measured(replay, mine, masks, at)
    for place, policy in enumerate(mine):
        told: list[dict[str, float]] = []
        for number, (head, rows) in enumerate(given_cases):
            if not any(one["gain"] for one in rows):
                assert all(np.isnan(found.per_call[name][number, place]) for name in MEASURES)
                continue
            kept = alive[number] if place == 0 else whole[number]
            told.append(oracle_measures(head, rows, kept, policy, at, limits(head, rows, policy)))
            for name in MEASURES:
                assert found.per_call[name][number, place] == pytest.approx(told[-1][name]), name
        for name in MEASURES:
            expected = np.mean([one[name] for one in told]) if told else np.nan
            assert found.metrics[name][place] == pytest.approx(expected, nan_ok=True), name


@settings(max_examples=30)
@given(cases(), st.lists(policies(), min_size=3, max_size=3), st.sampled_from([1, 3_000, 200_000]))
def test_policies_together_in_any_blocks_and_threads_are_as_each_alone(
    given_cases: list[Case], others: list[Policy], block_bytes: int
) -> None:
    policy = others[0]
    many = [changed(policy, {"recall.weights.recency": i / 20}) for i in range(SHARED_LEAST)]
    many += [*others, *(changed(policy, {"recall.closeness_power": float(i)}) for i in range(3))]
    whole = [[True] * len(rows) for _, rows in given_cases]
    assume(all(is_clear(given_cases, whole, one) for one in many))
    replay = Replay.made(made(given_cases))
    together = replayed(replay, many, metric_at=3, block_bytes=block_bytes, per_call=True, threads=3)
    again = replayed(replay, many, metric_at=3, block_bytes=block_bytes, threads=1)
    for name in MEASURES:
        assert together.metrics[name].tobytes() == again.metrics[name].tobytes(), name  # to the bit
        for place, one in enumerate(many):
            alone = measured(replay, [one]).per_call[name][:, 0]
            assert together.per_call[name][:, place] == pytest.approx(alone, abs=1e-12, nan_ok=True), name


ROWS = [
    row("m0", relevance=1.0, tokens=10),
    row("m1", relevance=0.8, tokens=20, gain=1.0),
    row("m2", relevance=0.6, tokens=30, is_returned=False),
    row("m3", relevance=0.4, tokens=40, gain=0.5, is_returned=False),
]
RELEVANCE = changed(Policy(), {"recall.weights.relevance": 1.0})


def test_a_call_by_hand() -> None:
    found = measured(Replay.made(made([(call("c1"), ROWS)])), [RELEVANCE], at=3).metrics
    assert found["ndcg"][0] == pytest.approx((1 / math.log2(3)) / (1 + 0.5 / math.log2(3)))
    assert {name: values[0] for name, values in found.items() if name != "ndcg"} == {
        "recall": 0.5,  # one of two stands among the first three
        "mrr": 0.5,
        "hit": 1.0,
        "tokens": 30.0,  # two rows were given
        "lost": 0.0,
    }


def test_what_is_forgotten_makes_room_and_is_lost() -> None:
    replay = Replay.made(made([(call("c1"), ROWS)]))
    without = {
        "m0": np.array([False, True, True, True]),
        "m1": np.array([True, False, True, True]),
        "all": np.zeros(4, np.bool_),
    }
    masks = Masks([(np.array([place]), alive) for place, alive in enumerate(without.values())])
    found = measured(replay, [RELEVANCE] * 3, masks).metrics
    assert found["mrr"].tolist() == [1.0, 1 / 3, 0.0]
    assert found["lost"] == pytest.approx([0.0, 2 / 3, 1.0])
    assert found["recall"].tolist() == [1.0, 0.5, 0.0]
    assert found["tokens"].tolist() == [50.0, 40.0, 0.0]
    assert found["ndcg"][2] == 0.0


@pytest.mark.parametrize(("k", "expected"), [(1, 10.0), (3, 60.0), (50, 100.0)])
def test_a_changed_k_changes_the_answers_and_the_k_of_then_does_not(k: int, expected: float) -> None:
    other = changed(RELEVANCE, {"recall.default_k": k})
    replay = Replay.made(made([(call("c1"), ROWS)]), current=RELEVANCE)
    assert measured(replay, [RELEVANCE, other]).metrics["tokens"].tolist() == [30.0, expected]
    unknown = Replay.made(made([(call("c1"), ROWS)]))
    assert measured(unknown, [other]).metrics["tokens"].tolist() == [30.0]


@pytest.mark.parametrize(("budget", "expected"), [(9, 0.0), (10, 10.0), (59, 30.0), (5_000, 100.0)])
def test_a_context_is_filled_until_a_row_does_not_fit(budget: int, expected: float) -> None:
    head = call("c1", verb="context", budget_tokens=budget)
    assert measured(Replay.made(made([(head, ROWS)])), [RELEVANCE]).metrics["tokens"][0] == expected


def test_a_changed_budget_is_that_of_contexts_that_named_none() -> None:
    heads = [call("c1", verb="context", budget_tokens=2_000), call("c2", verb="context", budget_tokens=35)]
    other = changed(RELEVANCE, {"context.default_budget_tokens": 60})
    replay = Replay.made(made([(head, ROWS) for head in heads]), current=RELEVANCE)
    assert measured(replay, [other]).per_call["tokens"][:, 0].tolist() == [60.0, 30.0]


def test_calls_without_labels_are_not_measured() -> None:
    unknown = [one | {"gain": None} for one in ROWS]
    useless = [one | {"gain": 0.0} for one in ROWS]
    replay = Replay.made(made([(call("c1"), unknown), (call("c2"), ROWS), (call("c3"), useless)]))
    found = measured(replay, [RELEVANCE])
    assert np.isnan(found.per_call["ndcg"][:, 0]).tolist() == [True, False, True]
    assert found.metrics["mrr"].tolist() == [0.5]
    nothing = measured(Replay.made(made([(call("c1"), unknown)])), [RELEVANCE]).metrics
    assert all(np.isnan(values).tolist() == [True] for values in nothing.values())


def test_more_candidates_than_a_byte_counts() -> None:
    """300 and 700 candidates, the one that was of use at a known place from the top."""
    sizes = {300: 290, 700: 513}
    given_cases: list[Case] = []
    for number, (size, place) in enumerate(sizes.items()):
        rows = [row(f"m{i:03d}", relevance=1 - i / 1_000, tokens=1) for i in range(size)]
        rows[place]["gain"] = 1.0
        given_cases.append((call(f"c{number}"), rows))
    replay = Replay.made(made(given_cases))
    many = [changed(RELEVANCE, {"recall.success_boost": i / 10}) for i in range(3)]
    found = replayed(replay, many, metric_at=600, block_bytes=BLOCK, per_call=True)
    for column in range(3):
        assert found.per_call["mrr"][:, column] == pytest.approx([1 / 291, 1 / 514])


def test_memory_is_that_of_a_block_and_not_of_policies_times_candidates() -> None:
    rows = [row(f"m{i}", relevance=1 - i / 50, tokens=5, gain=float(i == 7)) for i in range(40)]
    replay = Replay.made(made([(call(f"c{number:03d}"), rows) for number in range(150)]))
    many = [changed(RELEVANCE, {"recall.weights.recency": i / 200}) for i in range(100)]
    many += [changed(one, {"recall.closeness_power": i / 20}) for i, one in enumerate(many)]
    tracemalloc.start()
    try:
        replayed(replay, many, metric_at=5, block_bytes=1_000_000, threads=1)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000  # all scores at once: 150 x 40 x 200 x 8 = 9.6 MB an array


def test_only_what_is_asked_for_is_measured() -> None:
    replay = Replay.made(made([(call("c1"), ROWS)]))
    found = replayed(replay, [RELEVANCE], metric_at=3, block_bytes=BLOCK, measures=["tokens", "mrr"])
    assert sorted(found.metrics) == ["mrr", "tokens"]
    assert found.per_call == {}
    with pytest.raises(UsageError, match="precision"):
        replayed(replay, [RELEVANCE], metric_at=3, block_bytes=BLOCK, measures=["precision"])
    with pytest.raises(UsageError, match="0 places"):
        replayed(replay, [RELEVANCE], metric_at=0, block_bytes=BLOCK)


def test_tokens_that_the_log_lacks_are_estimated() -> None:
    """By the same memory in another call, then by its length, then by its kind, then by all."""
    rows = [
        row("known", tokens=12, kind="fact"),
        row("long", kind="fact"),
        row("other", kind="fact"),
        row("odd", kind="summary"),
    ]
    again = [row("known", kind="fact", relevance=0.9)]
    calls = made([(call("c1"), rows), (call("c2"), again)])
    assert Replay.made(calls).tokens.tolist() == [12.0, 12.0, 12.0, 12.0, 12.0]
    told = calls.rows.with_columns(text_chars=pl.Series([60, 101, None, None, 60]))
    tokens = Replay.made(Calls(calls.heads, told, calls.starts)).tokens
    assert tokens.tolist() == [12.0, 21.0, 15.0, 15.0, 12.0]  # 5 characters a token; (12 + 21 + 12) / 3
    nothing = made([(call("c1"), [row("m0", gain=1.0)])])
    assert np.isnan(Replay.made(nothing).tokens).all()
    assert np.isnan(measured(Replay.made(nothing), [RELEVANCE]).metrics["tokens"]).all()


def test_the_order_of_the_log_says_which_calls_were_answered_by_time() -> None:
    falling = [row(f"m{i}", event_days=float(i), relevance=0.2 + i / 10) for i in range(5)]
    by_score = [row(f"m{i}", event_days=float(9 - i), relevance=0.9 - i / 10) for i in range(5)]
    both = [row(f"m{i}", event_days=float(i), relevance=0.9 - i / 10) for i in range(5)]
    given = [one | {"is_returned": i in (0, 2)} for i, one in enumerate(falling)]
    shown = [given[i] for i in (0, 2, 1, 3, 4)]  # what matters most, then the rest, each by time
    plain = RELEVANCE
    calls = made(
        [
            (call(f"{route}-{name}", route=route), rows)
            for route in ("recency", "temporal", "semantic")
            for name, rows in {"1": falling, "2": by_score, "3": both, "4": shown}.items()
        ],
        plain,
    )
    found = dict(zip(calls.heads["call_id"], Replay.made(calls).is_kept.tolist(), strict=True))
    assert {name: found[f"recency-{name}"] for name in "1234"} == {
        "1": True,
        "2": False,
        "3": True,
        "4": True,
    }
    assert {name: found[f"temporal-{name}"] for name in "1234"} == {
        "1": True,
        "2": False,
        "3": False,
        "4": True,
    }
    assert not any(found[f"semantic-{name}"] for name in "1234")
