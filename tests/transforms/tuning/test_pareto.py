"""The Pareto front against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from transforms.tuning.pareto import is_front


def plain(costs: np.ndarray) -> list[bool]:
    rows = [tuple(row) for row in costs.tolist()]
    return [
        not any(
            all(b <= a for a, b in zip(row, other, strict=True))
            and any(b < a for a, b in zip(row, other, strict=True))
            for other in rows
        )
        for row in rows
    ]


@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 12), st.integers(1, 3)), elements=st.integers(0, 4)))
def test_the_front_is_what_nothing_dominates(costs: np.ndarray) -> None:
    assert is_front(costs.astype(np.float64)).tolist() == plain(costs)


def test_a_trial_that_breaks_a_limit_is_neither_on_it_nor_beats_anything() -> None:
    costs = np.array([[np.nan, 0.0], [1.0, 5.0], [2.0, 1.0], [2.0, 6.0], [1.0, 5.0]])
    assert is_front(costs).tolist() == [False, True, True, False, True]
