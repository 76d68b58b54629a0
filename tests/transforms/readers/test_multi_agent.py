"""``who-and-when``: several agents, the code they ran, and whose mistake it was."""

from __future__ import annotations

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

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "who-and-when.json"
NAME = "who-and-when"


def sample() -> dict[str, Any]:
    return dict(json.loads(SAMPLE.read_bytes()))


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    log = str(found.drafts[0]["session_id"])
    rows = [(d["natural_id"], d["kind"], d["role"], d["speaker"], d["outcome"]) for d in found.drafts]
    assert rows == [
        (f"{log}/prompt/Catalogue_Expert", None, "system", "Catalogue_Expert", None),
        (f"{log}/prompt/Data_Expert", None, "system", "Data_Expert", None),
        (f"{log}/question", None, "user", None, None),
        (f"{log}/0", None, "assistant", "Catalogue_Expert", None),
        (f"{log}/1", None, "assistant", "Data_Expert", None),
        (f"{log}/2", "action", "tool", "Computer_terminal", "failure"),
        (f"{log}/3", None, "assistant", "Data_Expert", None),
        (f"{log}/4", "action", "tool", "Computer_terminal", "success"),
        (f"{log}/5", None, "assistant", "Catalogue_Expert", None),
        (f"{log}/end", "outcome", "annotator", None, "failure"),
    ]
    assert column(found.drafts, "is_injected") == [True, True] + [None] * 8
    assert column(found.drafts, "turn_index") == list(range(10))
    failed, end = found.drafts[5], found.drafts[9]
    assert (failed["failure_reason"], failed["parent_id"]) == ("KeyError: 'subject'", f"{log}/1")
    [block] = json.loads(str(failed["tool_arguments"]))["blocks"]
    assert block["language"] == "python"
    assert block["code"].endswith("print(sum(r['subject'] == 'lighthouse' for r in rows))\n")
    assert end["content"] == end["failure_reason"] == sample()["mistake_reason"]
    assert json.loads(str(end["metadata"])) == {
        "ground_truth": "3",
        "level": "1",
        "mistake_agent": "Data_Expert",
        "mistake_step": "3",
        "task_id": "prints-08",
    }
    assert (found.refusals, found.left_out, found.rows_in) == ([], {}, 10)


def test_magentic_one_names_its_agents_in_the_role() -> None:
    history = [
        {"role": "human", "content": "Which pier is the oldest?"},
        {"role": "Orchestrator (thought)", "content": "Initial plan:\n\nWebSurfer asks the web."},
        {"role": "Orchestrator (thought)", "content": "Updated Ledger:\n{}"},
        {"role": "Orchestrator (thought)", "content": "Next speaker WebSurfer\nUserWarning"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Please look it up."},
        {"role": "WebSurfer", "content": "I typed 'oldest pier'. The page says 1814."},
        {"role": "Orchestrator (-> ComputerTerminal)", "content": "Run\n```sh\nls\n```\nplease."},
        {"role": "ComputerTerminal", "content": "The script ran, then exited with Unix exit code: 2\nno"},
        {"role": "Orchestrator (termination condition)", "content": "FINAL ANSWER: 1814"},
        {"role": "WebSurfer", "content": " "},
    ]
    value = {"question": "Which pier is the oldest?", "history": history, "is_corrected": True}
    found = read(NAME, json.dumps(value))
    rows = [(d["kind"], d["role"], d["speaker"], d["outcome"]) for d in found.drafts]
    assert rows == [
        (None, "user", None, None),
        (None, "assistant", "Orchestrator", None),
        (None, "assistant", "Orchestrator", None),
        ("observation", "tool", "WebSurfer", None),
        (None, "assistant", "Orchestrator", None),
        ("action", "tool", "ComputerTerminal", "failure"),
        (None, "assistant", "Orchestrator", None),
        ("outcome", "annotator", None, "success"),
    ]
    assert found.drafts[1]["content"] == "Initial plan:\n\nWebSurfer asks the web."
    assert found.drafts[5]["failure_reason"] == "no"
    assert json.loads(str(found.drafts[5]["tool_arguments"])) == {
        "blocks": [{"code": "ls\n", "language": "sh"}]
    }
    assert found.left_out == {"thinking": 1, "bookkeeping": 1, "empty_message": 1}
    assert found.drafts[-1]["parent_id"] is None


@pytest.mark.parametrize(
    ("step", "parent", "left_out"),
    [
        ("1", "/1", {}),
        (1, "/1", {}),
        ("0", "/0", {"bookkeeping": 1}),
        *((step, None, {"bookkeeping": 1}) for step in (9, "-1", "second", None, True, "9" * 5_000)),
    ],
)
def test_a_mistake_stands_under_the_message_that_made_it(
    step: object, parent: str | None, left_out: dict[str, int]
) -> None:
    history = [
        {"role": "human", "content": "Which pier is the oldest?"},
        {"role": "Orchestrator (thought)", "content": "Next speaker WebSurfer"},
    ]
    value = {"history": history, "mistake_agent": "Orchestrator", "mistake_step": step}
    found = read(NAME, json.dumps(value | {"mistake_reason": "It should have read on."}))
    end = found.drafts[-1]
    assert end["parent_id"] == (None if parent is None else f"{end['session_id']}{parent}")
    assert found.left_out == left_out
    assert parent is None or end["parent_id"] in column(found.drafts, "natural_id")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('  File "count.py", line 1\n    n = 7,01\n        ^\nSyntaxError: no\n', "SyntaxError: no"),
        (
            "Traceback (most recent call last):\n"
            "  File \"a.py\", line 2, in <module>\n    go()\nKeyError: 'pier'\n1 page read\nall done\n",
            "KeyError: 'pier'",
        ),
        ("", "exit code 1"),
    ],
)
def test_why_code_failed_is_its_exception_not_what_it_printed(said: str, reason: str) -> None:
    answer = f"exitcode: 1 (execution failed)\nCode output: {said}"
    history = [{"role": "user", "name": "Computer_terminal", "content": answer}]
    [row] = read(NAME, json.dumps({"history": history, "question": ""})).drafts
    assert (row["outcome"], row["failure_reason"]) == ("failure", reason)


