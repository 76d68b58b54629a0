"""Recall score against a slow oracle, and its laws."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import ConfigError, UsageError
from transforms.policy import Policy
from transforms.policy_recall import RecallPolicy
from transforms.policy_retention import DecayPolicy
from transforms.schemas import MEMORIES
from transforms.scoring import FACTORS, closeness, score, score_columns
from transforms.weights import weights_of

AS_OF = datetime(2026, 3, 31, tzinfo=UTC)
SCHEMA = {
    **{c.name: c.dtype for c in MEMORIES.columns if c.name not in ("vector", "search_text")},
    "cosine": pl.Float64,
    "bm25": pl.Float64,
}
PLAIN: dict[str, Any] = {
    "memory_id": "m",
    "tenant_id": "t",
    "kind": "conversation",
    "tier": "episodic",
    "text": "tea",
    "content_hash": "h",
    "importance": 0.5,
    "access_count": 0,
    "sensitivity": "normal",
    "trust": 1.0,
    "source_refs": [],
    "event_at": AS_OF,
    "last_accessed_at": AS_OF,
    "cosine": 0.5,
    "bm25": None,
}
WEIGHTS = {
    "relevance": "relevance",
    "recency": "recency",
    "importance": "importance_factor",
    "frequency": "frequency",
    "type": "type_factor",
}


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    named = [{**PLAIN, "memory_id": f"m{i}", "content_hash": f"h{i}", **row} for i, row in enumerate(rows)]
    return pl.DataFrame(named, schema=SCHEMA)


def only(weight: str) -> Policy:
    """A policy in which one weight is 1 and the others 0."""
    weights = {name: float(name == weight) for name in WEIGHTS}
    return Policy(recall=RecallPolicy.model_validate({"weights": weights}))


def factor(name: str, *rows: dict[str, Any], policy: Policy | None = None) -> list[float]:
    scored = score(frame(*rows), policy=policy or Policy(), as_of=AS_OF)
    return scored.sort("memory_id")[name].to_list()


def score_oracle(rows: list[dict[str, Any]], policy: Policy, as_of: datetime) -> list[dict[str, Any]]:
    recall, decay, weights = policy.recall, policy.decay, policy.recall.weights_for(None)
    best = max((row["bm25"] for row in rows if row["bm25"] is not None), default=0.0)
    texts = [(row["bm25"] or 0.0) / best if best > 0 else 0.0 for row in rows]
    relevances = [
        recall.vector_share * max(row["cosine"] or 0.0, 0.0) + (1 - recall.vector_share) * text
        for row, text in zip(rows, texts, strict=True)
    ]
    top = max(relevances, default=0.0)
    out = []
    for row, relevance in zip(rows, relevances, strict=True):
        near = (relevance / top) ** recall.closeness_power if top > 0 else 1.0
        half_lives = decay.half_life_days
        kind = row["kind"] if row["kind"] in half_lives else "conversation"
        half_life = half_lives[kind]
        age = max((as_of - (row["last_accessed_at"] or row["event_at"])) / timedelta(days=1), 0.0)
        recency = 1.0 if half_life is None else 0.5 ** (age / half_life)
        boost = recall.success_boost if row["outcome"] == "success" else 0.0
        importance = min(1.0, row["importance"] + boost)
        frequency = min(1.0, math.log(1 + row["access_count"]) / math.log(decay.frequency_scale))
        bonus = recall.type_bonus.get(row["tier"], 0.0)
        recency, importance, frequency, bonus = (
            near * value for value in (recency, importance, frequency, bonus)
        )
        total = (
            weights.relevance * relevance
            + weights.recency * recency
            + weights.importance * importance
            + weights.frequency * frequency
            + weights.type * bonus
        )
        values = (relevance, recency, importance, frequency, bonus)
        out.append({**row, **dict(zip(FACTORS, values, strict=True)), "score": min(total, 1.0)})
    return out


ROW = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([*DecayPolicy().half_life_days, "unheard_of"]),
        "tier": st.sampled_from(["working", "procedural", "semantic", "episodic", "odd"]),
        "outcome": st.sampled_from(["success", "failure", "partial", None]),
        "importance": st.floats(0, 1, width=32),
        "access_count": st.integers(0, 1000),
        "event_at": st.integers(-400, 5).map(lambda d: AS_OF + timedelta(days=d)),
        "last_accessed_at": st.none()
        | st.integers(-(10**13), 10**11).map(lambda us: AS_OF + timedelta(microseconds=us)),
        "cosine": st.none() | st.floats(-1, 1),
        "bm25": st.none() | st.floats(0, 40),
    }
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    parts = draw(st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any))
    weights = {name: part / sum(parts) for name, part in zip(WEIGHTS, parts, strict=True)}
    recall = {
        "weights": weights,
        "vector_share": draw(st.floats(0, 1)),
        "success_boost": draw(st.floats(0, 1)),
    }
    decay = DecayPolicy(frequency_scale=draw(st.floats(1.5, 500)))
    return Policy(recall=RecallPolicy.model_validate(recall), decay=decay)


@given(st.lists(ROW, max_size=8), policies())
def test_score_is_the_oracles(rows: list[dict[str, Any]], policy: Policy) -> None:
    scored = score(frame(*rows), policy=policy, as_of=AS_OF)
    assert scored.columns == [*SCHEMA, *FACTORS, "score"]
    expected = {r["memory_id"]: r for r in score_oracle(frame(*rows).to_dicts(), policy, AS_OF)}
    assert scored.height == len(expected)
    for row in scored.iter_rows(named=True):
        for name in (*FACTORS, "score"):
            assert row[name] == pytest.approx(expected[row["memory_id"]][name], abs=1e-9)
            assert 0.0 <= row[name] <= 1.0


@given(st.lists(ROW, max_size=8), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(rows: list[dict[str, Any]], shuffler: random.Random) -> None:
    candidates = frame(*rows)
    order = list(range(candidates.height))
    shuffler.shuffle(order)
    scored = score(candidates, policy=Policy(), as_of=AS_OF)
    assert score(candidates[order], policy=Policy(), as_of=AS_OF).equals(scored)
    keys = [(-r["score"], -r["event_at"].timestamp(), r["memory_id"]) for r in scored.to_dicts()]
    assert keys == sorted(keys)


def test_ties_go_to_the_newer_event_then_to_the_id() -> None:
    old = AS_OF - timedelta(days=9)
    rows = frame({"memory_id": "c"}, {"memory_id": "a", "event_at": old}, {"memory_id": "b"})
    assert score(rows, policy=Policy(), as_of=AS_OF)["memory_id"].to_list() == ["b", "c", "a"]


@pytest.mark.parametrize(("weight", "name"), WEIGHTS.items())
def test_each_weight_carries_its_factor_alone(weight: str, name: str) -> None:
    row = {"importance": 0.25, "access_count": 3, "tier": "working", "cosine": 0.75}
    row |= {"last_accessed_at": AS_OF - timedelta(days=3)}
    scored = score(frame(row), policy=only(weight), as_of=AS_OF)
    factors = [scored[f].item() for f in FACTORS]
    assert len(set(factors)) == len(factors)  # so that no other factor could pass for this one
    assert scored["score"].item() == pytest.approx(scored[name].item(), abs=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_moving_a_weight_moves_the_score(weight: str) -> None:
    row = {"importance": 0.25, "access_count": 3, "tier": "working", "cosine": 0.75}
    row |= {"last_accessed_at": AS_OF - timedelta(days=3)}
    scores = set()
    for part in (0.0, 0.5, 1.0):
        weights = {name: part if name == weight else (1 - part) / 4 for name in WEIGHTS}
        policy = Policy(recall=RecallPolicy.model_validate({"weights": weights}))
        scores.add(round(score(frame(row), policy=policy, as_of=AS_OF)["score"].item(), 6))
    assert len(scores) == 3


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"cosine": 0.2}, {"cosine": 0.3}),
        ({"bm25": 1.0}, {"bm25": 2.0}),
        ({"last_accessed_at": AS_OF - timedelta(days=2)}, {"last_accessed_at": AS_OF - timedelta(days=1)}),
        ({"importance": 0.2}, {"importance": 0.3}),
        ({"access_count": 1}, {"access_count": 2}),
        ({"tier": "semantic"}, {"tier": "procedural"}),
        ({"tier": "procedural"}, {"tier": "working"}),
        ({"outcome": "failure"}, {"outcome": "success"}),
    ],
)
def test_score_rises_with_each_factor(worse: dict[str, Any], better: dict[str, Any]) -> None:
    scored = score(frame(worse, better, {"bm25": 5.0}), policy=Policy(), as_of=AS_OF).sort("memory_id")
    assert scored["score"][1] > scored["score"][0]


@given(ROW, ROW)
def test_no_worse_in_any_factor_is_never_ranked_lower(a: dict[str, Any], b: dict[str, Any]) -> None:
    better = {**a, "importance": 1.0, "tier": "working", "access_count": a["access_count"] + 1, "bm25": 40.0}
    for pair in ((a, b), (a, better)):
        first, second = score(frame(*pair), policy=Policy(), as_of=AS_OF).to_dicts()
        if all(second[f] >= first[f] for f in FACTORS):
            assert second["score"] == pytest.approx(first["score"], abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"cosine": 0.5, "bm25": None}], [0.15]),
        ([{"cosine": None, "bm25": 8.0}, {"cosine": 1.0, "bm25": 4.0}], [0.7, 0.65]),
        ([{"cosine": -0.5, "bm25": None}], [0.0]),
        ([{"cosine": math.nan, "bm25": math.nan}, {"bm25": 2.0}], [0.0, 0.85]),
        ([{"cosine": None, "bm25": 0.0}], [0.0]),
    ],
)
def test_relevance(rows: list[dict[str, Any]], expected: list[float]) -> None:
    assert factor("relevance", *rows) == pytest.approx(expected)


def test_candidates_of_one_search_only_may_have_an_untyped_column() -> None:
    rows = frame({"cosine": None, "bm25": 3.0}).with_columns(cosine=pl.lit(None))
    assert score(rows, policy=Policy(), as_of=AS_OF)["relevance"].to_list() == pytest.approx([0.7])


@pytest.mark.parametrize(
    ("kind", "age_days", "expected"),
    [
        ("conversation", 7, 0.5),
        ("outcome", 14, 0.25),
        ("summary", 30, 0.5),
        ("preference", 90, 0.5),
        ("fact", 10_000, 1.0),
        ("procedure", 10_000, 1.0),
        ("unheard_of", 7, 0.5),
        ("conversation", -3, 1.0),
    ],
)
def test_recency(kind: str, age_days: int, expected: float) -> None:
    row = {"kind": kind, "last_accessed_at": AS_OF - timedelta(days=age_days)}
    assert factor("recency", row) == pytest.approx([expected])


def test_a_policy_of_no_half_lives_decays_nothing() -> None:
    policy = Policy(decay=DecayPolicy(half_life_days={}))
    row = {"last_accessed_at": AS_OF - timedelta(days=70)}
    assert factor("recency", row, policy=policy) == [1.0]


def test_frequency_is_full_at_the_scale() -> None:
    assert factor("frequency", {"access_count": 0}, {"access_count": 49}, {"access_count": 5000}) == (
        pytest.approx([0.0, 1.0, 1.0])
    )


def test_success_boosts_importance_to_at_most_one() -> None:
    rows: list[dict[str, Any]] = [
        {"outcome": "success"},
        {"outcome": "failure"},
        {"outcome": "success", "importance": 0.95},
    ]
    assert factor("importance_factor", *rows) == pytest.approx([0.6, 0.5, 1.0])


def test_tier_bonus() -> None:
    rows = [{"tier": t} for t in ("working", "procedural", "semantic", "episodic", "odd")]
    assert factor("type_factor", *rows) == [0.3, 0.2, 0.0, 0.0, 0.0]


def test_no_candidates() -> None:
    scored = score(frame(), policy=Policy(), as_of=AS_OF)
    assert scored.is_empty()
    assert scored.schema == {**SCHEMA, **dict.fromkeys((*FACTORS, "score"), pl.Float64())}


def test_impossible_values_are_named() -> None:
    with pytest.raises(UsageError, match="time zone"):
        score(frame({}), policy=Policy(), as_of=AS_OF.replace(tzinfo=None))
    made = DecayPolicy.model_construct  # without its checks
    for decay in (made(half_life_days={"conversation": 0.0}), made(frequency_scale=1.0)):
        with pytest.raises(ConfigError, match="decay"):
            score(frame({}), policy=Policy(decay=decay), as_of=AS_OF)


def test_recency_lifts_a_row_that_is_about_the_question_and_no_stranger() -> None:
    old = {"relevance": 0.8, "age": 90}
    near = {"relevance": 0.75, "age": 1}
    stranger = {"relevance": 0.3, "age": 0}
    rows = (old, near, stranger)

    def order(power: float, is_about: bool = True) -> list[int]:
        columns = {
            "relevance": np.array([row["relevance"] for row in rows]),
            "importance": np.full(3, 0.4),
            "access_count": np.zeros(3),
            "seen_us": np.array(
                [(AS_OF - timedelta(days=row["age"])).timestamp() * 1e6 for row in rows], np.int64
            ),
            "kind": ["conversation"] * 3,
            "tier": ["episodic"] * 3,
            "outcome": [None] * 3,
        }
        policy = Policy(recall=RecallPolicy(closeness_power=power))
        scored = score_columns(columns, policy=policy, as_of=AS_OF, is_about=is_about)
        assert scored["score"] == pytest.approx(
            sum(w * scored[f] for w, f in zip(weights_of("five").values(), FACTORS, strict=True))
        )
        return [int(place) for place in np.argsort(-scored["score"])]

    assert order(6.0) == [1, 0, 2]
    assert order(0.0) == [1, 2, 0]  # a plain sum: yesterday's small talk before the old answer
    assert order(6.0, is_about=False) == [1, 2, 0]


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0, 20))
def test_closeness_is_1_for_the_best_and_rises_with_relevance(values: list[float], power: float) -> None:
    found = closeness(np.array(values), power)
    assert ((found >= 0) & (found <= 1)).all()
    if values and max(values) > 0:
        assert found[int(np.argmax(values))] == 1
        ordered = found[np.argsort(values, kind="stable")]
        assert (np.diff(ordered) >= 0).all()
    else:
        assert (found == 1).all()
