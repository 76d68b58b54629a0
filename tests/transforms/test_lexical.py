"""BM25F over rows and their sessions, against a slow plain one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.columns import columns
from transforms.lexical import coverage, neighbours, postings
from transforms.policy_recall import RecallPolicy
from transforms.search_terms import hashed, query_terms

WORDS = ["tea", "ferry", "violin", "garden", "copper", "lamp"]
ROW = st.tuples(
    st.sampled_from([None, "s1", "s2", "s3"]),
    st.sampled_from([None, "Ann", "Bob Lamp"]),
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
)
ROWS = st.lists(ROW, min_size=1, max_size=14).map(lambda rows: sorted(rows, key=lambda row: row[0] or ""))


def covered(rows: list[Any], question: str, policy: RecallPolicy) -> list[float]:
    made = columns(rows)
    names = [[f for forms in query_terms(name) for f in forms] for name in made.speaker_names]
    held = postings(made, names)
    found = coverage(query_terms(question), held, neighbours(made, held.lengths, policy), policy)
    return [float(value) for value in found]


def oracle(rows: list[Any], question: list[str], policy: RecallPolicy) -> list[float]:
    """The formula, row by row and word by word."""
    said = [text.split() for _, _, text in rows]
    held = [[*s, *((who or "").lower().split())] for s, (_, who, _) in zip(said, rows, strict=True)]
    lengths = [len(s) for s in said]
    mean = sum(lengths) / len(rows) or 1.0

    def need(terms: float) -> float:
        return 1 / (1 + (terms / policy.neighbour_terms) ** 2)

    def amount(row: int, word: str) -> float:
        return held[row].count(word) / (1 - policy.bm25_b + policy.bm25_b * lengths[row] / mean)

    total, whole = [0.0] * len(rows), 0.0
    for word in dict.fromkeys(question):
        holding = sum(word in words for words in held)
        rarity = math.log(1 + (len(rows) + policy.usual_rows - holding + 0.5) / (holding + 0.5))
        whole += rarity
        for row, (session, _, _) in enumerate(rows):
            mass = amount(row, word)
            if session is not None:
                mine = [i for i, r in enumerate(rows) if r[0] == session]
                for other, weight in (
                    (row - 1, policy.previous_weight),
                    (row - 2, policy.earlier_weight),
                    (row + 1, policy.next_weight),
                ):
                    if other in mine:
                        mass += weight * need((lengths[row] + lengths[other]) / 2) * amount(other, word)
                share = policy.session_weight / (len(mine) + policy.session_rows)
                share *= need(sum(lengths[i] for i in mine) / len(mine))
                mass += share * sum(amount(i, word) for i in mine)
            total[row] += rarity * (policy.bm25_k1 + 1) * mass / (mass + policy.bm25_k1)
    return [value / whole if whole else 0.0 for value in total]


@given(ROWS, st.lists(st.sampled_from([*WORDS, "saffron"]), max_size=4), st.sampled_from([2.0, 100.0]))
def test_coverage_is_that_of_a_plain_oracle(rows: list[Any], question: list[str], terms: float) -> None:
    policy = RecallPolicy(neighbour_terms=terms)
    assert covered(rows, " ".join(question), policy) == pytest.approx(oracle(rows, question, policy))


def test_a_short_answer_is_found_by_the_words_of_the_question_before_it() -> None:
    rows = [
        ("s1", "Ann", "which violin did you buy"),
        ("s1", "Bob", "the red one"),
        ("s1", "Ann", "nice"),
        ("s2", "Ann", "good morning"),
    ]
    asked, answer, after, stranger = covered(rows, "violin", RecallPolicy())
    assert asked > answer > after > 0 == stranger


def test_a_long_message_lends_its_neighbours_less() -> None:
    def answer(words: int) -> float:
        text = " ".join(["violin", *(f"w{i}" for i in range(words))])
        return covered([("s", "Ann", text), ("s", "Bob", "yes")], "violin", RecallPolicy(bm25_b=0))[1]

    assert answer(5) > answer(50) > answer(500) > answer(5_000)


def test_words_do_not_cross_from_one_session_into_another_or_into_derived_rows() -> None:
    rows = [("s1", "Ann", "violin"), ("s2", "Bob", "yes"), (None, None, "no")]
    assert covered(sorted(rows, key=lambda r: r[0] or ""), "violin", RecallPolicy())[0] == 0
    made = columns([("s1", "Ann", "violin"), ("s1", None, "fact")], is_derived=np.array([False, True]))
    held = postings(made, [[hashed("ann")]])
    beside = neighbours(made, held.lengths, RecallPolicy())
    found = coverage(query_terms("violin"), held, beside, RecallPolicy())
    assert found[0] > 0
    assert found[1] == 0


def test_a_word_that_no_row_holds_lowers_all_scores_alike() -> None:
    rows = [("s1", None, "violin tea"), ("s2", None, "tea")]
    plain, harder = (covered(rows, q, RecallPolicy()) for q in ("violin tea", "violin tea saffron"))
    ratios = [b / a for a, b in zip(plain, harder, strict=True)]
    assert ratios[0] == pytest.approx(ratios[1])
    assert ratios[0] < 1


def test_rows_found_in_a_large_scope_are_weighed_by_its_words_not_their_own() -> None:
    policy = RecallPolicy()
    scope = columns([("s", None, "tea")] * 50 + [("s", None, "violin")])
    found = columns([("s1", None, "tea"), ("s2", None, "violin")])
    usual, held = postings(scope, []), postings(found, [])
    beside = neighbours(found, held.lengths, policy)
    tea, violin = coverage(query_terms("tea violin"), held, beside, policy, usual=usual)
    assert violin > 2 * tea
    alone = coverage(query_terms("tea violin"), held, beside, policy)
    assert alone[0] == pytest.approx(alone[1])


def test_no_rows_and_no_words() -> None:
    assert covered([], "tea", RecallPolicy()) == []
    assert covered([("s", None, "tea")], "", RecallPolicy()) == [0.0]
