"""Emoji as words."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.search_text import search_text, search_texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("鱼香茄子", "鱼香茄子"),
        ("a🦊b", "a emoji1f98a b"),
        ("☕", " emoji2615 "),
        ("🦊🦊", " emoji1f98a  emoji1f98a "),
    ],
)
def test_each_emoji_becomes_a_word(text: str, expected: str) -> None:
    assert search_text(text) == expected


@given(st.lists(st.text(st.sampled_from("ab 🦊☕豆é"), max_size=6)))
def test_a_column_is_rewritten_as_each_text_is(texts: list[str]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    assert search_texts(series).to_list() == [search_text(text) for text in texts]
    assert series.to_list() == texts
