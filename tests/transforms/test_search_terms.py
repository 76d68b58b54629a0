"""Words as hashed stems: every script, the same for rows and questions, and in bulk as one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.search_terms import QUESTION, hashed_terms, query_terms, words_of
from transforms.search_text import MOST_QUERY_CHARS, query_text

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=8)


def terms_of(text: str | None) -> list[int]:
    terms, _ = hashed_terms(pl.Series([text], dtype=pl.String))
    return sorted(terms.tolist())


def finds(question: str, text: str) -> bool:
    """Whether each word of the question is held by the row in one of its forms."""
    held = set(terms_of(text))
    return all(held.intersection(forms) for forms in query_terms(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("paintings", "She painted a lake"),
        ("Who was running?", "I run every day"),
        ("What did she buy?", "she bought a lamp"),
        ("CAFÉ", "we met in the cafe"),
        ("cafe", "le café est fermé et nous sommes partis"),
        ("Haus", "Die Häuser sind schön, aber nicht für mich"),
        ("maison", "Nous avons vu les maisons de la ville avec toi"),
        ("jugando", "Los niños juegan porque les gusta jugar"),
        ("книга", "Я читаю книги"),
        ("東京", "昨日は東京に行きました"),
        ("豆瓣酱", "鱼香茄子不放糖，放醋和豆瓣酱"),
        ("김치", "저는 김치 좋아해요"),
        ("ภาษา", "ฉันเรียนภาษาไทย"),
        ("किताब", "मेरी किताब मेज़ पर है"),
        ("كتاب", "هذا كتاب جديد"),
        ("🦊", "we saw a emoji1f98a in the yard"),
        ("ＡＢＣ 123", "abc-123 was closed"),
        ("order_id", "the order id is wrong"),
        ("don't", "don't"),
    ],
)
def test_a_question_finds_its_words_in_other_forms_and_scripts(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [("東京", "京都に東口"), ("cat", "concatenate"), ("not", "nothing"), ("1990", "19 90")],
)
def test_a_part_of_a_word_is_no_word(question: str, text: str) -> None:
    assert not finds(question, text)


def test_words_that_only_ask_are_left_out_unless_there_are_no_others() -> None:
    assert query_terms("What did she buy?") == query_terms("buy")
    assert query_terms("Was hat er über die Heizung gesagt?") == query_terms("Heizung gesagt")
    assert len(query_terms("who is it")) == 3
    assert query_terms("") == query_terms("?!") == ()


def test_a_row_that_ends_in_a_question_says_so() -> None:
    asks = ["And you?", "Why? [a photo of a dog]", "为什么？", 'He said "why?"', "لماذا؟"]
    tells = ["Why? Because.", "what is it", "", "[why?] no"]
    assert all(QUESTION in terms_of(text) for text in asks)
    assert not any(QUESTION in terms_of(text) for text in tells)


@given(TEXTS)
def test_in_bulk_is_as_one_by_one(texts: list[str | None]) -> None:
    terms, starts = hashed_terms(pl.Series(texts, dtype=pl.String))
    assert terms.dtype == np.uint32
    assert starts.dtype == np.int64
    parts = [sorted(terms[a:b].tolist()) for a, b in pairwise(starts.tolist())]
    assert parts == [terms_of(text) for text in texts]


@given(st.text(max_size=60))
def test_a_text_of_one_word_a_line_holds_every_word_of_itself(text: str) -> None:
    # Rows are cut by Polars and questions by Python: both must find the same words.
    held = set(terms_of(text))
    for word in words_of(text):
        assert all(held.intersection(forms) for forms in query_terms(word)), word


def test_terms_are_the_same_on_every_machine() -> None:
    # They stand in published indexes: another value is another form of the record.
    assert terms_of("Dogs ran 東京") == [1349952704, 1716766121, 2083366831, 2167159165, 2462515218]


def test_of_a_pasted_document_only_the_start_is_searched() -> None:
    words = [f"word{i}" for i in range(MOST_QUERY_CHARS)]
    text = " ".join(words)
    groups = query_terms(text)
    assert groups == query_terms(text[:MOST_QUERY_CHARS])
    assert len(groups) < MOST_QUERY_CHARS / len(words[0])
    assert len(query_text(text)) <= MOST_QUERY_CHARS
    assert finds("word0 word1 word2", text[:100])
