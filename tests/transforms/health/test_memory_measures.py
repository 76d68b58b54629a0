"""Measures of recall: planted calls with known answers, and a slow plain count beside the vectorised one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lake.made import frame
from transforms.health import measures
from transforms.health.measures import CALLS_SCHEMA, MEASURES_SCHEMA, by_call, measured, with_period
from transforms.schemas import RECALLS

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
ANSWER = {"is_returned": True, "rank": 1}


def rows(lines: Sequence[dict[str, Any]]) -> pl.LazyFrame:
    """Rows of the log; a call is a search of agent ``a`` of tenant ``t`` at noon unless it says otherwise."""
    plain = {"tenant_id": "t", "agent_id": "a", "verb": "search", "recalled_at": NOON}
    return frame(RECALLS, [{**plain, "memory_id": f"m{i}", **line} for i, line in enumerate(lines)]).lazy()


def table(text: str) -> pl.LazyFrame:
    """Rows of the log, a line a row: call, agent, verb, returned, packed, used, tokens, budget, seconds."""
    found = []
    for line in text.strip().splitlines():
        call, agent, verb, returned, packed, used, tokens, budget, seconds = line.split()
        found.append(
            {
                "call_id": call,
                "agent_id": None if agent == "-" else agent,
                "verb": verb,
                "rank": 0 if returned == "none" else 1,
                "is_returned": returned == "yes",
                "is_packed": packed == "yes",
                "is_used": True if used == "yes" else None,
                "tokens": None if tokens == "-" else int(tokens),
                "budget_tokens": None if budget == "-" else int(budget),
                "seconds": None if seconds == "-" else float(seconds),
            }
        )
    return rows(found)


LOG = """
c1 a search  yes  no  yes -  -   0.10
c1 a search  yes  no  no  -  -   0.10
c1 a search  no   no  no  -  -   0.10
c2 a search  none no  no  -  -   0.30
c3 b context yes  yes no  60 100 0.20
c3 b context yes  yes no  20 100 0.20
c4 a context yes  yes yes 50 200 -
c4 a context no   no  no  -  200 -
c5 b restore yes  no  yes -  -   9.99
"""
"""Agent a says what it uses, agent b does not; c5 asks for nothing."""


def test_what_calls_come_to() -> None:
    calls = by_call(table(LOG))
    assert calls.schema == CALLS_SCHEMA
    told = calls.sort("call_id").select("call_id", "returned", "used", "packed", "tokens", "is_known").rows()
    assert told == [
        ("c1", 2, 1, 0, 0, True),
        ("c2", 0, 0, 0, 0, True),
        ("c3", 2, 0, 2, 80, False),
        ("c4", 1, 1, 1, 50, True),
    ]
    (found,) = measured(calls, []).to_dicts()
    assert found == {
        "calls": 4,
        "misses": 1,
        "answered_ratio": 0.75,
        "known_calls": 3,
        "hit_ratio": pytest.approx(2 / 3),
        "returned_rows": 5,
        "used_ratio": pytest.approx(2 / 3),
        "timed_calls": 3,
        "seconds_p50": 0.2,
        "seconds_p95": 0.3,
        "seconds_p99": 0.3,
        "contexts": 2,
        "filled_ratio": pytest.approx((0.8 + 0.25) / 2),
        "packed_used_ratio": 1.0,
    }


def test_where_nobody_says_what_was_used_nothing_is_known() -> None:
    (found,) = measured(by_call(table("c1 b search yes no no - - -")), []).to_dicts()
    assert (found["known_calls"], found["hit_ratio"], found["used_ratio"]) == (0, None, None)
    assert (found["timed_calls"], found["seconds_p95"], found["filled_ratio"]) == (0, None, None)


def test_an_agent_that_says_what_it_uses_is_known_in_its_own_tenant_only() -> None:
    log = rows(
        [
            {**ANSWER, "call_id": "c1", "is_used": True},
            {**ANSWER, "call_id": "c2"},
            {**ANSWER, "call_id": "c3", "tenant_id": "other"},
            {**ANSWER, "call_id": "c4", "agent_id": None},
        ]
    )
    known = by_call(log).sort("call_id").select("call_id", "is_known").rows()
    assert known == [("c1", True), ("c2", True), ("c3", False), ("c4", False)]


def test_use_of_a_row_that_was_not_given_is_no_hit() -> None:
    log = rows([{"call_id": "c1", "rank": 1, "is_used": True}, {**ANSWER, "call_id": "c1"}])
    (found,) = measured(by_call(log), []).to_dicts()
    assert (found["hit_ratio"], found["used_ratio"]) == (0.0, 0.0)


def test_days_begin_at_midnight_and_weeks_on_monday() -> None:
    moments = [NOON, datetime(2026, 6, 7, 23, 59, 59, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC)]
    log = rows([{**ANSWER, "call_id": f"c{i}", "recalled_at": at} for i, at in enumerate(moments)])
    calls = by_call(log)
    days = measured(with_period(calls, "day"), ["period_at"])
    assert days["period_at"].dt.strftime("%m-%d %H:%M").to_list() == [
        "06-01 00:00",
        "06-07 00:00",
        "06-08 00:00",
    ]
    weeks = measured(with_period(calls, "week"), ["period_at"])
    assert weeks.select(pl.col("period_at").dt.strftime("%m-%d"), "calls").rows() == [
        ("06-01", 2),
        ("06-08", 1),
    ]


def test_no_calls_give_no_rows() -> None:
    calls = by_call(rows([]))
    assert measured(calls, []).is_empty()
    assert measured(calls, ["tenant_id"]).schema == {"tenant_id": pl.String, **MEASURES_SCHEMA}


@pytest.mark.parametrize(
    ("values", "percent", "wanted"),
    [
        ([], 95, None),
        ([3.0], 50, 3.0),
        ([4.0, 1.0, 3.0, 2.0], 50, 2.0),
        ([float(n) for n in range(1, 101)], 95, 95.0),
        ([float(n) for n in range(1, 22)], 95, 20.0),
        ([1.0, 2.0, 3.0], 99, 3.0),
    ],
)
def test_nearest_rank(values: list[float], percent: int, wanted: float | None) -> None:
    held = pl.DataFrame({"v": pl.Series([*values, None], dtype=pl.Float64)})
    assert held.select(measures.nearest_rank(pl.col("v"), percent)).item() == wanted


ROW = st.fixed_dictionaries(
    {
        "call": st.integers(0, 5),
        "returned": st.booleans(),
        "packed": st.booleans(),
        "used": st.sampled_from([None, True]),
        "tokens": st.integers(1, 90),
    }
)
CALL = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from("tu"),
        "agent": st.sampled_from(["a", "b", None]),
        "verb": st.sampled_from(["search", "context", "restore"]),
        "seconds": st.one_of(st.none(), st.sampled_from([0.1, 0.2, 0.3, 0.4])),
        "budget": st.sampled_from([100, 200]),
        "day": st.integers(0, 2),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(CALL, min_size=6, max_size=6), st.lists(ROW, max_size=25))
def test_measures_as_a_plain_count_has_them(
    calls: list[dict[str, Any]], candidates: list[dict[str, Any]]
) -> None:
    log = [_row(calls, one, place) for place, one in enumerate(candidates)]
    with_days = with_period(by_call(frame(RECALLS, log).lazy()), "day")
    found = measured(with_days, ["period_at", "tenant_id"]).to_dicts()
    assert [_rounded(row) for row in found] == [_rounded(row) for row in _plain(log)]


def _row(calls: list[dict[str, Any]], one: dict[str, Any], place: int) -> dict[str, Any]:
    call = calls[one["call"]]
    is_context = call["verb"] == "context"
    packed = is_context and one["packed"]
    return {
        "call_id": f"c{one['call']}",
        "tenant_id": call["tenant"],
        "agent_id": call["agent"],
        "verb": call["verb"],
        "memory_id": f"m{place}",
        "rank": 1,
        "is_returned": packed if is_context else one["returned"],
        "is_packed": packed,
        "is_used": one["used"],
        "tokens": one["tokens"] if packed else None,
        "seconds": call["seconds"],
        "budget_tokens": call["budget"] if is_context else None,
        "recalled_at": NOON + timedelta(days=call["day"]),
    }


def _plain(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The measures, day by day and tenant by tenant, one call after the other."""
    asked = [row for row in log if row["verb"] in ("search", "context")]
    telling = {(row["tenant_id"], row["agent_id"]) for row in asked if row["is_used"] is not None}
    calls = defaultdict(list)
    for row in asked:
        calls[row["call_id"]].append(row)
    groups = defaultdict(list)
    for held in calls.values():
        day = held[0]["recalled_at"].replace(hour=0)
        groups[day, held[0]["tenant_id"]].append(held)
    return [
        {"period_at": day, "tenant_id": tenant, **_of_group(held, telling)}
        for (day, tenant), held in sorted(groups.items())
    ]


