"""Spaces of policies: every point is a policy, grids hold what their file says, and mistakes are named."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transforms.errors import ConfigError
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.tuning.knobs import KNOBS, WEIGHTS, knob_of, value_of
from transforms.tuning.space import Space, ladder, policy_of, space_of, usual_space

POLICY = Policy()
USUAL = usual_space(["outcome", "conversation", "fact"])
EVERYTHING = Space(tuple(KNOBS.values()), is_simplex=True)


def grid(text: str) -> Space:
    return space_of(tomllib.loads(text), POLICY)


def cubes(space: Space) -> st.SearchStrategy[Any]:
    return hnp.arrays(np.float64, (3, len(space.knobs)), elements=st.floats(0, 1))


@given(cubes(EVERYTHING))
def test_every_point_of_every_knob_is_a_policy(points: np.ndarray) -> None:
    for changes in EVERYTHING.at(points):
        policy = changed(POLICY, changes)
        assert {key: value_of(policy, key) for key in changes} == pytest.approx(changes)
        weights = [value for key, value in changes.items() if key.startswith(WEIGHTS)]
        assert sum(weights) == pytest.approx(1.0, abs=1e-12)
        assert weights == [round(weight, 3) for weight in weights]


def test_the_usual_space_holds_weights_closeness_and_the_kinds_that_occur() -> None:
    assert USUAL.keys == (
        *(f"recall.weights.{name}" for name in ("relevance", "recency", "importance", "frequency", "type")),
        "recall.closeness_power",
        "decay.half_life_days.conversation",
        "decay.half_life_days.outcome",
        "decay.half_life_days.fact",
    )


def test_the_point_of_a_policy_leads_back_to_it() -> None:
    wanted = {key: value_of(POLICY, key) for key in USUAL.keys}
    assert USUAL.at(USUAL.point(POLICY)[None]) == [wanted]
    every = Space(tuple(KNOBS.values()))
    [back] = every.at(every.point(POLICY)[None])
    for key, value in back.items():
        held = value_of(POLICY, key)
        knob = knob_of(key)
        if isinstance(held, float | int) and isinstance(value, float | int):
            assert value == pytest.approx(min(max(held, knob.low), knob.high), rel=0.006), key
        else:
            assert value == held, key


def test_weights_are_spread_evenly_over_those_that_sum_to_one() -> None:
    changes = USUAL.at(np.random.default_rng(3).random((4_000, len(USUAL.knobs))))
    drawn = np.array([[c[f"{WEIGHTS}{n}"] for n in ("relevance", "recency", "type")] for c in changes])
    # Each of five Dirichlet(1) weights has mean 1/5 and variance 4 / (25 x 6).
    assert drawn.mean(axis=0) == pytest.approx([0.2] * 3, abs=0.01)
    assert drawn.var(axis=0) == pytest.approx([4 / 150] * 3, rel=0.1)


def test_a_grid_is_every_combination() -> None:
    space = grid("""
