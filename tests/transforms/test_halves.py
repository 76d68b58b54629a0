"""Half floats become floats to the bit."""

from __future__ import annotations

import numpy as np

from transforms.halves import to_floats
from transforms.scope_columns import Vectors


def test_half_floats_become_the_same_floats() -> None:
    every = np.arange(65_536, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert (to_floats(finite).view(np.int32) == finite.astype(np.float32).view(np.int32)).all()
    assert to_floats(np.zeros((0, 4), np.float16)).shape == (0, 4)


def test_vectors_held_as_half_floats_compare_as_the_floats_they_stand_for() -> None:
    draw = np.random.default_rng(1)
    halves = draw.standard_normal((1_100, 8)).astype(np.float16)
    query = draw.standard_normal(8).astype(np.float32)
    floats = halves.astype(np.float32)
    held = Vectors((halves,))
    np.testing.assert_allclose(held.dots(query), floats @ query, rtol=1e-4, atol=1e-5)
    assert (held.at(np.array([1_099, 0])) == floats[[1_099, 0]]).all()
    mixed = Vectors((halves[:3], floats[3:5]))
    assert mixed.at(np.arange(5)).dtype == np.float32
    assert (mixed.at(np.arange(5)) == floats[:5]).all()
