"""Summaries behind the turns that they cite, against a plain loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.columns import columns
from transforms.digests import digest_shares
from transforms.policy_recall import RecallPolicy
from transforms.scope_columns import KINDS, Positions, ScopeColumns

POLICY = RecallPolicy(digest_turns_ratio=0.3, digest_share=0.8, derived_floor_ratio=0.5)


def rows(summaries: Sequence[bool]) -> ScopeColumns:
    kinds = np.array([KINDS.index("summary" if one else "conversation") for one in summaries], np.uint8)
    return columns([(None, None, "word")] * len(summaries), kind=kinds, is_derived=np.array(summaries))


def shares(ranks: Sequence[float], cites: dict[int, list[int]], policy: RecallPolicy = POLICY) -> list[float]:
    held = rows([place in cites for place in range(len(ranks))])

    def cited(places: Positions) -> list[list[str]]:
        return [[held.ids[turn].decode() for turn in cites[place]] for place in places.tolist()]

    found = digest_shares(np.array(ranks), held, cited, policy)
    return [1.0] * len(ranks) if found is None else found.tolist()


def test_a_summary_comes_after_the_least_of_its_turns_that_answers() -> None:
    #                turn, turn, too far, of others, summary of the first three
    found = shares([0.6, 0.4, 0.1, 0.2, 0.8], {4: [0, 1, 2]})
    assert found[:4] == [1, 1, 1, 1]
    assert 0.8 * found[4] == pytest.approx(0.8 * 0.4)


def test_a_summary_of_turns_that_are_gone_or_tell_nothing_stands_as_it_is() -> None:
    assert shares([0.9, 0.8], {1: []}) == [1, 1]
    assert shares([0.1, 0.9, 0.8], {2: [0]}) == [1, 1, 1]
    assert shares([0.9, 0.2], {1: [0]}) == [1, 1], "it is not about the question anyway"
    assert shares([-1.0, 0.8], {1: [0]}) == [1, 1], "a turn that is left out says nothing"


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=12),
    st.dictionaries(st.integers(0, 11), st.lists(st.integers(0, 11), max_size=6), max_size=4),
)
def test_no_summary_is_above_a_turn_it_cites(ranks: list[float], wished: dict[int, list[int]]) -> None:
    cites = {
        place: [turn for turn in turns if turn < len(ranks) and turn not in wished]
        for place, turns in wished.items()
        if place < len(ranks)
    }
    found = shares(ranks, cites)
    best = max(ranks)
    for place, rank in enumerate(ranks):
        turns = [ranks[turn] for turn in cites.get(place, []) if ranks[turn] >= 0.3 * best]
        capped = min(rank, 0.8 * min(turns)) if turns and rank >= 0.5 * best else rank
        assert rank * found[place] == pytest.approx(capped)