def _of_group(calls: list[list[dict[str, Any]]], telling: set[tuple[str, str | None]]) -> dict[str, Any]:
    returned = [[row for row in call if row["is_returned"]] for call in calls]
    known = [n for n, call in enumerate(calls) if (call[0]["tenant_id"], call[0]["agent_id"]) in telling]
    given = [row for n in known for row in returned[n]]
    packed = [row for row in given if row["is_packed"]]
    seconds = sorted(call[0]["seconds"] for call in calls if call[0]["seconds"] is not None)
    fills = [
        sum(row["tokens"] for row in call if row["is_packed"]) / call[0]["budget_tokens"]
        for call in calls
        if call[0]["budget_tokens"] is not None
    ]
    hits = [any(row["is_used"] for row in returned[n]) for n in known]
    return {
        "calls": len(calls),
        "misses": sum(not held for held in returned),
        "answered_ratio": _mean([bool(held) for held in returned]),
        "known_calls": len(known),
        "hit_ratio": _mean(hits),
        "returned_rows": sum(map(len, returned)),
        "used_ratio": _mean([row["is_used"] is True for row in given]),
        "timed_calls": len(seconds),
        **{f"seconds_p{q}": _quantile(seconds, q) for q in (50, 95, 99)},
        "contexts": len(fills),
        "filled_ratio": _mean(fills),
        "packed_used_ratio": _mean([row["is_used"] is True for row in packed]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _quantile(ordered: list[float], percent: int) -> float | None:
    """The least value that at least so many percent do not exceed."""
    for value in ordered:
        if sum(other <= value for other in ordered) * 100 >= percent * len(ordered):
            return value
    return None


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 9) if isinstance(v, float) and math.isfinite(v) else v for k, v in row.items()}
