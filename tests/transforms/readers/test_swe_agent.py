"""``swe-agent-traj``: what the agent was told, thought and did, and how the run ended."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect
from transforms.readers.swe_agent import SweAgentTraj

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "swe-agent-traj.traj"
NAME = "swe-agent-traj"


def sample() -> dict[str, Any]:
    return dict(json.loads(SAMPLE.read_bytes()))


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    run = str(found.drafts[0]["session_id"])
    rows = [(d["natural_id"], d["kind"], d["role"], d["tool_name"], d["outcome"]) for d in found.drafts]
    assert rows == [
        (f"{run}/0", None, "system", None, None),
        (f"{run}/1", None, "user", None, None),
        (f"{run}/2", None, "user", None, None),
        (f"{run}/step/0", None, "assistant", None, None),
        (f"{run}/action/0", "action", "tool", "grep", None),
        (f"{run}/step/1", None, "assistant", None, None),
        (f"{run}/action/1", "action", "tool", "edit", "failure"),
        (f"{run}/step/2", None, "assistant", None, None),
        (f"{run}/action/2", "action", "tool", "edit", None),
        (f"{run}/action/3", "action", "tool", "bash", None),
        (f"{run}/step/4", None, "assistant", None, None),
        (f"{run}/action/4", "action", "tool", "submit", None),
        (f"{run}/end", "outcome", "assistant", None, "success"),
    ]
    assert len(run) == 16
    assert column(found.drafts, "is_injected")[:3] == [True, True, None]
    assert column(found.drafts, "turn_index") == list(range(13))
    assert set(column(found.drafts, "event_at")) == {None}
    failed, last = found.drafts[6], found.drafts[12]
    assert failed["failure_reason"] == "E999 IndentationError: unexpected indent"
    assert failed["parent_id"] == f"{run}/step/1"
    assert json.loads(str(found.drafts[4]["tool_arguments"])) == {"pattern": "price_of_seats"}
    assert json.loads(str(found.drafts[11]["tool_arguments"])) == {"command": "submit"}
    assert (last["content"], last["steps"]) == ("submitted", 5)
    about = json.loads(str(last["metadata"]))
    assert (about["instance_id"], about["model"], about["exit_status"]) == (
        "tickets-117",
        "quill-2",
        "submitted",
    )
    assert (found.refusals, found.left_out, found.rows_in) == ([], {}, 13)


@pytest.mark.parametrize(
    ("status", "submission", "expected"),
    [
        ("submitted", "patch", ("success", None, "patch")),
        ("submitted (exit_cost)", "patch", ("partial", "submitted (exit_cost)", "patch")),
        ("exit_context", None, ("failure", "exit_context", "exit_context")),
    ],
)
def test_exit_statuses(status: str, submission: str | None, expected: tuple[str, str | None, str]) -> None:
    value = sample() | {"info": {"exit_status": status, "submission": submission}}
    last = read(NAME, json.dumps(value)).drafts[-1]
    assert (last["outcome"], last["failure_reason"], last["content"]) == expected


def test_a_history_alone_gives_the_same_steps() -> None:
    value = sample()
    del value["trajectory"]
    alone, whole = (read(NAME, json.dumps(v)).drafts for v in (value, sample()))
    kept = ("natural_id", "kind", "role", "tool_name", "content", "outcome")
    assert [[d[k] for k in kept] for d in alone] == [[d[k] for k in kept] for d in whole]


def test_attempts_are_runs_and_the_chosen_one_is_not_read_again() -> None:
    first, second = sample(), sample()
    second["trajectory"][0]["response"] = "Another beginning."
    value = {**first, "attempts": [first, second]}
    found = read(NAME, json.dumps(value))
    assert len(set(column(found.drafts, "session_id"))) == 2
    assert (len(found.drafts), found.left_out) == (26, {"repeated_attempt": 1})


def test_the_name_of_the_file_is_the_instance_where_the_run_names_none() -> None:
    value = sample()
    del value["replay_config"]
    [batch] = SweAgentTraj().read(
        io.BytesIO(json.dumps(value).encode()), "runs/a/tickets-9.traj", IngestPolicy()
    )
    assert json.loads(batch.drafts["metadata"][0])["instance_id"] == "tickets-9"
    assert batch.drafts["natural_id"].to_list() == column(
        read(NAME, SAMPLE.read_bytes()).drafts, "natural_id"
    )


MINI_1 = [
    {"role": "system", "content": "You can run bash."},
    {"role": "user", "content": "Fix the tides.", "timestamp": 1767603600.0},
    {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls\n```", "timestamp": 1767603605.5},
    {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
    {"role": "assistant", "content": "I forgot the block."},
    {"role": "user", "content": "Please give one command."},
    {"role": "assistant", "content": "```mswea_bash_command\nmake\n```"},
    {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno rule\n</output>"},
]
MINI_2 = [
    *MINI_1[:2],
    {
        "role": "assistant",
        "content": "Both.",
        "tool_calls": [
            {"id": "a", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
            {"id": "b", "function": {"name": "bash", "arguments": '{"command": "make"}'}},
        ],
        "extra": {"timestamp": 1767603605.5},
    },
    {"role": "tool", "tool_call_id": "a", "content": "a.py", "extra": {"returncode": 0}},
    {"role": "tool", "tool_call_id": "b", "content": "no rule", "extra": {"returncode": 2}},
    {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
]
MINI_INFO = {
    "exit_status": "Submitted",
    "submission": "diff",
    "mini_version": "2.4.6",
    "config": {"model": {"model_name": "quill-2"}},
}


@pytest.mark.parametrize(
    ("observation", "reason"),
    [
        (
            "3 of 9 keys tried\nEXECUTION TIMED OUT AFTER 60 S.\nPLEASE REFINE IT.\n",
            "EXECUTION TIMED OUT AFTER 60 S.",
        ),
        ("EXECUTION TIMED OUT", "EXECUTION TIMED OUT"),
        ("strings: 'boat.img': No such file", "strings: 'boat.img': No such file"),
        ("bash: line 3: fliege: command not found\n", "bash: line 3: fliege: command not found"),
        ("/srv/*: cannot open `/srv/*' (No such file or directory)", None),
        ("cat: a: Permission denied\ncat: b: No such file or directory", "cat: a: Permission denied"),
    ],
)
def test_a_command_that_did_nothing_has_failed(observation: str, reason: str | None) -> None:
    assert ended(observation) == ("failure", reason or observation)


@pytest.mark.parametrize(
    "observation",
    [
        "boat.py\ncat: b: No such file or directory",  # some of it was done
        "log says EXECUTION TIMED OUT here",
        "EXECUTION TIMED OUT is printed at\n12: a\n13: b\n14: c",
        "all ferries: 3 boats",
    ],
)
def test_a_command_that_did_something_is_not_judged(observation: str) -> None:
    assert ended(observation) == (None, None)


def ended(observation: str) -> tuple[object, object]:
    run = sample()
    run["trajectory"] = [{"action": "cat a b", "observation": observation, "response": "", "thought": "look"}]
    (action,) = [d for d in read(NAME, json.dumps(run).encode()).drafts if d["kind"] == "action"]
    return action["outcome"], action["failure_reason"]


def test_mini_swe_agent_writes_its_commands_as_blocks_or_calls() -> None:
    for messages, expected in (
        (
            MINI_1,
            [
                ("assistant", None, "THOUGHT: look", None),
                ("tool", "ls", "<returncode>0</returncode>\n<output>\na.py\n</output>", "success"),
                ("assistant", None, "I forgot the block.", None),
                ("tool", None, "Please give one command.", None),
                ("tool", "make", "<returncode>2</returncode>\n<output>\nno rule\n</output>", "failure"),
            ],
        ),
        (
            MINI_2,
            [
                ("assistant", None, "Both.", None),
                ("tool", "bash", "a.py", "success"),
                ("tool", "bash", "no rule", "failure"),
            ],
        ),
    ):
        text = json.dumps(
            {"info": MINI_INFO, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
        )
        reader = detect(text.encode(), "x.traj.json")
        assert reader is not None
        assert reader.name == NAME
        found = read(NAME, text)
        assert [(d["role"], d["content"]) for d in found.drafts[:2]] == [
            ("system", "You can run bash."),
            ("user", "Fix the tides."),
        ]
        rows = [(d["role"], d["tool_name"], d["content"], d["outcome"]) for d in found.drafts[2:-1]]
        assert rows == expected
        assert column(found.drafts, "event_at")[1:3] == [
            "2026-01-05T09:00:00.000000+00:00",
            "2026-01-05T09:00:05.500000+00:00",
        ]
        last = found.drafts[-1]
        assert (last["kind"], last["outcome"], last["content"]) == ("outcome", "success", "diff")
        assert json.loads(str(last["metadata"]))["model"] == "quill-2"


def test_faults_are_refused_alone() -> None:
    value = sample()
    value["trajectory"][1]["observation"] = 7
    value["trajectory"][2] = "none"
    value["history"][1]["content"] = {}
    found = read(NAME, lines(value, {"trajectory": 3}, 5))
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (1, "bad_field_type"),
        (2, "bad_field_type"),
        (3, "not_an_object"),
    ]
    assert len(found.drafts) == 8


def test_detection() -> None:
    whole = sample()
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps(whole), NAME),
        (json.dumps({"trajectory": whole["trajectory"]})[:500], NAME),
        (json.dumps({"trajectory": [1]}), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_run_keeps_the_ids_of_its_rows() -> None:
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, SAMPLE.read_bytes()).drafts}
    for count in range(1, 5):
        value = sample()
        value["trajectory"] = value["trajectory"][:count]
        value["history"] = value["history"][: 3 + 2 * count]
        value["info"] = {}
        part = {(d["natural_id"], d["content"]) for d in read(NAME, json.dumps(value)).drafts}
        assert part < whole


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read(NAME, damaged_bytes(data, seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=2))
    read(NAME, damaged_json({"info": MINI_INFO, "messages": [*MINI_1, *MINI_2]}, seed))


EXPECTED = {
    "6e44b9__sweagenttestrepo-1c2844.traj": (13, 0),
    "BabyEncryption.traj": (33, 5),
    "BabyTimeCapsule.traj": (19, 1),
    "eps.traj": (27, 1),
    "flash.traj": (11, 1),
    "katy.traj": (37, 1),
    "pydicom__pydicom-1458.traj": (28, 4),
    "swe-agent__test-repo-i1.traj": (14, 0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_real_runs(real_data: Path, name: str) -> None:
    data = (real_data / "formats" / "swe_agent" / name).read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], name)
    assert reader is not None
    assert reader.name == NAME
    found = read(NAME, data)
    steps = json.loads(data)["trajectory"]
    actions = [d for d in found.drafts if d["kind"] == "action"]
    observed = [s["observation"].replace("\x1b", "").replace("\b", "") for s in steps]
    assert [a["content"] for a in actions] == observed
    failed = [a for a in actions if a["outcome"] == "failure"]
    assert (len(found.drafts), len(failed)) == EXPECTED[name]
    assert all(a["failure_reason"] for a in failed)
    assert (found.refusals, found.left_out) == ([], {})
    assert found.drafts[-1]["outcome"] == "success"


def test_damaged_real_files_lose_no_row(real_data: Path) -> None:
    files = sorted((real_data / "formats" / "swe_agent").glob("*.traj"))
    assert files
    for number, file in enumerate(files):
        data = file.read_bytes()
        for seed in range(number * 8, number * 8 + 8):
            read(NAME, damaged_bytes(data, seed))
            read(NAME, damaged_json(json.loads(data), seed))