def test_faults_are_refused_alone() -> None:
    value = sample()
    value["history"][1]["content"] = 7
    value["history"][2] = "none"
    found = read(NAME, lines(value, {"history": 3}, {"history": [], "question": []}, 5))
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (2, "bad_field_type"),
        (3, "bad_field_type"),
        (4, "not_an_object"),
    ]
    assert len(found.drafts) == 8


def test_detection() -> None:
    whole = sample()
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps(whole), NAME),
        (json.dumps({"history": whole["history"], "question": "x"})[:300], NAME),
        (json.dumps({"history": [{"role": "user", "parts": []}]}), "gemini-cli"),
        (json.dumps({"history": ["x"]}), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_log_keeps_the_ids_of_its_rows() -> None:
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, SAMPLE.read_bytes()).drafts}
    for count in range(1, 6):
        value = sample()
        value["history"] = value["history"][:count]
        del value["mistake_reason"], value["is_correct"]
        assert {(d["natural_id"], d["content"]) for d in read(NAME, json.dumps(value)).drafts} < whole


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read(NAME, damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))


@pytest.mark.parametrize(
    ("prefix", "messages", "left_out", "actions"),
    [("ag", 264, {}, 54), ("hc", 1_533, {"thinking": 418, "bookkeeping": 321}, 1)],
)
def test_real_logs(
    real_data: Path, prefix: str, messages: int, left_out: dict[str, int], actions: int
) -> None:
    files = sorted((real_data / "formats" / "who_and_when").glob(f"{prefix}_*.json"))
    assert len(files) == 30
    kinds: Counter[object] = Counter()
    left: Counter[str] = Counter()
    said, ids = 0, set()
    for file in files:
        data = file.read_bytes()
        reader = detect(data[: IngestPolicy().sniff_bytes], file.name)
        assert reader is not None
        assert reader.name == NAME
        found = read(NAME, data)
        assert found.refusals == []
        kinds.update(column(found.drafts, "kind"))
        left.update(found.left_out)
        said += sum('"step"' in str(d["metadata"]) for d in found.drafts)
        ids |= {d["natural_id"] for d in found.drafts}
        users = [d for d in found.drafts if d["role"] == "user"]
        assert len(users) == 1
        assert all(d["speaker"] for d in found.drafts if d["role"] in ("assistant", "tool"))
        assert found.drafts[-1]["parent_id"] in column(found.drafts, "natural_id")
    assert (kinds["action"], kinds["outcome"], left) == (actions, 30, left_out)
    assert said == messages - left.total()
    assert len(ids) == sum(kinds.values())


def test_damaged_real_files_lose_no_row(real_data: Path) -> None:
    files = sorted((real_data / "formats" / "who_and_when").glob("[ah]?_?.json"))
    assert files
    for number, file in enumerate(files):
        data = file.read_bytes()
        for seed in range(number * 8, number * 8 + 8):
            read(NAME, damaged_bytes(data, seed))
            read(NAME, damaged_json(json.loads(data), seed))
