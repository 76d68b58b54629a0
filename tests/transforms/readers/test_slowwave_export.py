"""Episodes of an export: the rows they were, whatever form they come in; anything else is refused alone."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.flows.lakes import REPOSITORY
from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.readers.registry import detect

SAMPLE = REPOSITORY / "samples" / "formats" / "slowwave-export.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
NAME = "slowwave-export"


def found(data: bytes | str) -> list[tuple[Any, ...]]:
    told = read(NAME, data)
    assert told.refusals == []
    names = (
        "kind",
        "role",
        "content",
        "event_at",
        "is_injected",
        "tags",
        "tool_name",
        "outcome",
        "turn_index",
    )
    return [tuple(one[name] for name in names) for one in told.drafts]


WANTED = [
    ("conversation", "user", "Which ferry goes to the old pier on Sunday? Write to [REDACTED:email].",
     "2026-06-01T08:00:00Z", False, [], None, None, 0),
    ("action", "tool", "No sailing found.", "2026-06-01T08:00:05Z", False, [], "timetable", "failure", 1),
    ("conversation", "assistant", "The ferry at nine goes there.", "2026-06-01T08:00:09Z", True, ["replaced"],
     None, None, 2),
    ("conversation", "assistant", "No ferry goes there on Sunday.", "2026-06-01T08:00:09Z", False, [], None,
     None, 2),
]  # fmt: skip


def parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(sink)
    return sink.getvalue()


@pytest.mark.parametrize("data", [SAMPLE.read_bytes(), json.dumps(ROWS).encode(), parquet(ROWS)])
def test_every_form_gives_the_same_rows(data: bytes) -> None:
    assert found(data) == WANTED
    drafts = read(NAME, data).drafts
    assert column(drafts, "natural_id") == [None] * 4
    claims = [json.loads(str(claim)) for claim in column(drafts, "exported")]
    names = ("episode_id", "source", "source_file", "source_line", "sensitivity", "redactions")
    assert claims == [{name: one[name] for name in names} for one in ROWS]
    assert column(drafts, "metadata") == [None, None, None, '{"model": "m-1"}']


def test_it_is_told_by_its_columns_and_takes_nothing_of_others() -> None:
    def name_of(data: str) -> str | None:
        reader = detect(data.encode(), "x.jsonl")
        return reader.name if reader else None

    assert name_of(lines(*ROWS)) == name_of(json.dumps(ROWS)) == NAME
    assert name_of(lines({"episode_id": "a", "content": "x", "event_at": "2026-06-01"})) == "slowwave-jsonl"
    fact = {"fact_id": "f", "tenant_id": "acme", "fact": "x", "trust": 1.0, "source_refs": []}
    assert name_of(json.dumps([fact], indent=1)) != NAME


def test_sealed_text_is_no_text() -> None:
    told = read(NAME, lines({**ROWS[0], "content": "~sw1.AAAA"}, ROWS[1]))
    assert (column(told.refusals, "reason"), len(told.drafts)) == (["sealed_text"], 1)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000))
def test_damage_raises_nothing_and_loses_no_row(seed: int) -> None:
    read(NAME, damaged_bytes(SAMPLE.read_bytes(), seed))
    read(NAME, damaged_bytes(parquet(ROWS), seed))
    read(NAME, damaged_json(ROWS, seed))
