"""Orders by numbers and texts against Python's own."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from transforms.facts.ordering import codes, dense, head, paired, sort_order

TEXTS = st.lists(
    st.text(max_size=10) | st.sampled_from(["a", "a\0", "aaaaaaaab", "aaaaaaaac", "é", "日本"]), max_size=12
)
WIDE = st.integers(-(2**62), 2**62)


@given(TEXTS)
def test_codes_and_heads_are_in_the_order_of_the_texts(texts: list[str]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    places = {text: n for n, text in enumerate(sorted(set(texts), key=str.encode))}
    assert codes(series).tolist() == [places[text] for text in texts]
    heads = head(series).tolist() if texts else []
    for one, two in zip(
        sorted(zip(texts, heads, strict=True), key=lambda p: p[0].encode()), sorted(heads), strict=True
    ):
        assert one[1] == two


def test_null_has_no_code() -> None:
    assert codes(pl.Series(["b", None, "a"])).tolist() == [1, -1, 0]


@given(st.lists(st.tuples(st.integers(0, 9) | st.integers(0, 2**30), st.integers(0, 9)), max_size=12))
def test_pairs_are_numbered_in_their_order(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([p[n] for p in pairs], np.int64) for n in (0, 1))
    made = paired(left, right).tolist()
    assert [sorted(set(made)).index(n) for n in made] == [sorted(set(pairs)).index(p) for p in pairs]
    assert dense(left).tolist() == [sorted(set(left.tolist())).index(n) for n in left.tolist()]


@given(
    st.lists(
        st.tuples(st.integers(0, 2) | WIDE, st.integers(0, 2) | WIDE, st.sampled_from("abc")), max_size=14
    )
)
def test_sorted_as_tuples_are(rows: list[tuple[int, int, str]]) -> None:
    numbers = [np.array([r[n] for r in rows], np.int64) for n in (0, 1)]
    ties = pl.DataFrame(
        {"text": [r[2] for r in rows], "row": range(len(rows))}, schema_overrides={"text": pl.String}
    )
    found = sort_order(numbers, ties)
    assert [rows[n] for n in found] == sorted(rows)
    row = np.arange(len(rows))[::-1].copy()
    assert sorted(sort_order([n[row] for n in numbers], ties, row).tolist()) == list(range(len(rows)))
    assert [rows[row[n]] for n in sort_order([n[row] for n in numbers], ties, row)] == sorted(rows)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30)), max_size=6), st.booleans())
def test_codes_of_long_runs(runs: list[tuple[str, int]], has_null: bool) -> None:
    texts = [None] * (9 * has_null) + [text for text, count in runs for _ in range(count)]
    places = {text: n for n, text in enumerate(sorted({text for text, _ in runs}))}
    expected = [-1 if text is None else places[text] for text in texts]
    assert codes(pl.Series(texts, dtype=pl.String)).tolist() == expected
