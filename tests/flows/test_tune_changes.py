"""Calls shown before and after: the greatest changes of both directions, one a user before a second."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.tune_changes import Ranking, changed_answers, chosen_calls
from transforms.replay.calls import Calls

START = datetime(2026, 5, 1, tzinfo=UTC)


def heads(users: list[str | None], sessions: list[str | None] | None = None) -> pl.DataFrame:
    size = len(users)
    return pl.DataFrame(
        {
            "call_id": [f"c{i}" for i in range(size)],
            "tenant_id": ["acme"] * size,
            "user_id": users,
            "agent_id": ["bot"] * size,
            "session_id": sessions or [None] * size,
            "query": [f"question {i}" for i in range(size)],
            "verb": ["search"] * size,
            "recalled_at": [START + timedelta(hours=i) for i in range(size)],
        },
        schema_overrides={"user_id": pl.String, "session_id": pl.String},
    )


def chosen(
    users: list[str | None], gains: list[float], most: int, later: list[bool] | None = None
) -> list[int]:
    return chosen_calls(heads(users), np.array(gains), np.array(later or [True] * len(users), np.bool_), most)


def test_half_are_gains_and_half_losses_the_greatest_first() -> None:
    users: list[str | None] = [f"u{i}" for i in range(6)]
    assert chosen(users, [0.1, -0.4, 0.3, -0.2, 0.2, -0.1], 4) == [2, 4, 1, 3]


def test_where_one_direction_has_too_few_the_other_fills_up() -> None:
    users: list[str | None] = [f"u{i}" for i in range(6)]
    assert chosen(users, [0.1, 0.4, 0.3, -0.2, 0.2, 0.05], 4) == [1, 2, 4, 3]
    assert chosen(users, [-0.1, -0.4, -0.3, 0.2, -0.2, -0.05], 4) == [3, 1, 2, 4]


def test_a_user_comes_twice_only_when_no_other_is_left() -> None:
    assert chosen(["a", "a", "a", "b"], [0.9, 0.8, 0.7, 0.1], 2) == [0, 3]
    assert chosen(["a", "a", "a", "b"], [0.9, 0.8, 0.7, 0.1], 3) == [0, 1, 3]


def test_without_users_a_session_counts_as_one() -> None:
    rows = heads([None] * 4, ["s", "s", "t", None])
    assert chosen_calls(rows, np.array([0.9, 0.8, 0.1, 0.2]), np.ones(4, bool), 3) == [0, 3, 2]


def test_only_calls_of_the_later_span_that_change_are_taken() -> None:
    users: list[str | None] = ["a", "b", "c", "d"]
    assert chosen(users, [0.9, 0.0, float("nan"), 0.1], 4, [False, True, True, True]) == [3]
    assert chosen(users, [0.0, 0.0, 1e-12, 0.0], 4) == []


def test_of_equal_changes_the_newer_call_is_taken() -> None:
    assert chosen(["a", "b", "c"], [0.5, 0.5, 0.5], 2) == [2, 1]


def oracle(users: list[str | None], gains: list[float], most: int) -> list[int]:
    """The same, slowly."""
    order = sorted(range(len(users)), key=lambda i: (-abs(gains[i]), -i))
    parts = []
    for is_gain in (True, False):
        mine = [i for i in order if abs(gains[i]) > 1e-9 and (gains[i] > 0) == is_gain]
        turns = {i: sum(users[j] == users[i] for j in mine[: mine.index(i)]) for i in mine}
        parts.append(sorted(mine, key=lambda i: (turns[i], mine.index(i))))
    losses = min(len(parts[1]), max(most // 2, most - len(parts[0])))
    taken = {*parts[0][: most - losses], *parts[1][:losses]}
    return [i for i in order if i in taken and gains[i] > 0] + [
        i for i in order if i in taken and gains[i] < 0
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from([-0.5, -0.2, 0.0, 0.1, 0.4, 0.5])), max_size=14
    ),
    st.integers(1, 10),
)
def test_the_choice_is_that_of_the_slow_one(calls: list[tuple[str, float]], most: int) -> None:
    users: list[str | None] = [user for user, _ in calls]
    gains = [gain for _, gain in calls]
    found = chosen(users, gains, most)
    assert found == oracle(users, gains, most)
    assert len(found) == min(most, sum(gain != 0 for gain in gains))


def made() -> Calls:
    """Two calls of seven candidates; of each the third was of use, of the last nothing is known."""
    rows: list[dict[str, Any]] = [
        {
            "call_id": f"c{call}", "memory_id": f"m{call}{i}", "kind": "fact", "rank": i + 1,
            "event_at": START - timedelta(days=i), "gain": None if i == 6 else float(i == 2),
        }
        for call in range(2)
        for i in range(7)
    ]  # fmt: skip
    return Calls(heads(["a", "b"]), pl.DataFrame(rows, infer_schema_length=None), np.array([0, 7, 14]))


def rank(call: int) -> tuple[Ranking, Ranking]:
    """As logged, and turned round; the current policy had forgotten the second, the best the last."""
    rows, scores = np.arange(7) + 7 * call, np.linspace(0.9, 0.3, 7)
    now, best = scores.copy(), scores.copy()
    now[1], best[0] = np.nan, -np.inf
    return (rows, now), (rows[::-1].copy(), best)


def test_an_answer_tells_its_memories_with_scores_marks_and_texts() -> None:
    asked: list[list[str]] = []

    def texts(ids: Collection[str]) -> Mapping[str, str]:
        asked.append(list(ids))
        return {memory: f"text of {memory}" for memory in ids if memory != "m02"}

    found = changed_answers(
        made(), np.array([0.2, 0.5]), np.array([0.9, 0.5]), rank, texts, is_later=np.ones(2, bool)
    )
    (told,) = found
    assert (told["call_id"], told["query"], told["user_id"]) == ("c0", "question 0", "a")
    assert told["recalled_at"] == "2026-05-01T00:00:00+00:00"
    assert (told["current"], told["best"], told["gain"]) == (0.2, 0.9, pytest.approx(0.7))
    assert [m["memory_id"] for m in told["before"]] == ["m00", "m02", "m03", "m04", "m05"]
    assert [m["memory_id"] for m in told["after"]] == ["m05", "m04", "m03", "m02", "m01"]
    assert [m["is_used"] for m in told["before"]] == [False, True, False, False, False]
    assert [m["logged_rank"] for m in told["after"]] == [6, 5, 4, 3, 2]
    assert [m["score"] for m in told["before"]] == pytest.approx([0.9, 0.7, 0.6, 0.5, 0.4])
    assert told["before"][1]["text"] is None
    assert told["before"][0]["text"] == "text of m00"
    assert told["before"][2]["event_at"] == "2026-04-28T00:00:00+00:00"
    assert asked == [["m00", "m01", "m02", "m03", "m04", "m05"]]


def test_where_nothing_changes_no_text_is_asked_for() -> None:
    def texts(ids: Collection[str]) -> Mapping[str, str]:
        raise AssertionError(ids)

    same = np.array([0.2, 0.5])
    assert changed_answers(made(), same, same, rank, texts, is_later=np.ones(2, bool)) == []
