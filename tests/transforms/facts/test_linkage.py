"""Complete linkage against a plain one that looks at every pair of groups again and again."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from transforms.facts.linkage import complete_groups

Pairs = list[tuple[float, int, int]]
PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda p: p[0] < p[1]),
    st.sampled_from([0.93, 0.94, 0.95, 0.96, 0.97]),
    max_size=24,
).map(lambda found: [(s, a, b) for (a, b), s in found.items()])


def oracle(pairs: Pairs) -> dict[int, int]:
    """Join, pair by pair from the closest on, the two groups of a pair if all between them are pairs."""
    close = {frozenset((a, b)) for _, a, b in pairs}
    groups = [{item} for item in {i for _, *two in pairs for i in two}]
    order = sorted(pairs, key=lambda p: (-p[0], p[1], p[2]))
    for place, (_, left, right) in enumerate(order):
        seen = {frozenset((a, b)) for _, a, b in order[: place + 1]}
        one, two = (next(g for g in groups if i in g) for i in (left, right))
        if one is not two and all(frozenset(p) in seen & close for p in itertools.product(one, two)):
            groups.remove(two)
            one |= two
    return {item: min(group) for group in groups for item in group}


def test_a_chain_does_not_join_its_ends() -> None:
    assert complete_groups([(0.95, 1, 2), (0.93, 2, 3)]) == {1: 1, 2: 1, 3: 3}
    assert complete_groups([(0.93, 1, 2), (0.95, 2, 3)]) == {1: 1, 2: 2, 3: 2}
    assert complete_groups([(0.95, 1, 2), (0.95, 2, 3), (0.93, 3, 1)]) == {1: 1, 2: 1, 3: 1}
    assert complete_groups([]) == {}


@given(PAIRS)
def test_as_the_plain_one(pairs: Pairs) -> None:
    assert complete_groups(pairs) == oracle(pairs)


@given(PAIRS, st.randoms(use_true_random=False))
def test_any_two_of_a_group_are_a_pair_and_order_is_of_no_meaning(pairs: Pairs, rng: random.Random) -> None:
    found = complete_groups(pairs)
    close = {(a, b) for _, a, b in pairs}
    for one, two in itertools.combinations(sorted(found), 2):
        if found[one] == found[two]:
            assert (one, two) in close
    mixed = [(s, *rng.sample([a, b], 2)) for s, a, b in pairs]
    rng.shuffle(mixed)
    assert complete_groups(mixed) == found
