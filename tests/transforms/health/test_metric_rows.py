"""Measures as rows of the table of metrics, scores and their sample, and the statements over the ledgers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake import queries
from tests.lake.made import frame
from transforms import ids
from transforms.forgetting.access import ACCESS_SCHEMA
from transforms.health import scores
from transforms.health.metric_rows import STATES, UNITS, VALUES_SCHEMA, metric_rows, values
from transforms.policy import Policy
from transforms.schemas import METRICS, REMOVALS, RUNS

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DOCS = Path(__file__).resolve().parents[3] / "docs" / "memory-metrics.md"


def rows_of(told: list[tuple[Any, ...]], as_of: datetime = NOON) -> pl.DataFrame:
    frame_of = pl.DataFrame(told, schema=VALUES_SCHEMA, orient="row")
    return metric_rows(frame_of, {"t": "hash-of-t"}, window_days=30, as_of=as_of, measured_at=NOON)


def test_a_wide_frame_becomes_a_row_a_known_measure() -> None:
    wide = pl.DataFrame(
        {"tenant_id": ["t", "u"], "kind": ["a", "b"], "calls": [3, 4], "hit_ratio": [None, float("nan")],
         "other": [1, 2]}
    )  # fmt: skip
    assert values(wide, "kind").sort("tenant_id").rows() == [
        ("t", "calls", "a", 3.0),
        ("u", "calls", "b", 4.0),
    ]
    assert values(wide.select("calls")).rows() == [(None, "calls", "", 3.0), (None, "calls", "", 4.0)]


def test_rows_of_the_table() -> None:
    found = rows_of(
        [(None, "calls", "", 5.0), ("t", "score_p50", "fact", 0.5), ("unknown", "calls", "", 1.0)]
    )
    assert found.schema == METRICS.polars
    assert found.select("tenant_hash", "name", "part", "value", "unit", "window_days").rows() == [
        ("", "calls", "", 5.0, "calls", 30.0),
        ("hash-of-t", "score_p50", "fact", 0.5, "score", None),
    ]


def test_the_same_night_gives_the_same_ids_and_another_one_others() -> None:
    told = [(None, "calls", "", 5.0), ("t", "calls", "", 4.0), (None, "served_ratio", "fact", 0.1)]
    first, again = rows_of(told), rows_of([(t, n, p, v + 1) for t, n, p, v in reversed(told)])
    later = rows_of(told, NOON + timedelta(days=1))
    assert first["metric_id"].to_list() == again["metric_id"].to_list()
    assert pl.concat([first, later])["metric_id"].n_unique() == 6


def test_every_measure_is_defined_in_the_docs_with_its_unit() -> None:
    lines = [line.split("|") for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")]
    told = {
        name.strip(" `"): cells[2].strip()
        for cells in lines
        for name in cells[1].split(",")
        if len(cells) > 4
    }
    assert {name: told.get(name) for name in UNITS} == UNITS
    assert set(STATES) <= set(UNITS)


def memories(count: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "memory_id": [ids.digest(str(n)) for n in range(count)],
            "tenant_id": ["t"] * count,
            "kind": ["conversation"] * count,
            "importance": [n / max(count, 1) for n in range(count)],
            "event_at": [NOON] * count,
        },
        schema_overrides={"event_at": pl.Datetime("us", "UTC"), "importance": pl.Float32},
    )


def test_a_sample_of_memories_is_of_about_the_share_and_grows_with_it() -> None:
    rows = memories(4_000)
    small, large = (
        set(rows.filter(scores.in_sample("memory_id", ratio))["memory_id"]) for ratio in (0.1, 0.25)
    )
    assert small < large
    assert 300 < len(small) < 500
    assert rows.filter(scores.in_sample("memory_id", 1.0)).height == 4_000
    assert rows.filter(scores.in_sample("memory_id", 0.0)).is_empty()


def test_scores_count_accesses() -> None:
    rows = memories(3)
    name = rows["memory_id"][0]
    access = pl.DataFrame([("t", name, 49, NOON)], schema=ACCESS_SCHEMA, orient="row")
    as_of = NOON + timedelta(days=7)
    scored = scores.with_score(rows.lazy(), access.lazy(), Policy().decay, as_of)
    # importance 0, 1/3, 2/3; recency 0.5 after a half-life; 49 accesses are a frequency of 1
    assert scored["score"].to_list() == pytest.approx([0.325, 0.5 / 3 + 0.175, 1 / 3 + 0.175], abs=1e-6)
    (found,) = scores.scores(scored, []).rows()
    assert found == pytest.approx((3, 0.325, 0.5 / 3 + 0.175, 1 / 3 + 0.175), abs=1e-6)


def ask(name: str, table: str, rows: pl.DataFrame, **parameters: Any) -> list[tuple[Any, ...]]:
    wanted = queries.statement(name)
    return queries.run(wanted, {table: rows.select(wanted.inputs[table])}, parameters).rows()


def test_what_retention_took_day_by_day() -> None:
    lines = [
        (-3, "t", "episodes", "expired", 9),
        (-1, "t", "episodes", "expired", 2),
        (-1, "t", "episodes", "expired", 3),
        (-1, "u", "facts", "over_capacity", 1),
        (-1, "t", "recalls", "expired", 70),
        (-1, "t", "claims", "expired", 80),
        (0, "t", "episodes", "cold", 4),
        (0, "t", "episodes", "stale", 0),
        (1, "t", "episodes", "stale", 6),
    ]
    rows = frame(
        REMOVALS,
        [
            {"run_id": f"r{i}", "as_of_at": NOON + timedelta(days=day), "tenant_hash": who, "table": table,
             "reason": reason, "rows_removed": count}
            for i, (day, who, table, reason, count) in enumerate(lines)
        ],
    )  # fmt: skip
    found = ask("removed_by_day", "removals", rows, from_at=NOON - timedelta(days=3), until_at=NOON)
    assert [(at.day, *rest) for at, *rest in found] == [
        (31, "t", "episodes", "expired", 5),
        (31, "u", "facts", "over_capacity", 1),
        (1, "t", "episodes", "cold", 4),
    ]


def test_what_landed_day_by_day() -> None:
    lines = [(-3, "ingest", "done", 9), (-1, "ingest", "done", 2), (-1, "ingest", "done", 3),
             (-1, "ingest", "failed", 5), (0, "embed", "done", 7), (1, "ingest", "done", 8)]  # fmt: skip
    rows = frame(
        RUNS,
        [
            {"run_id": f"r{i}", "step": step, "state": state, "as_of_at": NOON + timedelta(days=day),
             "rows_out": count}
            for i, (day, step, state, count) in enumerate(lines)
        ],
    )  # fmt: skip
    found = ask("landed_by_day", "runs", rows, from_at=NOON - timedelta(days=3), until_at=NOON)
    assert [(at.day, count) for at, count in found] == [(31, 5)]


def test_measures_night_by_night() -> None:
    nights = [
        rows_of([(None, "calls", "", n), ("t", "calls", "", 9.0)], NOON + timedelta(days=n))
        for n in (2, 1, 3)
    ]
    found = ask(
        "metrics_by_night", "metrics", pl.concat(nights), tenant_hash="", until_at=NOON + timedelta(days=2)
    )
    assert [(at.day, *rest) for at, *rest in found] == [
        (2, "calls", "", 1.0, "calls"),
        (3, "calls", "", 2.0, "calls"),
    ]
