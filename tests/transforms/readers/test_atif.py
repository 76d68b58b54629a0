"""``atif``: steps, their tool calls and results, subagents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "atif.json"
NAME = "atif"


def sample() -> dict[str, Any]:
    return dict(json.loads(SAMPLE.read_bytes()))


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    rows = [(d["natural_id"], d["role"], d["speaker"], d["tool_name"], d["outcome"]) for d in found.drafts]
    main, frost = "garden-plan-1-main", "garden-plan-1-frost"
    assert rows == [
        (f"{main}/1", "system", None, None, None),
        (f"{main}/2", "user", None, None, None),
        (f"{main}/3", "assistant", "planter", None, None),
        (f"{main}/c1", "tool", None, "plants", None),
        (f"{main}/c2", "tool", None, "frost_dates", "failure"),
        (f"{main}/4", "assistant", "planter", None, None),
        (f"{main}/5", "user", None, None, None),
        (f"{frost}/1", "user", None, None, None),
        (f"{frost}/2", "assistant", "weather", None, None),
    ]
    assert column(found.drafts, "session_id") == ["garden-plan-1"] * 7 + [frost] * 2
    assert column(found.drafts, "turn_index") == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    call = found.drafts[3]
    assert (call["content"], call["tool_arguments"], call["parent_id"], call["event_at"]) == (
        "mint, chives, lovage",
        '{"light":"shade"}',
        f"{main}/3",
        "2026-03-09T08:00:09Z",
    )
    assert found.drafts[4]["failure_reason"] == "Error: no station of that name"
    assert column(found.drafts, "is_injected") == [True] + [None] * 8
    assert json.loads(str(found.drafts[2]["metadata"])) == {
        "agent_version": "0.3.1",
        "model": "quill-2",
        "schema_version": "ATIF-v1.7",
        "trajectory_id": main,
    }
    assert json.loads(str(found.drafts[7]["metadata"]))["parent_trajectory_id"] == main
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"thinking": 1}, 10)


def test_copied_steps_images_loose_results_and_repeated_call_ids() -> None:
    calls = [{"tool_call_id": "c", "function_name": "f"}]
    value = {
        "schema_version": "ATIF-v1.5",
        "session_id": "s",
        "steps": [
            {"step_id": 1, "source": "user", "message": "old", "is_copied_context": True},
            {
                "step_id": 2,
                "source": "user",
                "message": [{"type": "text", "text": "Look"}, {"type": "image"}],
            },
            {"step_id": 3, "source": "user", "message": [{"type": "image"}]},
            {"step_id": 4, "source": "agent", "message": ""},
            {"step_id": 5, "source": "agent", "message": "", "tool_calls": calls},
            {
                "step_id": 6,
                "source": "agent",
                "message": "",
                "tool_calls": calls,
                "observation": {
                    "results": [
                        {"source_call_id": "c", "content": "r", "extra": {"status": "ok"}},
                        {"content": [{"type": "text", "text": "seen"}]},
                        {"content": None},
                    ]
                },
            },
        ],
    }
    found = read(NAME, json.dumps(value))
    rows = [(d["natural_id"], d["kind"], d["content"], d["outcome"]) for d in found.drafts]
    assert rows == [
        ("s/2", None, "Look", None),
        ("s/c", "action", "", None),
        ("s/6/call/0", "action", "r", "success"),
        ("s/6/result/0", "observation", "seen", None),
    ]
    assert found.left_out == {
        "copied_context": 1,
        "no_text_part": 1,
        "empty_message": 1,
        "empty_result": 1,
    }


def test_faults_are_refused_alone() -> None:
    value = sample()
    value["steps"][1]["message"] = 7
    value["steps"][3] = None
    value["subagent_trajectories"][0]["steps"] = {}
    found = read(NAME, lines(value, {"schema_version": "ATIF-v1.0", "steps": 3}, 5))
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (2, "bad_field_type"),
        (3, "not_an_object"),
    ]
    assert len(found.drafts) == 5


def test_detection() -> None:
    whole = sample()
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps(whole, sort_keys=True), NAME),
        (lines(whole, whole), NAME),
        (json.dumps([whole]), NAME),
        (json.dumps({"schema_version": "1", "steps": []}), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_trajectory_keeps_the_ids_of_its_rows() -> None:
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, SAMPLE.read_bytes()).drafts}
    for count in range(1, 5):
        value = sample()
        value["steps"] = value["steps"][:count]
        del value["subagent_trajectories"]
        assert {(d["natural_id"], d["content"]) for d in read(NAME, json.dumps(value)).drafts} < whole


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read(NAME, damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))


def test_the_real_trajectory(real_data: Path) -> None:
    name = "nemo_relay_atif_v1.7_real_redacted.json"
    folder = real_data / "formats" / "chat_export_samples" / "tests" / "fixtures" / "hermes" / "atif"
    data = (folder / name).read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], name)
    assert reader is not None
    assert reader.name == NAME
    found = read(NAME, data)
    tools = [d["tool_name"] for d in found.drafts if d["kind"] == "action"]
    assert tools == ["process", "terminal", "search_files", "search_files"]
    assert len(set(column(found.drafts, "natural_id"))) == len(found.drafts) == 9
    assert (found.refusals, found.left_out) == ([], {})
