"""Groups of objects: against a slow plain search, and on small visible tables."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.facts.claimed import POLICY, VECTORS, at_angles, claim, frame
from transforms.errors import UsageError
from transforms.facts import near
from transforms.facts.agreement import agree, signature
from transforms.facts.linkage import complete_groups
from transforms.facts.near import GROUPS, near_pairs, object_groups
from transforms.schemas import CLAIMS

Claims = list[dict[str, Any]]
BASE = ("tenant_id", "owner", "subject_key", "predicate", "aspect")


def groups(claims: Claims, degrees: dict[str, float]) -> list[str]:
    return object_groups(frame(claims), at_angles(claims, degrees), POLICY)["object_group"].to_list()


def oracle(claims: Claims, vectors: dict[str, list[float]], cosine: float) -> dict[str, str]:
    """Group of each claim, pair by pair."""
    found: dict[str, str] = {}
    for _, same in itertools.groupby(sorted(claims, key=base_of), key=base_of):
        held = list(same)
        keys = sorted({c["object_key"] for c in held})
        pairs: dict[tuple[int, int], float] = {}
        for one, two in itertools.permutations(held, 2):
            if one["polarity"] != two["polarity"] or not one["object_key"] < two["object_key"]:
                continue
            a, b = vectors.get(one["fact"]), vectors.get(two["fact"])
            if not one["object_key"] or a is None or b is None or not any(a) or not any(b):
                continue
            close = sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))
            if close > cosine and agree(signature(one["object"]), signature(two["object"])):
                place = (keys.index(one["object_key"]), keys.index(two["object_key"]))
                pairs[place] = max(close, pairs.get(place, close))
        group = complete_groups([(s, *place) for place, s in pairs.items()])
        found |= {
            c["claim_id"]: keys[group.get(keys.index(c["object_key"]), keys.index(c["object_key"]))]
            for c in held
        }
    return found


def base_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BASE)


THINGS = {
    "tea": 0.0,
    "teas": 9.0,
    "tea with milk": 19.0,
    "a tea": 31.0,
    "the tea": 43.0,
    "two teas": 4.0,
    "jazz": 90.0,
}
"""Cosine 0.92 lies at 23 degrees."""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 25), st.sampled_from([0.5, 0.92, 0.99]))
def test_as_the_plain_search_in_any_order(seed: int, count: int, cosine: float) -> None:
    rng = random.Random(seed)
    claims = [
        claim(
            n,
            rng.choice([*THINGS, ""]),
            n,
            tenant_id=rng.choice("tw"),
            user_id=rng.choice("uv"),
            predicate=rng.choice(["likes", "lives_in"]),
            polarity=rng.choice(["positive", "positive", "negative"]),
        )
        for n in range(count)
    ]
    turned = {
        c["fact"]: THINGS.get(c["object"], 0) + rng.choice([0, 3]) for c in claims if rng.random() < 0.9
    }
    vectors = {f: [math.cos(math.radians(d)), math.sin(math.radians(d))] for f, d in turned.items()}
    if vectors:
        vectors[next(iter(vectors))] = [0.0, 0.0]
    made = pl.DataFrame(list(vectors.items()), schema=VECTORS, orient="row")
    policy = POLICY.model_copy(update={"facts": POLICY.facts.model_copy(update={"merge_cosine": cosine})})
    found = object_groups(frame(claims), made, policy)
    assert dict(found.select("claim_id", "object_group").rows()) == oracle(claims, vectors, cosine)
    assert found["claim_id"].to_list() == [c["claim_id"] for c in claims]
    mixed = rng.sample(claims, len(claims))
    again = object_groups(frame(mixed), made.sample(fraction=1.0, shuffle=True, seed=1), policy)
    assert again.sort("claim_id").equals(found.sort("claim_id"))


def test_equal_keys_are_one_group_without_vectors_and_whatever_the_polarity() -> None:
    claims = [claim(1, "Tea"), claim(2, "tea", polarity="negative"), claim(3, "jazz")]
    assert groups(claims, {}) == ["tea", "tea", "jazz"]


def test_near_objects_are_one_group_named_by_the_smallest_key() -> None:
    claims = [claim(1, "teas"), claim(2, "tea"), claim(3, "jazz")]
    found = object_groups(frame(claims), at_angles(claims, {"tea": 0, "teas": 10, "jazz": 12}), POLICY)
    assert found.schema == GROUPS
    assert found["object_group"].to_list() == ["tea", "tea", "jazz"]
    assert found["similarity"].to_list() == [
        pytest.approx(math.cos(math.radians(10))),
        pytest.approx(math.cos(math.radians(10))),
        None,
    ]


def test_near_in_one_polarity_is_enough_and_across_them_does_not_count() -> None:
    claims = [claim(1, "tea"), claim(2, "teas", polarity="negative"), claim(3, "jazz")]
    assert groups(claims, {"tea": 0, "teas": 1}) == ["tea", "teas", "jazz"]
    claims.append(claim(4, "teas"))
    assert groups(claims, {"tea": 0, "teas": 1}) == ["tea", "tea", "jazz", "tea"]


def test_what_vectors_miss_keeps_apart() -> None:
    claims = [claim(1, "2 teas"), claim(2, "3 teas"), claim(3, "teas"), claim(4, "no teas")]
    assert len(set(groups(claims, {"2 teas": 0, "3 teas": 0, "teas": 0, "no teas": 0}))) == 4


def test_a_chain_goes_with_its_closest_link() -> None:
    claims = [claim(1, "seat"), claim(2, "aisle seat"), claim(3, "window seat")]
    assert groups(claims, {"aisle seat": 0, "seat": 10, "window seat": 21}) == [
        "aisle seat",
        "aisle seat",
        "window seat",
    ]
    assert groups(claims, {"aisle seat": 0, "seat": 12, "window seat": 21}) == ["seat", "aisle seat", "seat"]


@pytest.mark.parametrize("name", ["tenant_id", "user_id", "subject_key", "predicate", "aspect"])
def test_never_across(name: str) -> None:
    other = {"predicate": "likes"}.get(name, "other")
    claims = [claim(1, "tea"), claim(2, "teas", **{name: other}), claim(3, "jazz")]
    assert groups(claims, {"tea": 0, "teas": 0, "jazz": 50}) == ["tea", "teas", "jazz"]


def test_a_large_group_is_searched_in_parts_that_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    claims = [claim(n, f"{n % 7} teas {'with milk ' * (n % 3)}", n) for n in range(60)]
    made = (
        pl.DataFrame(
            {"fact": [c["fact"] for c in claims], "vector": (1 + 0.2 * rng.random((60, 8))).tolist()}
        )
        .cast(dict(VECTORS))
        .unique("fact", maintain_order=True)
    )
    whole = near_pairs(frame(claims), made, 0.92)
    assert whole.height > 10
    monkeypatch.setattr(near, "_LARGE", 4)
    monkeypatch.setattr(near, "_BLOCK", 2)
    assert near_pairs(frame(claims), made, 0.92).equals(whole)


def test_vectors_without_direction_are_near_to_none() -> None:
    claims = [claim(1, "tea"), claim(2, "teas"), claim(3, "a tea")]
    made = pl.DataFrame(
        [
            (claims[0]["fact"], [0.0, 0.0]),
            (claims[1]["fact"], [math.nan, 1.0]),
            (claims[2]["fact"], [math.inf, 1.0]),
        ],
        schema=VECTORS,
        orient="row",
    )
    assert object_groups(frame(claims), made, POLICY)["object_group"].n_unique() == 3


def test_vectors_of_two_lengths_are_refused() -> None:
    claims = [claim(1, "tea"), claim(2, "teas")]
    made = pl.DataFrame(
        [(claims[0]["fact"], [1.0]), (claims[1]["fact"], [1.0, 2.0])], schema=VECTORS, orient="row"
    )
    with pytest.raises(UsageError, match="differ in length"):
        object_groups(frame(claims), made, POLICY)


def test_nothing_in_nothing_out() -> None:
    assert object_groups(CLAIMS.empty(), pl.DataFrame(schema=VECTORS), POLICY).equals(
        pl.DataFrame(schema=GROUPS)
    )
