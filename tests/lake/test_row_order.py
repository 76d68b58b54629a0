"""Rows that stand in order are left as they are; others are sorted."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake import row_order
from lake.row_order import in_order


@pytest.fixture(autouse=True)
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the rows are, they are looked at first."""
    monkeypatch.setattr(row_order, "_FEW_ROWS", 0)


values = st.one_of(st.none(), st.sampled_from(["a", "b", "é", ""]))
ROWS = st.lists(st.tuples(values, st.one_of(st.none(), st.integers(0, 2))), max_size=8)


@given(rows=ROWS, is_sorted=st.booleans())
def test_as_sorting_does(rows: list[tuple[str | None, int | None]], *, is_sorted: bool) -> None:
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.Int32}, orient="row")
    expected = frame.sort("x", "y")
    given_rows = expected if is_sorted else frame
    found = in_order(given_rows, ["x", "y"])
    assert found.equals(expected)
    assert (found is given_rows) == (frame.height > 0 and given_rows.equals(expected))
