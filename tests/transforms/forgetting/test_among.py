from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from transforms.forgetting.among import among

names = st.lists(st.text(max_size=3), max_size=20)


@given(names, names)
def test_ids_are_found_among_others(asked: list[str], others: list[str]) -> None:
    rows = pl.DataFrame({"id": asked}, schema={"id": pl.String})
    found = rows.select(among("id", pl.Series(others, dtype=pl.String))).to_series()
    assert found.to_list() == [one in others for one in asked]
