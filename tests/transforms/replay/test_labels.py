"""Labels of logged calls: what the agent said it used, what the user said, what a file says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.forgetting.plain import AS_OF, recall
from transforms.errors import InputError
from transforms.replay import labels
from transforms.schemas import INSTANT, RECALLS

MINUTE = timedelta(minutes=1)


def log(*rows: dict[str, Any]) -> pl.DataFrame:
    ranks: dict[str, int] = {}
    told = []
    for row in rows:
        ranks[row["call_id"]] = ranks.get(row["call_id"], 0) + 1
        told.append({**row, "rank": ranks[row["call_id"]]})
    return pl.DataFrame(told, schema=RECALLS.polars, orient="row")


def call(
    number: int, *memories: str, minutes: float = 0, used: str = "", **fields: Any
) -> list[dict[str, Any]]:
    """A call of session s, that showed the memories in capitals; those of ``used`` are marked."""
    at = AS_OF + minutes * MINUTE
    told = {"session_id": "s", **fields}
    return [
        recall(number, name, at, is_returned=name.isupper(), is_used=True if name in used else None, **told)
        for name in memories
    ]


def said(*rows: tuple[float, str], session: str = "s", user: str | None = "ana") -> pl.DataFrame:
    kinds = {"episode_id": pl.String, "tenant_id": pl.String, "user_id": pl.String, "agent_id": pl.String}
    more = {"session_id": pl.String, "event_at": INSTANT, "feedback": pl.String}
    told = [
        (f"e{n}", "acme", user, "a", session, AS_OF + minutes * MINUTE, text)
        for n, (minutes, text) in enumerate(rows)
    ]
    return pl.DataFrame(told, schema={**kinds, **more}, orient="row")


def told(recalls: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    return labels.feedback_gains(recalls, words, minutes=60)


def table(gains: pl.DataFrame) -> dict[str, float]:
    return {f"{c} {m}": g for c, m, g in gains.select("call_id", "memory_id", "gain").iter_rows()}


def test_what_was_used_is_of_use_and_no_other_candidate_of_that_call() -> None:
    recalls = log(*call(1, "A", "B", "c", used="B"), *call(2, "A", "B"))
    assert table(labels.used_gains(recalls)) == {"c1 A": 0.0, "c1 B": 1.0, "c1 c": 0.0}


@pytest.mark.parametrize(
    ("words", "gains"),
    [
        ("that helped, thanks", {"c1 A": 1.0, "c1 B": 1.0}),
        ("that is wrong", {"c1 A": 0.0, "c1 B": 0.0}),
        ("the harbour is blue", {}),
    ],
)
def test_what_the_user_said_is_of_all_that_was_shown(words: str, gains: dict[str, float]) -> None:
    recalls = log(*call(1, "A", "B", "c"))
    assert table(told(recalls, said((2, words)))) == gains


def test_the_last_word_before_the_next_call_counts() -> None:
    recalls = log(*call(1, "A"), *call(2, "B", minutes=10))
    rows = said((1, "this is wrong"), (5, "now it is helpful"), (12, "wrong again"))
    assert table(told(recalls, rows)) == {"c1 A": 1.0, "c2 B": 0.0}


@pytest.mark.parametrize(
    ("minutes", "session", "user"),
    [(-1, "s", "ana"), (0, "s", "ana"), (1, "other", "ana"), (1, "s", "bea"), (1, "s", None)],
)
def test_what_was_said_before_or_elsewhere_or_by_another_tells_nothing(
    minutes: float, session: str, user: str | None
) -> None:
    recalls = log(*call(1, "A"))
    assert table(told(recalls, said((minutes, "helpful"), session=session, user=user))) == {}


def test_a_file_by_call_or_by_question() -> None:
    recalls = log(
        *call(1, "A", "B", query="q"), *call(2, "A", query="q", minutes=1), *call(3, "A", query="r")
    )
    by_call = pl.DataFrame(
        {"call_id": ["c1", "c1", "c9"], "memory_id": ["A", "Z", "A"], "gain": [0.5, 1.0, 1.0]}
    )
    gains, strangers = labels.imported_gains(recalls, by_call)
    assert (table(gains), strangers) == ({"c1 A": 0.5, "c1 B": 0.0}, 1)
    by_question = pl.DataFrame({"query": ["q"], "memory_id": ["A"], "user_id": ["ana"]})
    gains, strangers = labels.imported_gains(recalls, by_question)
    assert (table(gains), strangers) == ({"c1 A": 1.0, "c1 B": 0.0, "c2 A": 1.0}, 0)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"call_id": ["c1"]}, "no column memory_id"),
        ({"memory_id": ["A"]}, "no column call_id"),
        ({"call_id": ["c1"], "memory_id": ["A"], "gain": [1.5]}, "1 labels have a gain"),
        ({"call_id": ["c1"], "memory_id": ["A"], "gain": ["much"]}, "1 labels have a gain"),
        ({"call_id": ["c1", "c1"], "memory_id": ["A", "A"], "gain": [0.0, 1.0]}, "two gains"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        labels.imported_gains(log(*call(1, "A")), pl.DataFrame(columns))


def test_the_surest_source_with_enough_calls_is_taken_else_the_fullest() -> None:
    assert labels.chosen({"used": 9, "feedback": 100, "echo": 500}, 100) == "feedback"
    assert labels.chosen({"used": 9, "feedback": 30, "echo": 30}, 100) == "feedback"
    assert labels.chosen({"used": 0, "feedback": 0}, 100) == "none"
    assert labels.told({"used": 9, "feedback": 1200}, "feedback") == (
        "labelled calls: used 9, feedback 1,200; taken: feedback"
    )


def test_only_calls_in_which_something_was_of_use_are_kept_and_what_is_unknown_stays_so() -> None:
    recalls = log(*call(1, "A", "b"), *call(2, "A", minutes=5))
    gains = told(recalls, said((1, "helpful"), (6, "wrong")))
    rows = labels.with_gain(recalls, gains)
    assert rows.select("call_id", "memory_id", "gain").rows() == [("c1", "A", 1.0), ("c1", "b", None)]


MOMENTS = st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True)
WORDS = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["helpful", "wrong", "blue"])), max_size=6)


@given(MOMENTS, WORDS)
def test_feedback_against_a_plain_reading(moments: list[int], words: list[tuple[int, str]]) -> None:
    recalls = log(*(row for n, minute in enumerate(moments) for row in call(n, "A", minutes=minute)))
    found = table(told(recalls, said(*words)))
    expected = {}
    for number, minute in enumerate(moments):
        end = min((m for m in moments if m > minute), default=99)
        mine = [
            (at, place, word)
            for place, (at, word) in enumerate(words)
            if minute < at <= end and word != "blue"
        ]
        if mine:
            expected[f"c{number} A"] = 1.0 if max(mine)[2] == "helpful" else 0.0
    assert found == expected
