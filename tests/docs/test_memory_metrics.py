"""The snippets of docs/memory-metrics.md, on a table of two nights."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from lake import tables
from lake.lake import init_lake
from tests.docs.test_snippets import check, run_page
from transforms.health.metric_rows import VALUES_SCHEMA, metric_rows
from transforms.schemas import METRICS

NIGHTS = {
    29: {"hit_ratio": 0.5, "answered_ratio": 0.9, "seconds_p95": 0.25, "conversation": 0.75, "fact": 0.25},
    30: {
        "hit_ratio": 0.75,
        "answered_ratio": 0.8,
        "seconds_p95": 0.125,
        "conversation": 0.625,
        "fact": 0.375,
    },
}  # fmt: skip


def test_snippets_about_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = init_lake(str(tmp_path / "memory"), 2)
    for day, measures in NIGHTS.items():
        told = [
            (tenant, name, "", value + (0 if tenant is None else 9))
            if name.startswith(("hit", "answered", "seconds"))
            else (tenant, "served_ratio", name, value)
            for name, value in measures.items()
            for tenant in (None, "acme")
        ]
        at = datetime(2026, 6, day, 23, tzinfo=UTC)
        rows = pl.DataFrame(told, schema=VALUES_SCHEMA, orient="row")
        made = metric_rows(rows, {"acme": "h"}, window_days=30.0, as_of=at, measured_at=at)
        tables.append(lake, METRICS, made)
    monkeypatch.chdir(tmp_path)
    printed = run_page("memory-metrics.md")
    assert len(printed) == 2
    check(printed)
