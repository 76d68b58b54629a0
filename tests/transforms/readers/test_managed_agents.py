"""``managed-agent-events``: what was sent and came back lands once, tools with their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.readers.registry import detect

NAME = "managed-agent-events"
SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / f"{NAME}.jsonl"
REAL = Path(__file__).parents[4] / "shared" / "data" / "formats" / "langsmith_runs"
CALLS: list[Any] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
EVENTS = [call[1] for call in CALLS if call[0].endswith(".stream")]


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    names = ("natural_id", "role", "content", "tool_name", "outcome", "event_at", "parent_id")
    assert [tuple(d[n] for n in names) for d in found.drafts] == [
        ("sesn_1/system", "system", "You plan trips.", None, None, "2026-06-02T08:00:00Z", None),
        ("sevt_1", "user", "Which day is market day in Steyr?", None, None, "2026-06-02T08:00:01Z", None),
        (
            "sevt_3",
            "tool",
            "Thursday and Saturday",
            "market_days",
            "success",
            "2026-06-02T08:00:03Z",
            "sevt_1",
        ),
        ("sevt_5", "assistant", "Thursday and Saturday.", None, None, "2026-06-02T08:00:06Z", "sevt_1"),
    ]
    assert {(d["session_id"], d["agent_id"]) for d in found.drafts} == {("sesn_1", "agent_1")}
    assert column(found.drafts, "is_injected") == [True, None, None, None]
    assert json.loads(str(found.drafts[3]["metadata"])) == {
        "agent": "Planner",
        "model": "planner-2",
        "title": "Trip desk",
    }
    assert found.left_out == {"bookkeeping": 1, "repeated": 2, "thinking": 1}
    assert (found.refusals, found.rows_in) == ([], 8)


def test_events_alone_are_the_same_rows() -> None:
    alone = lines(*EVENTS)
    assert detect(alone.encode(), "x").name == NAME  # type: ignore[union-attr]
    assert detect(SAMPLE.read_bytes(), "x").name == NAME  # type: ignore[union-attr]
    found = read(NAME, alone)
    assert column(found.drafts, "natural_id") == ["sevt_1", "sevt_3", "sevt_5"]
    assert column(read(NAME, lines({**EVENTS[0], "session_id": "s"})).drafts, "session_id") == ["s"]


def test_what_was_sent_and_never_came_back_lands_without_a_time() -> None:
    found = read(NAME, lines(CALLS[0], CALLS[1], CALLS[1], CALLS[2]))
    assert [(d["natural_id"], d["content"], d["event_at"]) for d in found.drafts[1:]] == [
        ("sevt_1", "Which day is market day in Steyr?", "2026-06-02T08:00:01Z"),
        (None, "Which day is market day in Steyr?", None),
    ]


def test_calls_without_results_results_without_calls_and_failures() -> None:
    call, result = EVENTS[2], EVENTS[3]
    assert column(read(NAME, lines(call)).drafts, "outcome") == [None]
    assert column(read(NAME, lines(result)).drafts, "kind") == ["observation"]
    assert column(read(NAME, lines(result, call)).drafts, "outcome") == ["success"]
    [failed] = read(NAME, lines(call, {**result, "is_error": True})).drafts
    assert (failed["outcome"], failed["failure_reason"]) == ("failure", "Thursday and Saturday")


def test_faulty_lines_are_refused_alone() -> None:
    odd = [
        {**EVENTS[0], "content": 7},
        {**EVENTS[0], "processed_at": []},
        [1],
        "x",
        {**EVENTS[2], "name": {}},
    ]
    found = read(NAME, lines(*odd, EVENTS[0]) + "{")
    assert sorted(map(str, column(found.refusals, "reason"))) == [
        "bad_field_type",
        "bad_field_type",
        "bad_field_type",
        "not_an_object",
        "not_an_object",
        "truncated_json",
    ]
    assert column(found.drafts, "natural_id") == ["sevt_1"]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_damage_loses_no_row_and_raises_nothing(seed: int) -> None:
    read(NAME, damaged_bytes(SAMPLE.read_bytes(), seed))
    read(NAME, damaged_json(CALLS, seed))
    value = json.loads(damaged_json(CALLS, seed))
    read(NAME, lines(*(value if isinstance(value, list) else [value])))


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not there")
@pytest.mark.parametrize(
    ("kind", "tool", "rows_in"),
    [("builtin", "bash", 13), ("custom", "get_weather", 18), ("mcp", "web_search_exa", 21)],
)
def test_real_files(kind: str, tool: str, rows_in: int) -> None:
    [file] = REAL.rglob(f"anthropic_managed_{kind}_tools.jsonl")
    assert detect(file.read_bytes(), file.name).name == NAME  # type: ignore[union-attr]
    found = read(NAME, file.read_bytes())
    assert column(found.drafts, "role") == ["system", "user", "tool", "assistant"]
    assert (found.drafts[2]["tool_name"], found.drafts[2]["outcome"]) == (tool, "success")
    assert found.drafts[2]["parent_id"] == found.drafts[1]["natural_id"]
    assert (found.refusals, found.rows_in) == ([], rows_in)
    for seed in range(40):
        read(NAME, damaged_bytes(file.read_bytes(), seed))
