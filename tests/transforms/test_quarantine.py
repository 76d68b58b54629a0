"""Quarantine: as many rows as refusals, redacted, named by place and text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from transforms.policy import RedactPolicy
from transforms.quarantine import quarantined
from transforms.schemas import QUARANTINE, REFUSALS

AS_OF = datetime(2026, 6, 30, tzinfo=UTC)
BASE: dict[str, Any] = {
    "reason": "bad_time",
    "detail": "The time is not ISO 8601.",
    "raw": '{"content": "a"}',
    "tenant_id": "acme",
    "user_id": None,
    "source_file": "a.jsonl",
    "source_line": 1,
}


def run(*rows: dict[str, Any], policy: RedactPolicy | None = None) -> pl.DataFrame:
    frame = pl.DataFrame([{**BASE, **row} for row in rows], schema=REFUSALS.polars)
    return quarantined(frame, source="test", policy=policy or RedactPolicy(), as_of=AS_OF, buckets=4)


def test_rows_conform_and_are_as_many() -> None:
    done = run({}, {}, {"tenant_id": None})
    QUARANTINE.conform(done)
    assert done.height == 3
    assert done["retry_count"].to_list() == [0, 0, 0]
    assert done["tenant_id"].to_list() == ["acme", "acme", None]


def test_no_refusals_give_no_rows() -> None:
    assert run().schema == QUARANTINE.polars


def test_an_id_changes_with_place_reason_and_text_and_with_nothing_else() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"reason": "x"},
        {"raw": "x"},
        {"tenant_id": "x"},
        {"source_file": "x"},
        {"source_line": 2},
    ]
    assert run(*changes)["quarantine_id"].n_unique() == len(changes)
    assert run({}, {"detail": "x"}, {"user_id": "x"})["quarantine_id"].n_unique() == 1


def test_the_raw_row_is_redacted_even_when_cut() -> None:
    raw = '{"content": "write to ana.lopez@example.com, card 4111 1111 1111 1'
    assert "ana.lopez" not in run({"raw": raw})["raw"][0]
    assert run({"raw": raw}, policy=RedactPolicy(is_enabled=False))["raw"][0] == raw
