"""``langsmith-runs``: parts put together, history landed once, tools joined with their results."""

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

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "langsmith-runs.jsonl"
REAL = Path(__file__).parents[4] / "shared" / "data" / "formats" / "langsmith_runs"
RUNS: list[dict[str, Any]] = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
ROOT = "r0"
ORDER = "20260504T090000000000Zr0"


def run(own: str = ROOT, /, **fields: Any) -> dict[str, Any]:
    order = ORDER if own == ROOT else f"{ORDER}.20260504T090001000000Z{own}"
    return {
        "id": own,
        "trace_id": ROOT,
        "dotted_order": order,
        "run_type": "llm",
        "name": "model",
        "start_time": "2026-05-04T09:00:01Z",
        "end_time": "2026-05-04T09:00:02Z",
        "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "Ho"}}]},
        "extra": {},
        **fields,
    }


def told(*records: object) -> list[tuple[object, ...]]:
    """Role, text, time and outcome of each row in its place."""
    rows = sorted(read("langsmith-runs", lines(*records)).drafts, key=lambda d: str(d["turn_index"]))
    return [(d["role"], d["content"], d["event_at"], d["outcome"]) for d in rows]


def test_the_sample_row_by_row() -> None:
    found = read("langsmith-runs", SAMPLE.read_bytes())
    names = ("natural_id", "role", "content", "event_at")
    action = "thread-41/da2ba1d14a5d27f0/0"
    assert [tuple(str(d[n]) for n in names) for d in found.drafts] == [
        ("thread-41/a133ae621f496a87/0", "system", "You plan trips.", "2026-05-04T09:00:01.000000Z"),
        ("thread-41/h-1", "user", "Is there a night train to Linz?", "2026-05-04T09:00:01.000000Z"),
        (
            "thread-41/a-2",
            "assistant",
            "The night train is full, the 21:40 has seats.",
            "2026-05-04T09:00:05.000000Z",
        ),
        (action, "tool", "no seats on the night train", "2026-05-04T09:00:02.000000Z"),
    ]
    names = ("tool_name", "tool_arguments", "outcome", "failure_reason")
    assert tuple(found.drafts[3][n] for n in names) == (
        "find_trains",
        '{"night":true,"to":"Linz"}',
        "failure",
        "NoSeats('night train')",
    )
    assert column(found.drafts, "parent_id") == [None, None, action, "thread-41/h-1"]
    assert column(found.drafts, "turn_index") == [0, 1, 3, 2]
    assert {(d["session_id"], d["user_id"]) for d in found.drafts} == {("thread-41", "u-ilka")}
    assert column(found.drafts, "is_injected") == [True, None, None, None]
    kept = json.loads(str(found.drafts[2]["metadata"]))
    assert (kept["model"], kept["project"], kept["tags"], kept["span_name"]) == (
        "planner-2", "trips", ["web"], "ChatPlanner",
    )  # fmt: skip
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"repeated": 3, "span": 1}, 8)


def test_shapes_of_one_run_are_one() -> None:
    expected = [
        ("user", "Hi", "2026-05-04T09:00:01Z", None),
        ("assistant", "Ho", "2026-05-04T09:00:02Z", None),
    ]
    whole = run()
    began = {k: v for k, v in whole.items() if k not in ("end_time", "outputs")}
    ended = {k: whole[k] for k in ("dotted_order", "trace_id", "end_time", "outputs")}  # as JS patches: no id
    written = {k: json.dumps(v) if k in ("inputs", "outputs", "extra") else v for k, v in whole.items()}
    for records in (
        [whole],
        [{"post": [began], "patch": [ended]}],
        [{"post": [began]}, {"post": [], "patch": [ended]}],
        [began, ended],
        [ended, began],
        [written],
        [whole, whole],
        [{"runs": [whole]}],
    ):
        assert told(*records) == expected
        if "run_type" in json.dumps(records[0]):
            assert detect(lines(*records).encode(), "x").name == "langsmith-runs"  # type: ignore[union-attr]


def test_a_run_that_was_never_ended_lands_what_it_was_asked() -> None:
    assert told({k: v for k, v in run().items() if k not in ("end_time", "outputs")}) == [
        ("user", "Hi", "2026-05-04T09:00:01Z", None)
    ]


