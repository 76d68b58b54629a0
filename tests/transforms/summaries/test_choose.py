"""Which candidates are chosen, against a plain loop, and when two sentences say the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.summaries.made import policy
from transforms.policy_sleep import SummariesPolicy
from transforms.summaries.choose import Option, pick
from transforms.summaries.overlap import gist, overlap, repeats
from transforms.summaries.roles import DETAIL, ROLES

WORDS = ("seat", "window", "aisle", "hotel", "train", "seven", "14", "41", "red", "not", "tea", "flight")


def options(*rows: tuple[str, str, float] | tuple[str, str, float, int]) -> list[Option]:
    """(role, text, score, tokens), best first."""
    made = [Option(r[0], r[2], r[3] if len(r) == 4 else 5, gist(r[1])) for r in rows]
    return sorted(made, key=lambda o: -o.score)


def chosen(rows: list[Option], **limits: Any) -> list[str]:
    return [rows[i].gist.text for i in pick(rows, policy(**limits).summaries)]


def pick_oracle(rows: list[Option], rule: SummariesPolicy) -> list[int]:
    """The same choice, everything worked out anew each time."""
    taken: list[int] = []

    def is_free(i: int) -> bool:
        used = sum(rows[j].tokens for j in taken)
        return (
            i not in taken
            and rows[i].tokens <= rule.max_tokens - used
            and not any(
                repeats(rows[i].gist, rows[j].gist, overlap(rows[i].gist, rows[j].gist), rule.repeat_ratio)
                for j in taken
            )
        )

    def worth(i: int) -> float:
        near = max((overlap(rows[i].gist, rows[j].gist) for j in taken), default=0.0)
        return rows[i].score - rule.novelty_weight * near

    for role in (*ROLES, *[None] * rule.max_sentences):
        free = [i for i in range(len(rows)) if is_free(i) and role in (None, rows[i].role)]
        if free and len(taken) < rule.max_sentences:
            taken.append(max(free, key=lambda i: (worth(i), -i)))
    return taken


OPTION = st.tuples(
    st.sampled_from((*ROLES, DETAIL)),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    st.integers(-8, 8).map(lambda n: n / 8),
    st.integers(1, 9),
)


@given(
    st.lists(OPTION, max_size=14), st.integers(1, 6), st.integers(10, 40), st.sampled_from((0.0, 0.5, 1.0))
)
def test_as_a_plain_loop_chooses(rows: list[Any], sentences: int, tokens: int, novelty: float) -> None:
    limits = policy(max_sentences=sentences, max_tokens=tokens, novelty_weight=novelty).summaries
    expected = pick_oracle(options(*rows), limits)
    found = options(*rows)
    assert pick(found, limits) == expected
    assert len(expected) <= sentences
    assert sum(found[i].tokens for i in expected) <= tokens


def test_each_role_comes_before_the_second_of_any() -> None:
    rows = options(
        ("decision", "we take the train", 0.9),
        ("decision", "we skip breakfast", 0.89),
        ("error", "payment failed", 0.1),
        ("lesson", "call the bank first", 0.05),
        (DETAIL, "weather was fine", 0.95),
    )
    assert chosen(rows, max_sentences=3) == ["we take the train", "call the bank first", "payment failed"]
    assert chosen(rows, max_sentences=4)[-1] == "weather was fine"


def test_what_does_not_fit_is_passed_over() -> None:
    rows = options((DETAIL, "long one", 0.9, 20), (DETAIL, "short", 0.5, 6), (DETAIL, "tiny", 0.1, 4))
    assert chosen(rows, max_tokens=10) == ["short", "tiny"]
    assert chosen(rows, max_tokens=20) == ["long one"]


def test_a_repetition_is_not_chosen_however_much_room_there_is() -> None:
    rows = options(
        ("preference", "please remind me to ask for a hand check of my film at the airport.", 0.9),
        ("preference", "please remind me to ask for a hand-check of my films at the airport!", 0.8),
        (DETAIL, "the airport has one scanner", 0.1),
    )
    assert len(chosen(rows)) == 2


@pytest.mark.parametrize(
    ("weight", "second"), [(0.5, "lunch at seven"), (0.0, "a window seat for each train")]
)
def test_of_two_as_good_the_one_that_says_something_new(weight: float, second: str) -> None:
    rows = options(
        (DETAIL, "window seat booked now", 0.9),
        (DETAIL, "a window seat for each train", 0.8),
        (DETAIL, "lunch at seven", 0.7),
    )
    assert chosen(rows, max_sentences=2, novelty_weight=weight)[1] == second


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("The office is at 14 Quayside Row.", "The office is at 41 Quayside Row.", False),
        ("I eat fish on Fridays.", "I do not eat fish on Fridays.", False),
        (
            "The freeze starts on Friday 26 June at noon.",
            "The freeze starts on Friday, 26 June at noon",
            True,
        ),
        ("今日は会議があります。", "今日は会議があります", True),
        ("我喜欢绿茶", "我不喜欢绿茶", False),
        ("Remind me of the report", "A reminder of the reports", True),
        ("to be or not", "TO BE OR NOT ", True),
        ("the", "a", False),
    ],
)
def test_what_repeats(one: str, other: str, is_same: bool) -> None:
    a, b = gist(one), gist(other)
    assert repeats(a, b, overlap(a, b), 0.75) is is_same
    assert repeats(b, a, overlap(b, a), 0.75) is is_same


def test_overlap_is_a_cosine_of_sets() -> None:
    a, b = gist("window seat train"), gist("window seat hotel breakfast")
    assert overlap(a, b) == pytest.approx(2 / math.sqrt(3 * 4))
    assert overlap(a, gist("")) == 0.0
    assert overlap(a, a) == 1.0
