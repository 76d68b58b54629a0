"""The recipe of relevance: what raises a row, what lowers it, and what it never does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.columns import columns
from transforms.policy_recall import RecallPolicy
from transforms.relevance import Relevance, prepare, question, relevance

NOTHING = np.zeros(2, np.float32)
EAST = np.array([1, 0], np.float32)
POLICY = RecallPolicy()
WORDS = ["tea", "ferry", "violin?", "東京", "Ann", "🦊"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "s1", "s2"]),
        st.sampled_from([None, "Ann", "Bob"]),
        st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    ),
    max_size=10,
).map(lambda rows: sorted(rows, key=lambda row: row[0] or ""))


def at(*cosines: float) -> Any:
    """Vectors of length 1 with these cosines to ``EAST``."""
    known = np.array(cosines, np.float32)
    return np.stack([known, np.sqrt(1 - known**2)], axis=1)


def asked(rows: list[Any], text: str, vectors: Any = None, policy: RecallPolicy = POLICY) -> Relevance:
    return relevance(question(text, EAST), columns(rows, vectors), policy)


@given(ROWS, st.lists(st.sampled_from([*WORDS, "saffron"]), max_size=4), st.integers(0, 9))
def test_every_row_has_a_relevance_from_0_to_1(rows: list[Any], words: list[str], seed: int) -> None:
    vectors = at(*np.random.default_rng(seed).uniform(-1, 1, len(rows))) if rows else None
    made = columns(rows, vectors)
    found = relevance(question(" ".join(words), EAST), made, POLICY)
    assert len(found.relevance) == len(found.cosine) == len(found.words) == len(rows)
    assert ((found.relevance >= 0) & (found.relevance <= 1)).all()
    assert not np.isnan(found.cosine).any()
    kept = relevance(question(" ".join(words), EAST), made, POLICY, prepared=prepare(made, POLICY))
    assert (kept.relevance == found.relevance).all()


def test_rows_with_nothing_of_the_question_are_not_relevant_at_all() -> None:
    found = asked([("s1", "Ann", "we took the ferry"), ("s2", "Bob", "tea")], "saffron", at(0.2, 0.2))
    assert found.relevance.tolist() == [0, 0]
    assert np.isnan(found.words).all()


def test_more_of_its_words_and_a_nearer_vector_make_a_row_more_relevant() -> None:
    rows = [(f"s{i}", None, text) for i, text in enumerate(["red violin", "red lamp", "blue lamp"])]
    assert list(np.argsort(-asked(rows, "red violin").relevance)) == [0, 1, 2]
    assert list(np.argsort(-asked(rows, "saffron", at(0.1, 0.9, 0.5)).relevance)) == [1, 2, 0]


def test_models_that_scale_their_cosines_otherwise_give_the_same_relevance() -> None:
    rows = [(f"s{i}", None, f"w{i} tea" if i % 3 else f"w{i}") for i in range(400)]
    cosines = np.random.default_rng(1).uniform(0, 0.8, 400)
    wide = asked(rows, "tea", at(*cosines)).relevance
    narrow = asked(rows, "tea", at(*(0.7 + cosines / 3)), RecallPolicy(usual_rows=1)).relevance
    assert np.abs(wide - narrow).max() < 0.02


def test_a_lone_row_is_not_taken_for_near_because_there_are_no_others() -> None:
    assert asked([("s", None, "tea")], "saffron", at(0.3)).relevance[0] == 0


def test_who_is_named_counts_where_it_is_one_speaker() -> None:
    rows = [("s1", "Ann", "I sold the violin"), ("s2", "Bob", "I sold the violin")]
    ann, bob = asked(rows, "When did Ann sell the violin?").relevance
    assert ann > bob
    ann, bob = asked(rows, "Did Ann or Bob sell the violin?").relevance
    assert ann == bob
    ann, bob = asked(rows, "Who sold the violin?").relevance
    assert ann == bob


def test_a_question_answers_less_than_a_statement_and_a_grunt_less_than_a_sentence() -> None:
    rows = [("s1", None, "you like tea?"), ("s2", None, "you like tea")]
    question_row, statement = asked(rows, "tea").relevance
    assert question_row < statement
    rows = [("s1", None, "tea"), ("s2", None, "I drink tea every morning before work")]
    grunt, sentence = asked(rows, "tea", policy=RecallPolicy(bm25_b=0)).relevance
    assert grunt < sentence


def test_a_neighbour_lends_some_of_its_vector() -> None:
    rows = [("s1", None, "a b c"), ("s1", None, "d e f"), ("s2", None, "g h i"), ("s3", None, "j k l")]
    near, beside, stranger, _ = asked(rows, "saffron", at(0.9, 0.4, 0.4, 0.1)).relevance
    assert near > beside > stranger


def test_what_was_found_in_a_large_scope_is_measured_by_a_sample_of_it() -> None:
    scope = columns([(f"s{i}", None, "tea") for i in range(200)], at(*np.linspace(0, 0.4, 200)))
    found = columns([("s1", None, "tea"), ("s2", None, "tea violin")], at(0.7, 0.6))
    wanted = question("tea violin", EAST)
    usual = scope, prepare(scope, POLICY)
    alone, sampled = (relevance(wanted, found, POLICY, usual=u).relevance for u in (None, usual))
    assert sampled[1] > sampled[0]
    assert sampled[1] > alone[1]


def test_only_words_or_only_vectors_by_policy() -> None:
    rows = [("s1", None, "violin one"), ("s2", None, "other two")]
    words = asked(rows, "violin", at(0.1, 0.9), RecallPolicy(vector_share=0)).relevance
    meaning = asked(rows, "violin", at(0.1, 0.9), RecallPolicy(vector_share=1)).relevance
    assert words[0] > 0 == words[1]
    assert meaning[1] > 0 == meaning[0]


def test_a_question_without_a_vector_is_answered_by_its_words() -> None:
    rows = [("s1", None, "violin"), ("s2", None, "tea")]
    found = relevance(question("violin", NOTHING), columns(rows, at(0.5, 0.6)), POLICY)
    assert found.cosine.tolist() == pytest.approx([0, 0])
    assert found.relevance[0] > 0 == found.relevance[1]
