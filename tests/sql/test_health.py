"""The statements behind the health report, on small visible tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl
import pytest

from tests.sql.test_contract import frame, hours, run

FACT = ("tenant_id", "owner", "fact_id", "subject_key", "predicate", "aspect", "valid_from", "valid_until",
        "recorded_at", "retired_at", "revision", "is_removed")  # fmt: skip
SINGLE = pl.DataFrame({"predicate": ["lives_in", "prefers"]})
NOON = hours(0)


def fact(name: str, **fields: Any) -> tuple[Any, ...]:
    """One that is believed, of one slot."""
    plain = {
        "tenant_id": "a", "owner": "user:u", "fact_id": name, "subject_key": "user", "predicate": "lives_in",
        "aspect": "", "valid_from": hours(-9), "valid_until": None, "recorded_at": hours(-9),
        "retired_at": None, "revision": 1, "is_removed": False,
    }  # fmt: skip
    return tuple({**plain, **fields}.values())


def contested(*facts: tuple[Any, ...], at: datetime = NOON) -> list[tuple[Any, ...]]:
    return run("contested_facts", {"facts": frame("facts", FACT, facts), "single_valued": SINGLE}, as_of=at)


def test_two_facts_of_one_slot_are_contested() -> None:
    assert contested(fact("f1"), fact("f2")) == [("a", "f1", "lives_in", 1), ("a", "f2", "lives_in", 1)]
    assert contested(fact("f1")) == []


@pytest.mark.parametrize(
    "other",
    [
        {"tenant_id": "b"},
        {"owner": "user:v"},
        {"subject_key": "her mother"},
        {"aspect": "seat"},
        {"predicate": "prefers"},
        {"valid_until": hours(-1), "retired_at": hours(-1)},
        {"valid_from": hours(1)},
        {"recorded_at": hours(1)},
        {"is_removed": True},
    ],
    ids=str,
)
def test_another_slot_or_time_contests_nothing(other: dict[str, Any]) -> None:
    assert contested(fact("f1"), fact("f2", **other)) == []


def test_predicates_of_many_objects_contest_nothing() -> None:
    assert contested(fact("f1", predicate="likes"), fact("f2", predicate="likes")) == []


def test_the_newest_revision_stands() -> None:
    ended = fact("f2", revision=2, valid_until=hours(-1), retired_at=hours(-1))
    assert contested(fact("f1"), fact("f2"), ended) == []
    # Before it was known to have ended it was believed.
    before = contested(fact("f1"), fact("f2"), ended, at=hours(-2))
    assert [row[1] for row in before] == ["f1", "f2"]


def test_slots_are_numbered() -> None:
    found = contested(
        fact("f1"),
        fact("f2"),
        fact("g1", owner="user:a"),
        fact("g2", owner="user:a"),
        fact("g3", owner="user:a"),
    )
    assert [(row[1], row[3]) for row in found] == [("g1", 1), ("g2", 1), ("g3", 1), ("f1", 2), ("f2", 2)]


def test_runs_by_step() -> None:
    names = ["run_id", "step", "state", "as_of_at", "started_at", "rows_out", "seconds", "error"]
    runs = frame(
        "runs",
        names,
        [
            ("1", "embed", "done", hours(-30), hours(-30), 9, 1.0, None),
            ("2", "embed", "failed", hours(-3), hours(-3), 1, 3.0, "endpoint"),
            ("3", "embed", "done", hours(-2), hours(-2), 5, 1.0, None),
            ("4", "ingest", "done", hours(-1), hours(-1), 7, 0.5, None),
            ("5", "ingest", "failed", hours(-1), hours(0), 0, 0.5, "storage"),
            ("6", "ingest", "done", hours(1), hours(1), 99, 9.0, None),  # after the as-of
            ("7", "publish", "done", hours(-40), hours(-40), 3, 2.0, None),  # before the window
        ],
    )
    assert run("runs_by_step", {"runs": runs}, since=hours(-24), as_of=hours(0)) == [
        ("embed", 2, 1, 6, 2.0, "done", None, hours(-2), hours(-2)),
        ("ingest", 2, 1, 7, 0.5, "failed", "storage", hours(-1), hours(-1)),
        ("publish", 0, 0, 0, None, "done", None, hours(-40), hours(-40)),
    ]
