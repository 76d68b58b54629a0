"""The relevance floor: quantiles of unrelated pairs against a plain oracle, and what it lets through."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms import floor as floors
from transforms.floor import (
    RELATED_SHARE,
    SHARES,
    Background,
    Floor,
    Sampled,
    backgrounds,
    below,
    floor_of,
    read_background,
)
from transforms.policy_recall import RecallPolicy

SPACE = "model@1/8/v1+form"


def pairs(queries=40, rows=80, owners=4, seed=0, scale=1.0, shift=0.0):
    draw = np.random.default_rng(seed)
    cosines = draw.uniform(-0.2, 0.6, (queries, rows)).astype(np.float32) * scale + shift
    beside = draw.uniform(0.4, 0.8, queries).astype(np.float32) * scale + shift
    scripts = np.array(["latin"] * rows)
    return Sampled(cosines, beside, draw.integers(0, owners, rows), draw.integers(0, 12, rows), scripts)


def plainly(cosines, codes, is_told=lambda q, r: True):
    """The oracle, pair by pair."""
    return [
        float(cosines[q, r])
        for q in range(len(cosines))
        for r in range(cosines.shape[1])
        if codes[q] != codes[r] and is_told(q, r) and np.isfinite(cosines[q, r])
    ]


def test_pairs_of_different_owners_and_no_others():
    sampled = pairs()
    sampled.cosines[3] = np.nan  # a text without a vector
    sampled.beside[7] = np.nan  # nothing follows it
    found = backgrounds(sampled)["latin"]
    kept = plainly(sampled.cosines, sampled.owner)
    assert (found.basis, found.pairs) == ("owners", len(kept))
    assert found.cosines == pytest.approx(np.quantile(kept, SHARES), abs=1e-4)
    near = [c for c in sampled.beside.tolist() if np.isfinite(c)]
    clear = np.quantile(kept, 0.95)
    assert found.cleared == pytest.approx(sum(c >= clear for c in near) / len(near), abs=1e-4)


def test_of_one_owner_other_sessions_less_those_about_the_same():
    sampled = replace(pairs(), owner=np.zeros(80, np.int64))
    sampled.session[5:9] = -1
    found = backgrounds(sampled)["latin"]
    told = sampled.session >= 0
    kept = plainly(sampled.cosines, sampled.session, lambda q, r: told[q] and told[r])
    assert (found.basis, found.pairs) == ("sessions", len(kept))
    assert found.cosines == pytest.approx(np.quantile(kept, np.array(SHARES) * (1 - RELATED_SHARE)), abs=1e-4)


def test_each_script_has_its_own():
    both, near = pairs(), pairs(seed=1, scale=0.2, shift=0.7)
    is_han = np.arange(80) % 2 == 1
    mixed = replace(
        both,
        cosines=np.where(is_han[:40, None] & is_han[None, :], near.cosines, both.cosines),
        beside=np.where(is_han[:40], near.beside, both.beside),
        owner=np.arange(80),
        script=np.where(is_han, "han", "latin"),
    )
    assert backgrounds(mixed) == {}  # 20 x 40 pairs of each: too few
    rows = {name: np.tile(getattr(mixed, name), 2) for name in ("beside", "owner", "session", "script")}
    measured = backgrounds(Sampled(np.tile(mixed.cosines, (2, 2)), **rows))
    assert sorted(measured) == ["han", "latin"]
    assert measured["latin"].at(0.95) == pytest.approx(0.56, abs=0.03)
    assert measured["han"].at(0.95) == pytest.approx(0.56 * 0.2 + 0.7, abs=0.03)


def test_too_few_pairs_or_neighbours_tell_nothing():
    assert backgrounds(pairs(20, 20)) == {}
    none = np.zeros(0, np.int64)
    nobody = Sampled(np.zeros((0, 0), np.float32), np.zeros(0, np.float32), none, none, none.astype(str))
    assert backgrounds(nobody) == {}
    one = np.zeros(80, np.int64)
    assert backgrounds(replace(pairs(), owner=one, session=one)) == {}
    lonely = pairs()
    lonely.beside[10:] = np.nan
    assert backgrounds(lonely) == {}


def test_two_scales_get_two_floors():
    policy = RecallPolicy()
    low, high = backgrounds(pairs()), backgrounds(pairs(scale=0.3, shift=0.6))
    assert floor_of(policy, SPACE, low, "latin").cosine == pytest.approx(0.56, abs=0.02)
    assert floor_of(policy, SPACE, high, "latin").cosine == pytest.approx(0.56 * 0.3 + 0.6, abs=0.02)


def test_a_script_in_which_neighbours_are_no_nearer_than_strangers_has_no_floor():
    near = replace(pairs(), beside=np.full(40, 0.2, np.float32))
    measured = backgrounds(near)
    assert measured["latin"].cleared == 0
    assert floor_of(RecallPolicy(), SPACE, measured, "latin") == Floor()
    assert floor_of(RecallPolicy(floor_cleared=0), SPACE, measured, "latin").cosine is not None


def test_the_record_comes_back_and_nothing_else_is_believed():
    found = backgrounds(pairs())["latin"]
    record = json.loads(json.dumps(found.as_dict()))
    assert read_background(record) == found
    spoilt = [
        {},
        {**record, "basis": "guess"},
        {**record, "pairs": "9"},
        {**record, "cleared": None},
        {**record, "cleared": float("nan")},
        {**record, "cosines": record["cosines"][1:]},
        {**record, "cosines": [*record["cosines"][:-1], float("nan")]},
        {**record, "cosines": record["cosines"][::-1]},
        {**record, "shares": [0.5]},
        {**record, "cosines": "none"},
    ]
    for wrong in spoilt:
        with pytest.raises((ValueError, KeyError, TypeError)):
            read_background(wrong)


def test_at_lies_between_its_neighbours():
    found = Background("owners", 9, tuple(float(i) for i in range(len(SHARES))), 1.0)
    assert found.at(0.95) == 7
    assert found.at(0.925) == pytest.approx(6.5)
    assert found.at(1.0) == 9


def test_the_policy_goes_before_what_was_measured():
    measured = backgrounds(pairs())
    assert floor_of(RecallPolicy(), SPACE, {}, "latin") == Floor()
    assert floor_of(RecallPolicy(), SPACE, measured, "han") == Floor()
    assert floor_of(RecallPolicy(floor_share=0), SPACE, measured, "latin") == Floor()
    own = RecallPolicy(relevance_floor={SPACE: 0.4})
    assert floor_of(own, SPACE, measured, "latin") == Floor(relevance=0.4)
    assert floor_of(own, "another", measured, "latin").cosine == measured["latin"].at(0.95)
    assert floor_of(RecallPolicy(floor_words=0.5), SPACE, measured, "latin").words == 0.5


ROWS = """
id  cosine  bm25   below
a   0.50    -      no
b   0.30    -      no     # exactly on the floor
c   0.29    -      yes
d   0.00    0.40   no     # rare words
e   0.00    0.39   yes
f  -0.50    -      no     # asked for by its key
"""


def test_a_row_is_near_or_has_the_words_or_is_named():
    lines = [line.split("#")[0].split() for line in ROWS.strip().splitlines()[1:]]
    frame = pl.DataFrame(
        {
            "memory_id": [line[0] for line in lines],
            "cosine": [float(line[1]) for line in lines],
            "bm25": [None if line[2] == "-" else float(line[2]) for line in lines],
        },
        schema_overrides={"bm25": pl.Float64},
    )
    found = below(frame, Floor(cosine=0.3, words=0.4), {"f"})
    assert found.to_list() == [line[3] == "yes" for line in lines]
    assert below(frame, Floor(), ()).to_list() == [False] * 6
    assert below(frame.clear(), Floor(cosine=0.3), ()).to_list() == []


COSINE = st.floats(-1, 1)
MEASURES = st.lists(st.tuples(COSINE, st.none() | st.floats(0, 2)), max_size=12)


@settings(deadline=None)
@given(MEASURES, COSINE, COSINE)
def test_a_higher_floor_leaves_out_no_less(rows, one, other):
    frame = pl.DataFrame(
        [(str(i), *measures) for i, measures in enumerate(rows)],
        schema={"memory_id": pl.String, "cosine": pl.Float64, "bm25": pl.Float64},
        orient="row",
    )
    low, high = sorted((one, other))
    gone, more = (below(frame, Floor(cosine=at, words=0.5), ()) for at in (low, high))
    assert (~gone | more).all()
    expected = [c < high and (w is None or w < 0.5) for c, w in rows]
    assert more.to_list() == expected


def test_the_reason_is_the_one_that_packing_gives():
    assert floors.REASON == "relevance_floor"
