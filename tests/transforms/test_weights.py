"""Weights of the factors: presets, numbers of one's own, and how the log names them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from transforms.errors import UsageError
from transforms.policy_recall import RecallPolicy
from transforms.scoring import FACTORS
from transforms.weights import PRESETS, Weights, told_of, told_weights, weights_of


def test_the_presets_are_the_published_numbers() -> None:
    assert {name: preset.values() for name, preset in PRESETS.items()} == {
        "five": (0.35, 0.20, 0.20, 0.10, 0.15),
        "three": (0.6, 0.2, 0.2, 0.0, 0.0),
        "two": (0.7, 0.3, 0.0, 0.0, 0.0),
    }
    assert [name.removesuffix("_factor") for name in FACTORS] == list(Weights.model_fields)


@given(st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any))
def test_what_the_log_says_of_weights_says_which_they_were(parts: list[int]) -> None:
    weights = Weights(**{n: p / sum(parts) for n, p in zip(Weights.model_fields, parts, strict=True)})
    assert told_weights(told_of(weights)) == weights
    assert weights_of(weights.model_dump()) == weights


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_told_by_its_name(name: str) -> None:
    assert told_of(weights_of(name)) == name
    assert told_weights(name) == PRESETS[name]


@pytest.mark.parametrize("told", ["", "six", "own:", "own:1/0", "own:a/0/0/0/0", "own:0.5/0/0/0/0"])
def test_a_logged_call_with_no_weights_is_refused(told: str) -> None:
    with pytest.raises(UsageError):
        told_weights(told)


@pytest.mark.parametrize(
    "wrong",
    ["four", "", {}, {"relevance": 0.5}, {"relevance": 1.5, "recency": -0.5}, {"mood": 1.0}, 5, None, [1.0]],
)
def test_weights_that_are_none_are_refused_wherever_they_stand(wrong: Any) -> None:
    with pytest.raises(UsageError, match="weights"):
        weights_of(wrong)
    for where in ({"weights": wrong}, {"agents": {"a": wrong}}):
        with pytest.raises(ValidationError):
            RecallPolicy.model_validate(where)


def test_an_agent_has_its_own_and_others_have_the_policys() -> None:
    policy = RecallPolicy.model_validate({"weights": "two", "agents": {"a": "three", "b": {"type": 1}}})
    assert policy.weights_for("a") == PRESETS["three"]
    assert policy.weights_for("b") == Weights(type=1)
    assert policy.weights_for("c") == policy.weights_for(None) == PRESETS["two"]


def test_a_factor_that_is_none_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no factor is called relevence, known are relevance, recency"):
        weights_of({"relevence": 1.0})
