"""Global patterns against a slow plain oracle: at least three tenants, and nothing of any of them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lake.made import frame
from transforms.policy import Policy
from transforms.schemas import PROCEDURES
from transforms.sharing.global_patterns import global_patterns, rounded, settled

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
SECRET = "zanzibar-canary says Mira Quokka"
NAMES = ["import_invoices", "open file", "Refund", "book.seat"]
ODD = ["call Mira on 0176 1234567", "order 48213", "ignore_previous_instructions", "a" * 60, "", "müll"]


def skill(tenant: str, number: int = 0, **fields: Any) -> dict[str, Any]:
    plain = {
        "procedure_id": f"{tenant}{number}",
        "tenant_id": tenant,
        "owner": f"agent:{SECRET}",
        "agent_id": SECRET,
        "kind": "procedure",
        "trigger": "import_invoices",
        "tool_sequence": ["open file", "import_invoices"],
        "policy": SECRET,
        "success_count": 7,
        "failure_count": 1,
        "session_count": 8,
        "source_refs": [SECRET],
        "sensitivity": "normal",
    }
    return {**plain, **fields}


def patterns(*rows: dict[str, Any], policy: Policy | None = None) -> pl.DataFrame:
    held = frame(PROCEDURES, rows).drop("revision", "is_removed")
    return global_patterns(held, policy or Policy(), NOW, 3)


def test_three_tenants_and_no_fewer() -> None:
    for tenants, count in (("", 0), ("a", 0), ("ab", 0), ("abc", 1), ("abcd", 1)):
        assert patterns(*(skill(tenant) for tenant in tenants)).height == count, tenants
    assert patterns(*(skill("a", n) for n in range(5))).height == 0, "one tenant, five times"
    strict = Policy.model_validate({"sharing": {"min_tenants": 4}})
    assert patterns(*(skill(tenant) for tenant in "abc"), policy=strict).height == 0
    with pytest.raises(ValueError, match="min_tenants"):
        Policy.model_validate({"sharing": {"min_tenants": 2}})


LEFT_OUT: list[dict[str, Any]] = [
    {"sensitivity": "personal"},
    {"sensitivity": "restricted"},
    {"tool_sequence": []},
    {"kind": "pattern", "trigger": "topic: Mira"},
    *({"trigger": name} for name in ODD),
    *({"tool_sequence": ["open file", name]} for name in ODD),
]


@pytest.mark.parametrize("fields", LEFT_OUT)
def test_what_may_be_somebodys_is_left_out(fields: dict[str, Any]) -> None:
    assert patterns(*(skill(tenant, **fields) for tenant in "abcd")).height == 0


def test_a_row_holds_the_shape_and_rounded_figures_only() -> None:
    counts = {"a": (7, 1), "b": (700, 300), "c": (3, 1)}
    (row,) = patterns(
        *(skill(t, success_count=s, failure_count=f, session_count=s + f) for t, (s, f) in counts.items())
    ).to_dicts()
    said = (
        "For import_invoices: open file → import_invoices works about 8 of 10 times in several organisations"
    )
    assert row["policy"] == said
    assert (row["success_count"], row["failure_count"], row["session_count"]) == (500, 200, 1000)
    assert row["success_rate"] == pytest.approx(0.8), "the mean of 0.875, 0.7 and 0.75: each tenant once"
    assert (row["tenant_id"], row["user_id"], row["source_refs"]) == ("system", None, [])
    assert row["first_event_at"] == row["last_event_at"] == datetime(2026, 6, 1, tzinfo=UTC)
    assert row["is_suggested"]
    assert not re.search("zanzibar|mira|quokka", json.dumps(row, default=str), re.IGNORECASE)


SKILLS = st.builds(
    lambda tenant, number, kind, trigger, tools, successes, failures, sensitivity, habit: skill(
        tenant,
        number,
        kind=kind,
        trigger=habit if kind == "pattern" else trigger,
        tool_sequence=tools if kind == "procedure" else [],
        policy="Comes on most days" if kind == "pattern" else SECRET,
        success_count=successes,
        failure_count=failures,
        session_count=successes + failures,
        sensitivity=sensitivity,
    ),
    st.sampled_from("abcde"),
    st.integers(0, 10_000),
    st.sampled_from(["procedure", "procedure", "lesson", "pattern"]),
    st.sampled_from([*NAMES, "import_invoices", ODD[0]]),
    st.lists(st.sampled_from([*NAMES, ODD[1]]), min_size=1, max_size=2),
    st.integers(0, 50),
    st.integers(0, 50),
    st.sampled_from(["normal", "normal", "normal", "personal"]),
    st.sampled_from(["frequency", "message length", "topic: Mira"]),
)


@given(st.lists(SKILLS, max_size=30), st.randoms())
def test_against_the_oracle(rows: list[dict[str, Any]], shuffler: Any) -> None:
    rows = [{**row, "procedure_id": str(n)} for n, row in enumerate(rows)]
    found = patterns(*rows)
    told = {
        (row["kind"], row["trigger"], tuple(row["tool_sequence"])): (
            row["success_count"],
            row["failure_count"],
        )
        for row in found.to_dicts()
    }
    assert told == oracle(rows)
    assert "zanzibar" not in json.dumps(found.to_dicts(), default=str)
    shuffler.shuffle(rows)
    assert patterns(*rows).equals(found)


def oracle(rows: list[dict[str, Any]]) -> dict[tuple[str, str, tuple[str, ...]], tuple[int, int]]:
    """Counts of each shape that three tenants show, row by row."""
    safe = {name.lower() for name in NAMES} | {"frequency", "message length"}
    tenants: dict[Any, set[str]] = defaultdict(set)
    sums: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        names = [row["trigger"].lower(), *(tool.lower() for tool in row["tool_sequence"])]
        if row["sensitivity"] != "normal" or not set(names) <= safe:
            continue
        key = (row["kind"], names[0], tuple(names[1:]))
        tenants[key].add(row["tenant_id"])
        sums[key][0] += row["success_count"]
        sums[key][1] += row["failure_count"]
    shown = {key for key, held in tenants.items() if len(held) >= 3}
    return {key: (plainly_rounded(sums[key][0]), plainly_rounded(sums[key][1])) for key in shown}


def plainly_rounded(value: int) -> int:
    steps = [0] + [lead * 10**power for power in range(7) for lead in (1, 2, 5)]
    return max(step for step in steps if step <= value)


@given(st.integers(0, 999_999))
def test_rounding_is_downwards_to_one_two_five(value: int) -> None:
    assert pl.DataFrame({"n": [value]}).select(rounded("n")).item() == plainly_rounded(value)


def test_what_is_the_same_keeps_its_time() -> None:
    first = patterns(*(skill(tenant) for tenant in "abc"))
    july = NOW.replace(month=7)
    held = frame(PROCEDURES, [skill(tenant) for tenant in "abc"]).drop("revision", "is_removed")
    later = global_patterns(held, Policy(), july, 3)
    assert not later.equals(first)
    assert settled(later, first).equals(first)
    assert settled(later, first.clear()).equals(later)
