"""``tau-bench``: results with a reward, and few-shot dialogues."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect
from transforms.readers.tau_bench import TauBench

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "tau-bench.json"
NAME = "tau-bench"
DIALOGUE = {
    "messages_display": "user: My ferry is late.\nassistant: None\ntool: Error: no such ferry\n"
    "assistant: Which route?\n\nsystem: is up\nuser: Sund to Korva. ###STOP###\n"
}


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    one, two = dict.fromkeys(str(d["session_id"]) for d in found.drafts)
    rows = [
        (d["natural_id"], d["kind"], d["role"], d["tool_name"], d["outcome"], d["source_line"])
        for d in found.drafts
    ]
    assert rows == [
        (f"{one}/0", None, "system", None, None, 1),
        (f"{one}/1", None, "user", None, None, 1),
        (f"{one}/call_a1", "action", "tool", "find_booking", None, 1),
        (f"{one}/4", None, "assistant", None, None, 1),
        (f"{one}/5", None, "user", None, None, 1),
        (f"{one}/call_a2", "action", "tool", "cancel_booking", None, 1),
        (f"{one}/8", None, "assistant", None, None, 1),
        (f"{one}/reward", "outcome", "evaluator", None, "success", 1),
        (f"{two}/0", None, "system", None, None, 2),
        (f"{two}/1", None, "user", None, None, 2),
        (f"{two}/call_a1", "action", "tool", "move_booking", "failure", 2),
        (f"{two}/4", None, "assistant", None, None, 2),
        (f"{two}/5", None, "user", None, None, 2),
        (f"{two}/reward", "outcome", "evaluator", None, "failure", 2),
    ]
    assert found.drafts[2]["content"] == '{"booking": "LL-204", "route": "Sund-Korva", "paid": 64}'
    assert found.drafts[10]["failure_reason"] == "Error: no seats left on friday"
    assert column(found.drafts, "user_id") == ["ines_varga_204"] * 8 + ["odd_nilsen_377"] * 6
    assert found.drafts[7]["content"] == "Task 4: reward 1.0"
    assert json.loads(str(found.drafts[13]["metadata"])) == {
        "reward": 0.0,
        "task": {"instruction": "Move to Friday or keep the day.", "user_id": "odd_nilsen_377"},
        "task_id": 9,
        "trial": 0,
    }
    assert [d["is_injected"] for d in found.drafts if d["role"] == "system"] == [True, True]
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"stop_mark": 1}, 15)


@pytest.mark.parametrize("reward", [0.5, 1, 0, True, None, "1", float("nan")])
def test_rewards(reward: object) -> None:
    value = {"task_id": 1, "reward": reward, "traj": [{"role": "user", "content": "x"}]}
    outcomes = column(read(NAME, json.dumps([value])).drafts[1:], "outcome")
    told = {0.5: ["partial"], 1: ["success"], 0: ["failure"]}
    assert outcomes == ([] if isinstance(reward, bool) else told.get(reward, []))  # type: ignore[call-overload]


def test_a_try_that_broke_off_says_why() -> None:
    value = {"task_id": 1, "reward": 0.0, "traj": [], "info": {"error": "out of tokens", "traceback": "..."}}
    found = read(NAME, json.dumps([value]))
    assert column(found.drafts, "failure_reason") == ["out of tokens"]
    assert found.left_out == {"empty_conversation": 1}


def test_simulations_of_the_second_version() -> None:
    def said(role: str, second: int, **more: object) -> dict[str, object]:
        return {"role": role, "content": None, "timestamp": f"2026-02-03T10:00:{second:02d}", **more}

    call = {"id": "c1", "name": "find", "arguments": {"q": "Korva"}, "requestor": "assistant"}
    other = {"id": "c2", "name": "toggle", "arguments": {}, "requestor": "user"}
    simulation = {
        "id": "sim-1",
        "task_id": "7",
        "trial": 2,
        "end_time": "2026-02-03T10:01:00",
        "termination_reason": "max_steps",
        "reward_info": {"reward": 0.0},
        "messages": [
            said("assistant", 0, content="Hi! How can I help?"),
            said("user", 1, content="Find the ferry."),
            said("assistant", 2, tool_calls=[call]),
            said("tool", 3, id="c1", content="none", requestor="assistant", error=True),
            said("user", 4, tool_calls=[other]),
            said("tool", 5, tool_messages=[said("tool", 5, id="c2", content="on", error=False)]),
        ],
    }
    file = {"timestamp": "x", "info": {}, "tasks": [{"user_scenario": {}}], "simulations": [simulation, 3]}
    found = read(NAME, json.dumps(file, indent=1))
    rows = [(d["natural_id"], d["role"], d["tool_name"], d["outcome"], d["event_at"]) for d in found.drafts]
    assert rows == [
        ("sim-1/0", "assistant", None, None, "2026-02-03T10:00:00"),
        ("sim-1/1", "user", None, None, "2026-02-03T10:00:01"),
        ("sim-1/c1", "tool", "find", "failure", "2026-02-03T10:00:02"),
        ("sim-1/c2", "tool", "toggle", "success", "2026-02-03T10:00:04"),
        ("sim-1/reward", "evaluator", None, "failure", "2026-02-03T10:01:00"),
    ]
    assert column(found.drafts, "content")[2:4] == ["none", "on"]
    assert found.drafts[4]["failure_reason"] == "max_steps"
    assert set(column(found.drafts, "user_id")) == {"sim-1"}
    assert column(found.refusals, "reason") == ["not_an_object"]
    for text in (json.dumps(file), json.dumps(file, indent=1), lines(simulation), json.dumps(simulation)):
        reader = detect(text.encode(), "")
        assert reader is not None
        assert reader.name == NAME
    assert read(NAME, lines(simulation)).drafts == found.drafts


def test_dialogues_show_results_without_their_calls() -> None:
    found = read(NAME, lines(DIALOGUE, {"messages_display": "no speaker"}, {"messages_display": None}))
    rows = sorted((d["turn_index"], d["role"], d["kind"], d["content"]) for d in found.drafts)  # type: ignore[type-var]
    assert rows == [
        (0, "user", None, "My ferry is late."),
        (1, "tool", "observation", "Error: no such ferry"),
        (2, "assistant", None, "Which route?"),
        (3, "system", None, "is up"),
        (4, "user", None, "Sund to Korva. ###STOP###"),
    ]
    assert found.left_out == {"unshown_call": 1}
    assert column(found.refusals, "reason") == ["unknown_record", "unknown_record"]


def test_detection() -> None:
    whole = json.loads(SAMPLE.read_bytes())
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps(whole), NAME),
        (lines(*whole), NAME),
        (lines(DIALOGUE), NAME),
        (json.dumps(DIALOGUE, indent=1), NAME),
        (json.dumps([{"task_id": 1, "reward": 2}]), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_grown_results_keep_the_ids_of_their_rows() -> None:
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, SAMPLE.read_bytes()).drafts}
    first = json.dumps(json.loads(SAMPLE.read_bytes())[:1])
    assert {(d["natural_id"], d["content"]) for d in read(NAME, first).drafts} < whole


def test_read_on_gives_the_rest() -> None:
    records: list[dict[str, Any]] = [DIALOGUE | {"n": n} for n in range(40)]
    data, policy = lines(*records).encode(), IngestPolicy(batch_rows=10)
    batches = list(TauBench().read(io.BytesIO(data), "f", policy))
    assert len(batches) > 4
    for count, batch in enumerate(batches[:-1], 1):
        assert batch.point is not None
        stream = io.BytesIO(data)
        stream.seek(batch.point.offset)
        rest = [d for b in TauBench().read_on(stream, "f", policy, batch.point) for d in b.drafts.to_dicts()]
        assert rest == [d for b in batches[count:] for d in b.drafts.to_dicts()]


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read(NAME, damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json(DIALOGUE, seed))


def test_the_real_dialogues(real_data: Path) -> None:
    data = (real_data / "formats" / "tau_bench" / "MockAirlineDomainEnv-few_shot.jsonl").read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], "few_shot.jsonl")
    assert reader is not None
    assert reader.name == NAME
    found = read(NAME, data)
    assert Counter(column(found.drafts, "role")) == {"user": 136, "assistant": 124, "tool": 99}
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"unshown_call": 104}, 463)
    assert len(set(column(found.drafts, "session_id"))) == data.count(b"\n") + (not data.endswith(b"\n"))
    assert column(found.drafts, "user_id") == column(found.drafts, "session_id")
    assert len(set(column(found.drafts, "natural_id"))) == len(found.drafts)
