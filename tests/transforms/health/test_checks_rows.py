"""Growth, poisoning, refusals and backlog: each measure on rows where it is high, and where it is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.health import checks_rows
from transforms.health.checks_rows import WRITERS_SCHEMA, Came

AT = datetime(2026, 6, 30, 23, tzinfo=UTC)
SINCE = AT - timedelta(days=30)


@pytest.mark.parametrize(
    ("landed", "removed", "held", "age_days", "value"),
    [
        (900, 0, 1000, 91, 0.9),
        (100, 90, 1000, 91, 0.01),
        (100, 200, 1000, 91, 0.0),
        (900, 0, 1000, 89, None),  # younger than three windows
        (5, 5, 0, 91, 0.0),
    ],
)
def test_net_growth(landed: int, removed: int, held: int, age_days: int, value: float | None) -> None:
    first = AT - timedelta(days=age_days)
    found = checks_rows.net_growth(landed, removed, held, first, SINCE, AT)
    assert found.value == (None if value is None else pytest.approx(value))
    assert checks_rows.net_growth(landed, removed, held, None, SINCE, AT).value is None


def nights(*pairs: tuple[int, float, float]) -> pl.DataFrame:
    """Bytes and rows of earlier nights, so many days ago."""
    rows = [
        (AT - timedelta(days=days), part, value)
        for days, size, count in pairs
        for part, value in (("lake_bytes", size), ("lake_rows", count))
    ]
    schema = {"as_of_at": pl.Datetime("us", "UTC"), "part": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_bytes_per_row_are_those_of_the_first_night_of_the_window() -> None:
    found = checks_rows.bytes_per_row(4_000, 100, nights((1, 9_000, 100), (20, 1_000, 100)), 50)
    assert found.value == 4.0
    assert found.detail == "against 2026-06-10"
    assert checks_rows.bytes_per_row(4_000, 100, nights(), 50).value is None
    assert checks_rows.bytes_per_row(4_000, 100, nights((20, 1_000, 10)), 50).value is None
    assert checks_rows.bytes_per_row(4_000, 10, nights((20, 1_000, 100)), 50).value is None


def test_the_fullest_owner() -> None:
    assert checks_rows.fullest([3, 750, 20], 500).value == 1.5
    assert checks_rows.fullest([], 500).value == 0.0


def test_low_trust_and_instructions() -> None:
    assert checks_rows.low_trust_rise(Came(100, 100), Came(10, 70), 50).value == pytest.approx(0.6)
    assert checks_rows.low_trust_rise(Came(100, 100), Came(70, 10), 50).value == 0.0
    assert checks_rows.low_trust_rise(Came(10, 100), Came(1, 70), 50).value is None
    assert checks_rows.injection(20, 80, 50).value == 0.2
    assert checks_rows.injection(0, 80, 50).value == 0.0
    assert checks_rows.injection(1, 8, 50).value is None


def claims(*rows: tuple[str, str, str | None, int, int]) -> pl.DataFrame:
    """Tenant, kind of writer, writer, claims in the window and before."""
    schema = {
        "tenant_id": pl.String, "kind": pl.String, "writer": pl.String, "claims": pl.Int64,
        "claims_before": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_writer_that_rises() -> None:
    rows = claims(
        ("acme", "agent_id", "g1", 90, 10),
        ("acme", "agent_id", "g2", 5, 45),
        ("acme", "agent_id", "g3", 5, 45),
        ("acme", "agent_id", None, 900, 0),  # nobody wrote these
        ("acme", "session_id", "s1", 40, 0),
        ("acme", "session_id", "s2", 30, 0),
        ("acme", "session_id", "s3", 30, 0),
        ("young", "agent_id", "g1", 98, 0),  # no past to compare with
        ("young", "agent_id", "g2", 1, 0),
        ("young", "agent_id", "g3", 1, 0),
        ("small", "session_id", "s1", 9, 0),
        ("pair", "session_id", "s1", 99, 0),  # of two one always stands out
        ("pair", "session_id", "s2", 1, 0),
    )
    found = checks_rows.writers(rows, min_rows=50, min_writers=3)
    assert set(found["tenant_id"]) == {"acme"}
    assert found.row(0, named=True) == {
        "tenant_id": "acme", "kind": "agent_id", "writer": "g1", "claims": 90, "claims_before": 10,
        "share_ratio": 0.9, "share_before_ratio": 0.1, "rise_ratio": pytest.approx(0.8),
    }  # fmt: skip
    told = checks_rows.writer_rise(found)
    assert told.value == pytest.approx(0.8)
    assert told.detail == "one agent wrote 90 claims, 90 % of its tenant's"
    assert checks_rows.writer_rise(found.clear()).value is None


WRITTEN = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(checks_rows.WRITER_KINDS), st.sampled_from([None, *"wxyz"]),
        st.integers(0, 30), st.integers(0, 30),
    ),
    unique_by=lambda row: row[:3],
    max_size=12,
)  # fmt: skip


@given(WRITTEN, st.randoms())
def test_writers_are_those_of_a_slow_loop(rows: list[tuple[Any, ...]], random: Any) -> None:
    slow = []
    for tenant, kind, writer, new, before in rows:
        mine = [r for r in rows if r[:2] == (tenant, kind) and r[2] is not None]
        all_new, all_before = sum(r[3] for r in mine), sum(r[4] for r in mine)
        many = sum(r[3] > 0 for r in mine) >= 2 or kind == "source"
        if writer is None or all_new < 20 or not many or (kind != "session_id" and all_before < 20):
            continue
        was = before / all_before if all_before else 0.0
        slow.append((tenant, kind, writer, new, before, new / all_new, was, new / all_new - was))
    slow.sort(key=lambda r: (-r[7], r[0], r[1], r[2]))
    random.shuffle(rows)
    found = checks_rows.writers(claims(*rows), min_rows=20, min_writers=2)
    assert found.schema == WRITERS_SCHEMA
    assert found.rows() == slow


def test_one_text_in_many_sessions() -> None:
    texts = pl.DataFrame({"tenant_id": ["a", "a", "b"], "sessions": [40, 3, 9]})
    sessions = pl.DataFrame({"tenant_id": ["a", "b", "c"], "all_sessions": [80, 10, 70]})
    found = checks_rows.flood(texts, sessions, 50)
    assert (found.value, found.detail) == (0.5, "40 of 80 sessions")
    assert checks_rows.flood(texts.clear(), sessions, 50).value == 0.0
    assert checks_rows.flood(texts, sessions, 100).value is None


def test_refusals() -> None:
    ratio, rise = checks_rows.quarantine(Came(5, 40), Came(95, 60), 50, 0.01)
    assert (ratio.value, rise.value) == (0.4, pytest.approx(8.0))
    ratio, rise = checks_rows.quarantine(Came(0, 1), Came(100, 99), 50, 0.01)  # one row is no rise
    assert (ratio.value, rise.value) == (0.01, pytest.approx(1.0))
    ratio, rise = checks_rows.quarantine(Came(0, 40), Came(0, 60), 50, 0.01)
    assert (ratio.value, rise.value) == (0.4, None)
    assert [m.value for m in checks_rows.quarantine(Came(5, 4), Came(95, 6), 50, 0.01)] == [None, None]


def test_hours() -> None:
    assert checks_rows.hours_since("landed_hours", AT - timedelta(hours=60), AT).value == 60.0
    assert checks_rows.hours_since("landed_hours", AT + timedelta(hours=1), AT).value == 0.0
    assert checks_rows.hours_since("landed_hours", None, AT).value == 0.0


def test_failed_runs() -> None:
    steps = pl.DataFrame(
        {
            "step": ["embed", "ingest", "publish"],
            "runs": [4, 4, 0],
            "failed": [2, 0, 0],
            "last_state": ["failed", "done", "failed"],
        }
    )
    ratio, failing = checks_rows.failed_runs(steps)
    assert (ratio.value, failing.value, failing.detail) == (0.25, 2, "embed, publish")
    assert [m.value for m in checks_rows.failed_runs(steps.clear())] == [None, 0]
