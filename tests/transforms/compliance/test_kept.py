"""Lifetimes: what was due, what became of it, what is still there; against a count row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.compliance.kept import COUNTS, KEPT_SCHEMA, PRESENT_SCHEMA, kept, present, summed
from transforms.retention import instant
from transforms.schemas import INSTANT

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
GRACE = 86_400
ROWS = pl.Schema(
    {"tenant_id": pl.String, "tier": pl.String, "due_at": INSTANT, "known_at": INSTANT, "is_held": pl.Boolean}
)
REMOVED = pl.Schema(
    {"tenant_hash": pl.String, "table": pl.String, "tier": pl.String}
    | dict.fromkeys(("removed", "late", "waiting"), pl.Int64)
)


def hours(count: float) -> datetime:
    return NOW + timedelta(hours=count)


def counted(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=ROWS, orient="row")
    return present(frame.lazy(), "episodes", instant(NOW), GRACE).collect().sort("tenant_id", "tier")


@pytest.mark.parametrize(
    ("due", "known", "is_held", "expected"),
    [
        (None, None, False, None),  # never
        (1e-6, None, False, None),  # due in a moment
        (0, None, False, "pending"),  # due this very instant
        (-24, None, False, "pending"),  # the whole grace period ago
        (-24.001, None, False, "overdue"),
        (-500, -1, False, "pending"),  # past its time when it landed an hour ago
        (-500, -25, False, "overdue"),
        (-500, None, True, "held"),
    ],
)
def test_what_a_row_past_its_time_is(
    due: float | None, known: float | None, is_held: bool, expected: str | None
) -> None:
    at = [None if count is None else hours(count) for count in (due, known)]
    found = counted([("acme", "session", *at, is_held)]).to_dicts()
    assert [name for row in found for name in ("held", "pending", "overdue") if row[name]] == (
        [expected] if expected else []
    )


def oracle(rows: list[tuple[Any, ...]]) -> dict[tuple[str, str], list[int]]:
    """held, pending, overdue by tenant and tier, one row at a time."""
    found: dict[tuple[str, str], list[int]] = {}
    for tenant, tier, due, known, is_held in rows:
        if due is None or due > NOW:
            continue
        since = due if known is None else max(due, known)
        at = 0 if is_held else 2 if (NOW - since).total_seconds() > GRACE else 1
        found.setdefault((tenant or "", tier), [0, 0, 0])[at] += 1
    return found


moments = st.none() | st.integers(-200, 20).map(hours)
tenants, tiers = st.sampled_from(["a", "b", None]), st.sampled_from(["", "session"])
rows = st.lists(st.tuples(tenants, tiers, moments, moments, st.booleans()), max_size=12)


@settings(max_examples=50)
@given(rows)
def test_counts_are_those_of_a_walk_over_the_rows(some: list[tuple[Any, ...]]) -> None:
    found = {
        (row["tenant_id"], row["tier"]): [row["held"], row["pending"], row["overdue"]]
        for row in counted(some).to_dicts()
    }
    assert found == oracle(some)
    assert counted(some[::-1]).equals(counted(some))


def lines(
    removed: list[tuple[Any, ...]], still: list[tuple[Any, ...]], **hashes: str
) -> list[dict[str, Any]]:
    ledger = pl.DataFrame(removed, schema=REMOVED, orient="row")
    now = pl.DataFrame(still, schema=PRESENT_SCHEMA, orient="row")
    found = kept(ledger, now, hashes)
    assert found.schema == KEPT_SCHEMA
    return found.to_dicts()


def test_ledger_and_lake_meet_by_tenant_table_and_tier() -> None:
    found = lines(
        [("h1", "episodes", "session", 90, 4, 3), ("h9", "facts", "long_term", 7, 0, 0)],
        [("acme", "episodes", "session", 2, 1, 10, hours(-50)), ("acme", "cold", "", 0, 1, 0, hours(-1))],
        acme="h1",
    )
    shown = [tuple(row[n] for n in ("tenant", "is_erased", "table", "tier", *COUNTS)) for row in found]
    assert shown == [
        ("acme", False, "cold", "", 1, 0, 0, 0, 0, 1, 0),
        ("acme", False, "episodes", "session", 106, 90, 4, 3, 2, 1, 10),
        ("erased:h9", True, "facts", "long_term", 7, 7, 0, 0, 0, 0, 0),
    ]
    assert [row["kept_ratio"] for row in found] == [None, pytest.approx(86 / 100), 1.0]
    assert found[1]["oldest_due_at"] == hours(-50)


def test_rows_of_no_tenant_are_counted_too() -> None:
    (row,) = lines([("", "quarantine", "", 5, 0, 0)], [("", "quarantine", "", 0, 0, 1, hours(-99))])
    assert (row["tenant"], row["is_erased"], row["done"], row["overdue"]) == ("(no tenant)", False, 5, 1)


def test_nothing_waits_of_a_tenant_that_is_not_in_the_lake() -> None:
    (row,) = lines([("h9", "episodes", "session", 5, 0, 3)], [], acme="h1")
    assert (row["is_erased"], row["due"], row["done"], row["waiting"]) == (True, 5, 5, 0)


counts = st.integers(0, 50)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(["h1", "h2"]), counts, counts, counts), unique_by=lambda r: r[0]),
    st.lists(st.tuples(st.sampled_from(["acme", "zeta"]), counts, counts, counts), unique_by=lambda r: r[0]),
)
def test_every_row_is_counted_once_and_what_is_due_is_the_sum(
    removed: list[tuple[Any, ...]], still: list[tuple[Any, ...]]
) -> None:
    ledger = [(h, "episodes", "session", done + late, late, waiting) for h, done, late, waiting in removed]
    now = [(t, "episodes", "session", *rest, NOW) for t, *rest in still]
    found = lines(ledger, now, acme="h1", zeta="h2")
    total = dict.fromkeys(COUNTS, 0)
    for row in found:
        assert row["due"] == sum(row[name] for name in ("done", "waiting", "held", "pending", "overdue"))
        assert row["kept_ratio"] is None or 0 <= row["kept_ratio"] <= 1
        assert (row["kept_ratio"] == 1) == (row["late"] == row["overdue"] == 0 and row["done"] > 0)
        for name in COUNTS:
            total[name] += row[name]
    assert total["done"] == sum(line[3] for line in ledger)
    assert total["overdue"] == sum(line[5] for line in now)
    frame = pl.DataFrame(found, schema=KEPT_SCHEMA)
    assert summed(frame).select(COUNTS).row(0, named=True) == total
