"""``codex-jsonl``: what was said and done, once; what the program put in; what was taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import WRONG, damaged_bytes
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "codex-jsonl.jsonl"
NAME = "codex-jsonl"
META = {"id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}


def line(kind: str, payload: object, second: int = 0) -> dict[str, object]:
    return {"timestamp": f"2026-01-01T00:00:{second:02d}Z", "type": kind, "payload": payload}


def message(role: str, *texts: str) -> dict[str, object]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": t} for t in texts]}


def call(call_id: str, **more: object) -> dict[str, object]:
    return {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call_id, **more}


def output(call_id: str, text: object) -> dict[str, object]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    rows = [
        (d["kind"], d["role"], d["tool_name"], d["outcome"], d["is_injected"], d["source_line"])
        for d in found.drafts
    ]
    assert rows == [
        (None, "developer", None, None, True, 2),
        (None, "user", None, None, True, 3),
        (None, "user", None, None, None, 5),
        ("action", "tool", "exec_command", "success", None, 9),
        ("action", "tool", "exec_command", "failure", None, 12),
        ("action", "tool", "apply_patch", "success", None, 14),
        (None, "assistant", None, None, None, 17),
        ("action", "tool", "web_search", None, None, 23),
        ("summary", "assistant", None, None, True, 24),
        (None, "user", None, None, None, 25),
    ]
    assert column(found.drafts, "natural_id")[3:6] == ["call_t1", "call_t2", "call_t3"]
    assert set(column(found.drafts, "session_id")) == {"0196-codex-aa"}
    asked = found.drafts[2]
    assert asked["content"] == "The tide table is off by one hour since Sunday. Find out why."
    assert asked["event_at"] == "2026-04-14T09:00:03.000Z"
    assert column(found.drafts, "parent_id")[3:7] == [asked["natural_id"]] * 4
    assert column(found.drafts, "content")[3:6] == [
        "src/table.py:31:    offset = utcoffset(today)\n",
        "make: *** No rule to make target 'test'.  Stop.\n",
        "Success. Updated the following files:\nM src/table.py\n",
    ]
    assert found.drafts[4]["failure_reason"] == "make: *** No rule to make target 'test'.  Stop."
    assert str(json.loads(str(found.drafts[5]["tool_arguments"]))["input"]).startswith("*** Begin Patch")
    assert json.loads(str(asked["metadata"])) == {
        "cli_version": "0.98.0",
        "cwd": "/srv/tides",
        "effort": "medium",
        "git_branch": "main",
        "git_commit_hash": "4be1",
        "model": "quill-2-codex",
        "model_provider": "openai",
        "originator": "codex_cli_rs",
        "source": "cli",
    }
    assert found.refusals == []
    assert found.left_out == {"abandoned_branch": 3, "bookkeeping": 6, "repeated": 2, "thinking": 1}


@pytest.mark.parametrize(
    ("text", "content", "outcome"),
    [
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nfine", "fine", "success"),
        ("Chunk ID: a\nProcess exited with code 127\nOutput:\nnot found", "not found", "failure"),
        ('{"output": "x", "metadata": {"exit_code": 1}}', "x", "failure"),
        ('{"output": "x"}', '{"output": "x"}', None),
        ({"content": "no", "success": False}, "no", "failure"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], None, None),
        ("failed to parse function arguments: EOF", "failed to parse function arguments: EOF", "failure"),
        ("Plan updated", "Plan updated", None),
    ],
)
def test_how_a_call_ended(text: object, content: str | None, outcome: str | None) -> None:
    source = lines(
        line("session_meta", META), *(line("response_item", i) for i in (call("c"), output("c", text)))
    )
    [row] = read(NAME, source).drafts
    assert content is None or row["content"] == content
    assert (row["kind"], row["outcome"]) == ("action", outcome)


def test_an_event_says_how_a_call_ended_where_its_result_does_not() -> None:
    ends: list[dict[str, object]] = [{"exit_code": 3}, {"success": False}, {"result": {"Err": "no"}}]
    for end in (*ends, {"result": {"Ok": {"isError": True}}}):
        source = lines(
            line("response_item", call("c")),
            line("event_msg", {"type": "some_end", "call_id": "c", **end}),
            line("response_item", output("c", "said")),
        )
        assert column(read(NAME, source).drafts, "outcome") == ["failure"]


def test_words_that_only_an_event_tells_land_and_others_once() -> None:
    ide = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nFix a.py"
    source = lines(
        line("session_meta", META),
        line("event_msg", {"type": "user_message", "message": ide}, 1),
        line("response_item", message("user", ide), 1),
        line("event_msg", {"type": "agent_message", "message": "Only on the screen"}, 2),
        line("event_msg", {"type": "user_message", "message": "Fix a.py"}, 3),
        line("response_item", message("user", "Fix a.py"), 3),
    )
    found = read(NAME, source)
    rows = [(d["role"], d["content"], d["is_injected"]) for d in found.drafts]
    assert rows == [
        ("user", "Fix a.py", None),
        ("user", "# Context from my IDE setup:\n\n## Active file: a.py", True),
        ("user", "Fix a.py", None),
        ("assistant", "Only on the screen", None),
    ]
    assert found.left_out == {"bookkeeping": 1, "repeated": 2}
    assert len(set(column(found.drafts, "natural_id"))) == 4


def test_turns_taken_back_take_their_calls_along() -> None:
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    said = [line("response_item", message("user", f"turn {n}"), n) for n in range(3)]
    source = lines(line("session_meta", META), *said, line("response_item", call("c")), back)
    found = read(NAME, source)
    assert column(found.drafts, "content") == ["turn 0"]
    assert found.left_out == {"abandoned_branch": 3, "bookkeeping": 2}
    late = read(NAME, source, IngestPolicy(batch_rows=1))
    assert late.rows_in == found.rows_in
    assert column(late.drafts, "content") == ["turn 0", "turn 1", "turn 2", ""]  # gone out before


@pytest.mark.parametrize("broken", ["null", '{"type": "response_item", "payload": {"role": "user"}}'])
def test_what_stands_before_a_line_that_cannot_be_read_is_not_taken_back(broken: str) -> None:
    """It may have been the request that is meant."""
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    said = lines(line("session_meta", META), line("response_item", message("user", "first")))
    found = read(NAME, said + broken + "\n" + lines(back))
    assert column(found.drafts, "content") == ["first"]
    assert column(found.refusals, "source_line") == [3]


def test_a_request_without_words_is_taken_back_as_one() -> None:
    back = line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    image = {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}
    said = [line("response_item", one) for one in (message("user", "first"), image)]
    found = read(NAME, lines(line("session_meta", META), *said, back))
    assert column(found.drafts, "content") == ["first"]


def test_several_sessions_and_a_fork() -> None:
    fork = {**META, "id": "f", "forked_from_id": "s"}
    source = lines(
        line("session_meta", META),
        line("response_item", message("user", "one")),
        line("session_meta", fork),
        line("session_meta", META),
        line("response_item", message("user", "one")),
        line("response_item", message("user", "two")),
    )
    drafts = read(NAME, source).drafts
    assert [(d["session_id"], d["content"]) for d in drafts] == [("s", "one"), ("f", "one"), ("f", "two")]


def test_files_of_the_older_shape_take_the_time_of_their_session() -> None:
    source = lines(
        {**META, "instructions": None},
        {"record_type": "state"},
        message("user", "Hello"),
        {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"command": ["ls"]}},
        output("c", "a.py"),
        {"odd": 1},
    )
    found = read(NAME, source)
    rows = [(d["content"], d["tool_name"], d["event_at"], d["session_id"]) for d in found.drafts]
    assert rows == [
        ("Hello", None, "2026-01-01T00:00:00Z", "s"),
        ("a.py", "local_shell", "2026-01-01T00:00:00Z", "s"),
    ]
    assert column(found.refusals, "reason") == ["unknown_record"]
    reader = detect(source.encode(), "")
    assert reader is not None
    assert reader.name == NAME


def test_the_event_stream_of_exec() -> None:
    def item(kind: str, **more: object) -> dict[str, object]:
        return {"type": "item.completed", "item": {"id": "item_0", "type": kind, **more}}

    source = lines(
        {"type": "thread.started", "thread_id": "th"},
        {"type": "turn.started"},
        item("reasoning", text="hm"),
        {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "ls"}},
        item("command_execution", command="ls", aggregated_output="a.py", exit_code=0, status="completed"),
        item("command_execution", command="ls", aggregated_output="no", exit_code=2, status="failed"),
        item("file_change", changes=[{"path": "a.py", "kind": "update"}], status="completed"),
        item(
            "mcp_tool_call",
            server="s",
            tool="look",
            arguments={"q": 1},
            error={"message": "no"},
            status="failed",
        ),
        item("web_search", query="tides"),
        item("todo_list", items=[]),
        item("agent_message", text="Done."),
        item("error", message="slow"),
        item("agent_message", text=" "),
        {"type": "turn.failed", "error": {"message": "out of tokens"}},
        {"type": "item.completed", "item": {"id": "x"}},
    )
    found = read(NAME, source)
    rows = [
        (d["role"], d["tool_name"], d["tool_arguments"], d["content"], d["outcome"]) for d in found.drafts
    ]
    assert rows == [
        ("tool", "command_execution", '{"command":"ls"}', "a.py", "success"),
        ("tool", "command_execution", '{"command":"ls"}', "no", "failure"),
        ("tool", "file_change", '{"changes":[{"kind":"update","path":"a.py"}]}', "", "success"),
        ("tool", "look", '{"q":1}', "no", "failure"),
        ("tool", "web_search", '{"query":"tides"}', "", None),
        ("assistant", None, None, "Done.", None),
        ("system", None, None, "slow", None),
        ("system", None, None, "out of tokens", "failure"),
    ]
    assert len(set(column(found.drafts, "natural_id"))) == 8
    assert set(column(found.drafts, "session_id")) == {"th"}
    assert column(found.refusals, "reason") == ["unknown_record"]
    assert found.left_out == {"bookkeeping": 4, "thinking": 1, "empty_message": 1}
    reader = detect(source.encode(), "")
    assert reader is not None
    assert reader.name == NAME


def test_detection() -> None:
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps(line("session_meta", {"instructions": "x" * 500}))[:300], NAME),
        (lines(line("span", {"a": 1})), None),
        (lines({"type": "message", "role": "user", "content": "x"}), "slowwave-jsonl"),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_session_keeps_the_ids_of_its_rows() -> None:
    """But for what is taken back later: here that is the second request, from the 19th line on."""
    parts = SAMPLE.read_text().splitlines(keepends=True)
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, "".join(parts)).drafts}
    for count in (*range(3, 19), 22, 23, 24):
        part = read(NAME, "".join(parts[:count])).drafts
        done = {(d["natural_id"], d["content"]) for d in part if d["kind"] != "action" or d["content"]}
        assert done <= whole, count
        assert {d["natural_id"] for d in part} <= {natural_id for natural_id, _ in whole}, count


@settings(max_examples=150)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 50_000]))
def test_damage_loses_no_row(seed: int, batch_rows: int) -> None:
    read(NAME, damaged_bytes(SAMPLE.read_bytes(), seed), IngestPolicy(batch_rows=batch_rows))


@settings(max_examples=150)
@given(st.data())
def test_wrongly_typed_fields_are_refused_or_read(data: st.DataObject) -> None:
    records: list[dict[str, Any]] = [json.loads(text) for text in SAMPLE.read_text().splitlines()]
    for _ in range(data.draw(st.integers(1, 6))):
        record = data.draw(st.sampled_from(records))
        place = record["payload"] if isinstance(record["payload"], dict) and record["payload"] else record
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(st.sampled_from(WRONG))
    read(NAME, lines(*records), IngestPolicy(batch_rows=data.draw(st.sampled_from([1, 3, 100]))))
