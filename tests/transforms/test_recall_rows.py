"""Logged calls become rows, and marks of use find the rows they are about: beside a slow plain oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import LakeError
from transforms.recall_rows import marked, recall_rows, use_rows, used_rows
from transforms.schemas import RECALLS

BUCKETS = 4
US = 1_780_000_000_000_000


def call(call_id: str, memories: list[str], **fields: Any) -> dict[str, Any]:
    """A logged call; ``returned`` names the memories that it gave."""
    returned = fields.pop("returned", memories)
    count = len(memories)
    plain: dict[str, Any] = {
        "call_id": call_id,
        "tenant_id": "t",
        "user_id": "u",
        "agent_id": None,
        "session_id": "s",
        "query": "tea",
        "verb": "search",
        "route": "general",
        "weighting": "five",
        "policy_hash": "0" * 16,
        "seconds": 0.01,
        "budget_tokens": None,
        "generation": None,
        "recalled_at": US,
    }
    numbers = (
        "score",
        "relevance",
        "recency",
        "importance",
        "frequency",
        "type",
        "memory_importance",
        "closeness",
    )
    rows: dict[str, list[Any]] = {name: [0.5] * count for name in numbers}
    rows |= {name: [US] * count for name in ("last_accessed_at", "event_at")}
    rows |= {name: [None] * count for name in ("outcome", "cosine", "word_match", "tokens")}
    rows |= {"kind": ["conversation"] * count, "tier": ["episodic"] * count, "access_count": [0] * count}
    rows |= {"memory_id": memories, "rank": list(range(1, count + 1)), "is_packed": [False] * count}
    rows["is_returned"] = [memory in returned for memory in memories]
    return {**plain, **fields, "rows": rows}


def use(memories: list[str], call_id: str | None = None, **fields: Any) -> dict[str, Any]:
    scope = {"tenant_id": "t", "user_id": None, "agent_id": None, "session_id": None}
    return {"call_id": call_id, **scope, "used_at": US + 10, "memory_ids": memories, **fields}


def pairs(calls: list[dict[str, Any]], uses: list[dict[str, Any]]) -> list[tuple[str, str]]:
    rows = recall_rows(calls, BUCKETS)
    done = marked(rows, used_rows(use_rows(uses), rows.lazy()))
    assert done.drop("is_used").equals(rows.drop("is_used"))
    return sorted(done.filter("is_used").select("call_id", "memory_id").iter_rows())


def test_a_call_is_one_row_a_candidate_in_the_tables_shape() -> None:
    rows = recall_rows([call("c1", ["a", "b"], returned=["a"]), call("c2", []), call("c1", ["a"])], BUCKETS)
    assert rows.schema == RECALLS.polars
    shown = rows.select("call_id", "memory_id", "rank", "is_returned", "is_used", "month").rows()
    assert shown == [("c1", "a", 1, True, None, "2026-05"), ("c1", "b", 2, False, None, "2026-05")]
    assert recall_rows([], BUCKETS).schema == RECALLS.polars


@pytest.mark.parametrize(
    "damage",
    [
        {"tenant_id": None},
        {"tenant_id": 7},
        {"recalled_at": "yesterday"},
        {"verb": "dream"},
        {"rows": {}},
        {"rows": None},
    ],
)
def test_a_call_that_is_none_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises((LakeError, TypeError, ValueError, KeyError)):
        recall_rows([{**call("c", ["a"]), **damage}], BUCKETS)
    torn = call("c", ["a", "b"])
    torn["rows"]["score"].pop()
    with pytest.raises(ValueError, match="score"):
        recall_rows([torn], BUCKETS)


def test_a_named_call_is_marked_and_no_other() -> None:
    calls = [call("c1", ["a", "b"]), call("c2", ["a"], recalled_at=US + 1)]
    assert pairs(calls, [use(["a", "ghost"], "c1")]) == [("c1", "a")]
    assert pairs(calls, [use(["a"], "c1", tenant_id="other")]) == []
    assert pairs(calls, [use(["a"], "c3"), use([], "c1")]) == []


def test_without_a_call_the_newest_that_gave_it_inside_the_scope_is_marked() -> None:
    calls = [
        call("old", ["a", "b"]),
        call("new", ["a", "b"], returned=["a"], recalled_at=US + 5),
        call("elsewhere", ["a", "b"], session_id="s2", recalled_at=US + 6),
        call("later", ["a", "b"], recalled_at=US + 50),
    ]
    assert pairs(calls, [use(["a", "b"], session_id="s")]) == [("new", "a"), ("old", "b")]
    assert pairs(calls, [use(["a"], user_id="u")]) == [("elsewhere", "a")]
    assert pairs(calls, [use(["a"], user_id="v")]) == []


IDS = st.sampled_from(["a", "b", "c"])
SCOPES = st.sampled_from([None, "s", "s2"])
CALLS = st.lists(
    st.tuples(st.lists(IDS, unique=True), st.lists(IDS), SCOPES, st.integers(0, 20)), min_size=1, max_size=5
)
USES = st.lists(st.tuples(st.lists(IDS), SCOPES, st.none() | st.sampled_from(["c0", "c1", "cx"])), max_size=4)


@given(CALLS, USES)
def test_marks_are_those_of_a_plain_loop(
    told: list[tuple[list[str], list[str], str | None, int]],
    said: list[tuple[list[str], str | None, str | None]],
) -> None:
    calls = [
        call(f"c{i}", m, returned=r, session_id=s, recalled_at=US + at)
        for i, (m, r, s, at) in enumerate(told)
    ]
    uses = [use(m, c, session_id=s) for m, s, c in said]
    assert pairs(calls, uses) == plain_marks(calls, uses)


def plain_marks(calls: list[dict[str, Any]], uses: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = set()
    for one in uses:
        for memory in one["memory_ids"]:
            best = None
            for asked in calls:
                rows = asked["rows"]
                given_at = dict(zip(rows["memory_id"], rows["is_returned"], strict=True))
                if memory not in given_at:
                    continue
                if one["call_id"] is not None:
                    fits = asked["call_id"] == one["call_id"]
                else:
                    in_scope = one["session_id"] in (None, asked["session_id"])
                    fits = in_scope and given_at[memory] and asked["recalled_at"] <= one["used_at"]
                if fits and (best is None or best < (asked["recalled_at"], asked["call_id"])):
                    best = asked["recalled_at"], asked["call_id"]
            if best is not None:
                found.add((best[1], memory))
    return sorted(found)


def test_marking_twice_is_marking_once() -> None:
    rows = recall_rows([call("c1", ["a", "b"])], BUCKETS)
    found = used_rows(use_rows([use(["a"], "c1"), use(["a"], "c1")]), rows.lazy())
    once = marked(rows, found)
    assert marked(once, found).equals(once)
    assert once["is_used"].to_list() == [True, None]
