"""BM25 against a plain formula, and the words of every script."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.bm25 import K1, B, bm25, words

TEXTS = ["tea tea ferry", "the ferry", "violin", ""]


def oracle(texts: list[list[str]], query: set[str]) -> list[float]:
    mean = sum(len(t) for t in texts) / len(texts) or 1.0
    scores = []
    for text in texts:
        total = 0.0
        for word in query:
            holding = sum(word in t for t in texts)
            count = text.count(word)
            if count:
                rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                total += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * len(text) / mean))
        scores.append(total)
    return scores


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=1, max_size=8),
    st.sets(st.sampled_from("abcdef"), max_size=4),
)
def test_scores_are_those_of_the_formula(texts: list[list[str]], query: set[str]) -> None:
    found = bm25([words(" ".join(text)) for text in texts], " ".join(sorted(query)))
    assert found.tolist() == pytest.approx(oracle(texts, query))


def test_a_rare_word_counts_more_and_case_does_not_matter() -> None:
    documents = [words(text) for text in TEXTS]
    violin, ferry = bm25(documents, "VIOLIN"), bm25(documents, "ferry")
    assert violin[2] > max(ferry)
    assert [score > 0 for score in ferry] == [True, True, False, False]


def test_no_documents_and_no_words_are_no_trouble() -> None:
    assert bm25([], "tea").tolist() == []
    assert bm25([words("tea")], "?!").tolist() == [0.0]
    assert bm25([words("")], "tea").tolist() == [0.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea, tea_time!", {"tea": 2, "time": 1}),
        ("豆瓣酱", {"豆": 1, "瓣": 1, "酱": 1}),
        ("Wi-Fiの設定", {"wi": 1, "fi": 1, "の": 1, "設": 1, "定": 1}),
        ("김치 찌개", {"김": 1, "치": 1, "찌": 1, "개": 1}),
        ("Привет мир", {"привет": 1, "мир": 1}),
        ("🦊", {}),
    ],
)
def test_words_of_every_script(text: str, expected: dict[str, int]) -> None:
    assert words(text) == expected
