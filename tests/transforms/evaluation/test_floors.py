"""The floors against the plain formula."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from transforms.bm25 import bm25, words
from transforms.evaluation.floors import by_vectors, by_words

WORDS = ("kiln", "bowl", "blue", "broke", "窯", "🏺", "the")
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@given(st.lists(TEXT, min_size=1, max_size=12), st.lists(TEXT, min_size=1, max_size=3))
def test_words_rank_as_the_plain_formula_does(texts: list[str], queries: list[str]) -> None:
    documents = [words(text) for text in texts]
    for query, found in zip(queries, by_words(texts, queries, 5), strict=True):
        scores = bm25(documents, query)
        assert len(set(found.tolist())) == min(5, len(texts))
        best = np.sort(scores)[::-1][:5]
        np.testing.assert_allclose(scores[found], best, atol=1e-9)


def test_vectors_rank_by_cosine_and_ties_keep_their_order() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [0, 0], [1, 0]], np.float32)
    found = by_vectors(vectors, np.array([[1, 0], [0, 1]], np.float32), 4)
    assert [positions.tolist() for positions in found] == [[0, 4, 2, 1], [1, 2, 0, 3]]