"recall.closeness_power" = [2, 6.0]
[decay.half_life_days]
conversation = [7, "never"]
fact = { min = 10, max = 1000, steps = 3, scale = "log", never = true }
""")
    changes, left_out = space.grid(16)
    assert left_out == 0
    assert len(changes) == 2 * 2 * 4
    assert changes[0] == {
        "recall.closeness_power": 2,
        "decay.half_life_days.conversation": 7,
        "decay.half_life_days.fact": 10.0,
    }
    assert [c["decay.half_life_days.fact"] for c in changes[:4]] == [10.0, 100.0, 1000.0, None]
    assert {c["decay.half_life_days.conversation"] for c in changes} == {7, None}


def test_a_grid_of_too_many_is_refused_with_its_count() -> None:
    space = grid("recall.closeness_power = {min = 0, max = 9, steps = 100}\nrecall.success_boost = [0, 0.1]")
    with pytest.raises(ConfigError, match=r"200 policies, more than tune.grid_limit \(199\)"):
        space.grid(199)
    assert len(space.grid(200)[0]) == 200


def test_weights_of_a_grid_that_pass_one_are_left_out_and_counted() -> None:
    space = grid("[recall.weights]\nrecency = [0.2, 0.7]\nimportance = [0.3, 0.5]")
    changes, left_out = space.grid(100)
    assert left_out == 1
    assert [(c["recall.weights.recency"], c["recall.weights.importance"]) for c in changes] == [
        (0.2, 0.3),
        (0.2, 0.5),
        (0.7, 0.3),
    ]
    for each in changes:
        changed(POLICY, each)


@given(hnp.arrays(np.float64, (2, 2), elements=st.floats(0, 1)))
def test_points_of_such_a_file_are_policies_too(points: np.ndarray) -> None:
    space = grid("[recall.weights]\nrecency = [0.2, 0.7]\nimportance = {min = 0.1, max = 1.0}")
    for changes in space.at(points):
        assert sum(changes.values()) <= 1.0 + 1e-9
        changed(POLICY, changes)


@given(st.dictionaries(st.sampled_from(["recency", "type", "importance"]), st.floats(0, 0.33), max_size=3))
def test_weights_that_are_not_named_are_numbers_one_would_write(given: dict[str, float]) -> None:
    changes = {f"{WEIGHTS}{name}": round(value, 2) for name, value in given.items()}
    policy = policy_of(POLICY, changes)
    weights = policy.recall.weights_for(None).model_dump()
    assert all(value == round(value, 3) for value in weights.values())
    exact = changed(POLICY, changes).recall.weights_for(None).model_dump()
    assert weights == pytest.approx(exact, abs=0.0026)
    assert {f"{WEIGHTS}{name}": weights[name] for name in given} == changes


MISTAKES = {
    "nothing": ("", "names no key"),
    "near key": ("recall.weights.recentcy = [0.1]", "did you mean recall.weights.recency"),
    "no section": ("recal.closeness_power = [1]", "did you mean recall.closeness_power"),
    "relevance": ("recall.vector_share = [0.1]", "words and vectors"),
    "vectors": ("recall.duplicate_cosine = [0.9]", "vectors of candidates"),
    "writing": ("importance.small_talk = [0.1]", "when memories are made"),
    "law": ("retention.user_cap_seconds = [1]", "a person or the law"),
    "route": ("routing.range_share = [0.1]", "the route of a call"),
    "agents": ("recall.agents.bot = ['two']", "--agent"),
    "no list": ("recall.closeness_power = 6", "no list of values"),
    "empty list": ("recall.closeness_power = []", "no list of values"),
    "value": ("recall.closeness_power = [6, -1]", "recall.closeness_power: Input should be greater"),
    "text": ("decay.half_life_days.conversation = [7, 'ever']", "half_life_days.conversation"),
    "weight": ("recall.weights.recency = [1.5]", "do not sum to 1"),
    "range ends": ("recall.closeness_power = {min = 5, max = 2}", "no range from min to max"),
    "range text": ("recall.closeness_power = {min = 'a', max = 2}", "no range from min to max"),
    "range value": ("recall.closeness_power = {min = -2, max = 2}", "recall.closeness_power"),
    "steps": ("recall.closeness_power = {min = 1, max = 2, steps = 0}", "no number of steps"),
    "scale": ("recall.closeness_power = {min = 1, max = 2, scale = 'cubic'}", "this scale"),
    "log of nothing": ("recall.closeness_power = {min = 0, max = 2, scale = 'log'}", "this scale"),
    "never": ("recall.closeness_power = {min = 1, max = 2, never = true}", "recall.closeness_power"),
    "range key": ("recall.closeness_power = {min = 1, max = 2, step = 3}", "unknown step"),
    "no range": ("decay.refresh = {min = 1, max = 2}", "has no range"),
    "weight of text": ("recall.weights.recency = ['much']", "a number from 0 to 1"),
    "weight of lists": ("recall.weights.recency = [[0.1]]", "a number from 0 to 1"),
    "weight that is none": ("recall.weights.recency = [nan]", "a number from 0 to 1"),
    "list of lists": ("recall.closeness_power = [[1]]", "recall.closeness_power"),
    "not finite": ("recall.closeness_power = [inf]", "recall.closeness_power"),
    "far too large": (f"recall.default_k = [{10**400}]", "recall.default_k"),
    "range far too large": (f"recall.default_k = {{min = 1, max = {10**400}}}", "from min to max"),
    "too many steps": ("recall.closeness_power = {min = 1, max = 2, steps = 999999999}", "tune.grid_limit"),
    "deep": (".".join("a" * 5_000) + " = [1]", "no policy key"),
    "twice": ("'recall.closeness_power' = [1]\n[recall]\ncloseness_power = [2]", "twice"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_grid_is_named(name: str) -> None:
    text, told = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        grid(text)
    assert told in str(caught.value)


def test_a_ladder_has_both_ends_and_each_value_once() -> None:
    assert ladder(knob_of("decay.half_life_days.conversation"), 3) == [1.0, 19.1, 365.0, None]
    assert ladder(knob_of("recall.default_k"), 30)[:4] == [3, 4, 5, 6]
    assert ladder(knob_of("decay.refresh"), 9) == ["served", "used"]
    assert all(isinstance(value, int) for value in ladder(knob_of("capacity.facts"), 7))