def test_children_inside_runs_and_prompts_without_roles() -> None:
    child = run("r1", inputs={"prompts": ["Say ho"]}, outputs={"generations": [[{"text": "Ho"}]]})
    del child["dotted_order"], child["trace_id"]
    root = run(run_type="chain", inputs={"question": "x"}, outputs={"answer": "y"}, child_runs=[child, 7])
    found = read("langsmith-runs", lines(root))
    assert [(d["role"], d["content"]) for d in found.drafts] == [("user", "Say ho"), ("assistant", "Ho")]
    assert column(found.refusals, "reason") == ["not_an_object"]


def test_of_a_trace_without_a_model_the_root_speaks() -> None:
    tool = run("r1", run_type="tool", name="find", inputs={"input": "ho"}, outputs={"output": "Error: none"})
    root = run(run_type="chain", inputs={"question": "Where?"}, outputs={"answer": "Nowhere."})
    assert [row[:2] + row[3:] for row in told(root, tool)] == [
        ("user", "Where?", None),
        ("tool", "Error: none", "failure"),
        ("assistant", "Nowhere.", None),
    ]


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"id": None, "dotted_order": None}, "no_id"),
        ({"id": {}}, "bad_field_type"),
        ({"inputs": [1]}, "bad_field_type"),
        ({"inputs": "{"}, "truncated_json"),
        ({"start_time": [1]}, "bad_field_type"),
        ({"run_type": 7}, "bad_field_type"),
    ],
)
def test_a_faulty_run_is_refused_alone(odd: dict[str, Any], reason: str) -> None:
    found = read("langsmith-runs", lines(run(**odd), run("r2", trace_id="t2", dotted_order=None)))
    assert column(found.refusals, "reason") == [reason]
    assert len(found.drafts) == 2


def test_a_grown_export_keeps_its_rows() -> None:
    whole = {d["natural_id"]: d["content"] for d in read("langsmith-runs", lines(*RUNS)).drafts}
    for count in range(1, len(RUNS)):
        part = {d["natural_id"]: d["content"] for d in read("langsmith-runs", lines(*RUNS[:count])).drafts}
        assert part.keys() <= whole.keys()


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_damage_loses_no_row_and_raises_nothing(seed: int) -> None:
    read("langsmith-runs", damaged_bytes(SAMPLE.read_bytes(), seed))
    read("langsmith-runs", damaged_json(RUNS, seed))
    read("langsmith-runs", damaged_json({"post": RUNS[:2], "patch": RUNS[2:]}, seed))


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not there")
def test_real_files() -> None:
    files = sorted(REAL.rglob("*wrap_openai*.json"))
    assert len(files) == 8
    for file in files:
        data = file.read_bytes()
        assert detect(data, file.name).name == "langsmith-runs"  # type: ignore[union-attr]
        found = read("langsmith-runs", data)
        assert (column(found.drafts, "role"), found.refusals, found.left_out) == (
            ["user", "assistant"],
            [],
            {},
        )
        is_howdy = "reasoning" not in file.name
        assert found.drafts[0]["content"] == "howdy" or not is_howdy
        assert str(found.drafts[1]["event_at"]) > str(found.drafts[0]["event_at"])
        assert found.drafts[1]["parent_id"] == found.drafts[0]["natural_id"]
        for seed in range(20):
            read("langsmith-runs", damaged_bytes(data, seed))


def test_of_a_broken_batch_the_whole_runs_land() -> None:
    batch = json.dumps({"post": RUNS, "patch": []})
    whole = {d["natural_id"] for d in read("langsmith-runs", batch).drafts}
    cut = read("langsmith-runs", batch[:-900])
    assert {d["natural_id"] for d in cut.drafts} == whole
    assert column(cut.refusals, "reason") == ["truncated_json"]
    bad = read("langsmith-runs", batch.replace('"Linz"', 'Linz"', 1))
    assert column(bad.refusals, "reason") == ["invalid_json"]
    assert len(bad.drafts) == len(whole)
    assert '"dotted_order"' in str(bad.refusals[0]["raw"])
