"""What followed a call: found by time and place, against a plain reading of every pair."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.forgetting.plain import AS_OF, recall
from transforms.replay.afterwards import afterwards, call_heads
from transforms.schemas import INSTANT, RECALLS

MINUTE = timedelta(minutes=1)
SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
Scope = tuple[str, str | None, str | None, str | None]


def log(calls: list[tuple[int, Scope]]) -> pl.DataFrame:
    rows = [
        {**recall(n, "m", AS_OF + at * MINUTE), **dict(zip(SCOPE, scope, strict=True)), "rank": 1}
        for n, (at, scope) in enumerate(calls)
    ]
    return pl.DataFrame(rows, schema=RECALLS.polars, orient="row")


def said(rows: list[tuple[int, Scope]]) -> pl.DataFrame:
    told: list[tuple[Any, ...]] = [
        (f"e{n}", *scope, AS_OF + at * MINUTE) for n, (at, scope) in enumerate(rows)
    ]
    schema = {**dict.fromkeys(("episode_id", *SCOPE), pl.String), "event_at": INSTANT}
    return pl.DataFrame(told, schema=schema, orient="row")


def pairs(
    calls: list[tuple[int, Scope]], rows: list[tuple[int, Scope]], minutes: float = 10
) -> set[tuple[str, str]]:
    found = afterwards(call_heads(log(calls)), said(rows), minutes)
    keys = found.select("call_id", "episode_id").rows()
    assert len(keys) == len(set(keys))
    return set(keys)


def plain(calls: list[tuple[int, Scope]], rows: list[tuple[int, Scope]]) -> set[tuple[str, str]]:
    found = set()
    for number, (at, (tenant, user, agent, session)) in enumerate(calls):
        if session is None and user is None and agent is None:
            continue
        mine = [
            (when, place, other[3])
            for place, (when, other) in enumerate(rows)
            if at < when <= at + 10
            and other[0] == tenant
            and (session is None or other[3] == session)
            and (user is None or other[1] == user)
            and (agent is None or other[2] == agent)
        ]
        first = min(mine, key=lambda one: (one[0], f"e{one[1]}"), default=None)
        found |= {(f"c{number}", f"e{place}") for _, place, where in mine if first and where == first[2]}
    return found


def test_a_call_without_a_session_is_followed_by_what_its_person_says_next_in_one_session() -> None:
    call = (0, ("t", "u", None, None))
    rows: list[tuple[int, Scope]] = [
        (1, ("t", "u", "a", "s1")),
        (2, ("t", "u", "b", "s2")),
        (3, ("t", "u", "a", "s1")),
        (4, ("t", "v", "a", "s1")),
        (5, ("other", "u", "a", "s1")),
        (11, ("t", "u", "a", "s1")),
    ]
    assert pairs([call], rows) == {("c0", "e0"), ("c0", "e2")}


def test_a_call_of_nobody_is_followed_by_nothing() -> None:
    assert pairs([(0, ("t", None, None, None))], [(1, ("t", None, None, None))]) == set()


def test_the_next_call_is_that_of_the_same_place() -> None:
    mine, other = ("t", "u", "a", "s"), ("t", "u", "a", None)
    heads = call_heads(log([(0, mine), (1, other), (3, mine)]))
    assert heads["next_at"].to_list() == [AS_OF + 3 * MINUTE, None, None]


SCOPES = st.tuples(
    st.sampled_from(["t", "o"]), st.sampled_from(["u", "v", None]), st.sampled_from(["a", None]),
    st.sampled_from(["s1", "s2", None]),
)  # fmt: skip
ROWS = st.lists(st.tuples(st.integers(0, 25), SCOPES), max_size=8)


@given(ROWS.filter(bool), ROWS)
def test_against_a_plain_reading(calls: list[tuple[int, Scope]], rows: list[tuple[int, Scope]]) -> None:
    assert pairs(calls, rows) == plain(calls, rows)
