"""Outlines of large scopes: they tell of a row what reading all of its columns tells, and of no other row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lake.index import Generation, scope_hash
from lake.online import outlines as module
from lake.online.outlines import outlines
from lake.online.views import Gone, scored_with_payload
from lake.scope import Scope, scope_predicate
from tests.lake.recalled import make_lake
from tests.lake.test_index_checks import built, memories
from transforms.scope_columns import ScopeColumns

ME = Scope("t", "u")


@pytest.fixture
def generation(tmp_path: Path) -> Generation:
    mine = memories(50, speaker="Ann Lee", importance=0.25)
    return built(make_lake(tmp_path), [mine, memories(5, user="v", seed=2)], [scope_hash("t", "u")])


def test_rows_of_an_outline_are_those_read_whole(generation: Generation) -> None:
    [entry] = generation.tables_of(ME)
    held = outlines(generation, [entry], scope_predicate(ME))
    assert held is not None
    wanted = held[entry.name].addresses[[3, 4, 30]]
    found = held[entry.name].read(generation, wanted)
    taken = generation.taken(entry.name, wanted, generation.fetched_columns())
    whole, _ = scored_with_payload(taken, generation.manifest.dimensions)
    for name in ScopeColumns.__dataclass_fields__:
        if name != "vectors":
            assert np.array_equal(getattr(found, name), getattr(whole, name)), name
    every = np.arange(3)
    assert np.array_equal(found.vectors.at(every), whole.vectors.at(every))


def test_a_row_of_another_scope_is_not_read(generation: Generation) -> None:
    [entry] = generation.tables_of(ME)
    held = outlines(generation, [entry], f"{scope_predicate(ME)} AND _rowid < 10")
    assert held is not None
    with pytest.raises(Gone, match="not of the scope"):
        held[entry.name].read(generation, np.array([3, 40], np.uint64))


def test_no_outline_is_larger_than_its_bound(generation: Generation, monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1_000)
    assert outlines(generation, generation.tables_of(ME), scope_predicate(ME)) is None
