"""``gemini-cli``: sessions in both forms, checkpoints, the log of prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import WRONG, damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "gemini-cli.jsonl"
NAME = "gemini-cli"
HEAD = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"}
CONTEXT = "This is the Gemini CLI. We are setting up the context for our chat.\nToday is Monday."
HISTORY: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": CONTEXT}]},
    {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
    {"role": "user", "parts": [{"text": "List the seeds."}]},
    {
        "role": "model",
        "parts": [
            {"thought": True, "text": "Where are they?"},
            {"text": "I look."},
            {"functionCall": {"name": "ls", "args": {"path": "seeds"}}},
            {"functionCall": {"name": "ls", "args": {"path": "bulbs"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "ls", "response": {"output": "bean"}}},
            {"functionResponse": {"name": "ls", "response": {"error": "no such folder"}}},
        ],
    },
    {"role": "model", "parts": [{"functionCall": {"id": "x", "name": "cat", "args": {}}}]},
    {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": ""}}]},
]


def message(own: str, kind: str, content: object, **more: object) -> dict[str, object]:
    return {"id": own, "type": kind, "content": content, "timestamp": "2026-01-01T00:00:05Z", **more}


def test_the_sample_row_by_row() -> None:
    found = read(NAME, SAMPLE.read_bytes())
    rows = [
        (d["natural_id"], d["role"], d["tool_name"], d["outcome"], d["is_injected"], d["source_line"])
        for d in found.drafts
    ]
    assert rows == [
        ("m0", "system", None, None, True, 2),
        ("m1", "user", None, None, None, 3),
        ("m1/injected", "user", None, None, True, 3),
        ("m2", "assistant", None, None, None, 4),
        ("replace-1", "tool", "replace", "success", None, 4),
        ("shell-1", "tool", "run_shell_command", "failure", None, 4),
        ("m3", "assistant", None, None, None, 7),
        ("m6", "user", None, None, None, 11),
    ]
    assert found.drafts[1]["content"] == "Rename the recipe in @stew.md to Hedda's stew."
    assert str(found.drafts[2]["content"]).startswith("--- Content from referenced files ---")
    assert found.drafts[4]["content"] == "Successfully modified file: stew.md (1 replacements)."
    assert json.loads(str(found.drafts[4]["tool_arguments"]))["file_path"] == "stew.md"
    assert found.drafts[5]["failure_reason"] == "mdlint: command not found"
    assert column(found.drafts, "event_at")[3:6] == [
        "2026-05-02T17:00:14.000Z",
        "2026-05-02T17:00:15.000Z",
        "2026-05-02T17:00:16.000Z",
    ]
    assert column(found.drafts, "parent_id")[4:6] == ["m2", "m2"]
    assert set(column(found.drafts, "session_id")) == {"6e1c-gem"}
    assert column(found.drafts, "turn_index") == list(range(8))
    assert json.loads(str(found.drafts[6]["metadata"])) == {
        "kind": "main",
        "model": "gemini-3-flash",
        "projectHash": "9ab0",
    }
    assert found.refusals == []
    assert found.left_out == {
        "abandoned_branch": 2,
        "bookkeeping": 3,
        "earlier_version": 1,
        "thinking": 1,
    }


def test_a_session_as_one_document_gives_the_same_rows() -> None:
    records = [json.loads(text) for text in SAMPLE.read_text().splitlines()]
    messages = [r for r in records if "id" in r and r["id"] not in ("m4", "m5")]
    document = json.dumps({**records[0], "messages": [messages[0], messages[1], *messages[3:]]}, indent=2)
    kept = ("natural_id", "role", "content", "outcome", "event_at", "is_injected")
    by_line, whole = (read(NAME, data).drafts for data in (SAMPLE.read_bytes(), document))
    assert [[d[k] for k in kept] for d in whole] == [[d[k] for k in kept] for d in by_line]


def test_a_history_made_shorter_adds_only_what_is_new() -> None:
    update = [
        message("n", "user", [{"text": "<state_snapshot>All about seeds.</state_snapshot>"}]),
        message("a", "user", "masked"),
        7,
    ]
    source = lines(HEAD, message("a", "user", "Sow the beans."), {"$set": {"messages": update}})
    found = read(NAME, source)
    rows = [(d["natural_id"], d["kind"], d["content"], d["is_injected"]) for d in found.drafts]
    assert rows == [
        ("a", None, "Sow the beans.", None),
        ("n", "summary", "<state_snapshot>All about seeds.</state_snapshot>", True),
    ]
    assert found.left_out == {"bookkeeping": 2, "repeated": 1}
    assert column(found.refusals, "reason") == ["bad_field_type"]


def test_rewinding_to_an_unknown_message_takes_all_back() -> None:
    found = read(NAME, lines(HEAD, message("a", "user", "x"), {"$rewindTo": "z"}, message("b", "user", "y")))
    assert column(found.drafts, "content") == ["y"]
    assert found.left_out == {"abandoned_branch": 1, "bookkeeping": 2}


@pytest.mark.parametrize(
    ("more", "content", "outcome", "reason"),
    [
        ({"status": "success", "result": None, "resultDisplay": "3 files"}, "3 files", "success", None),
        ({"status": "cancelled", "result": None}, "", "failure", "cancelled"),
        ({"status": "executing"}, "", None, None),
        ({"result": [{"text": "plain"}]}, "plain", None, None),
        ({"result": [{"functionResponse": {"response": {"a": 1, "b": 2}}}]}, '{"a":1,"b":2}', None, None),
    ],
)
def test_calls(more: dict[str, object], content: str, outcome: str | None, reason: str | None) -> None:
    calls = [{"id": "c", "name": "ls", "args": {}, **more}]
    [row] = read(NAME, lines(HEAD, message("a", "gemini", "", toolCalls=calls))).drafts
    assert (row["content"], row["outcome"], row["failure_reason"]) == (content, outcome, reason)


def test_calls_and_results_in_the_content_are_joined_and_not_read_twice() -> None:
    def called(own: str) -> dict[str, object]:
        return {"functionCall": {"id": own, "name": "ls", "args": {}}}

    def answered(own: str, text: str) -> dict[str, object]:
        return {"functionResponse": {"id": own, "name": "ls", "response": {"output": text}}}

    record = {"id": "c1", "name": "ls", "args": {}, "status": "success", "result": [answered("c1", "bean")]}
    source = lines(
        HEAD,
        message("a", "gemini", [called("c1")], toolCalls=[record]),
        message("b", "user", [answered("c1", "bean")]),
        message("c", "gemini", [{"text": "Once more."}, called("c2")]),
        {"$push": {"messages": [message("d", "user", [answered("c2", "pea")])]}},
        {"$patch": {"removeIds": ["a"]}},
    )
    found = read(NAME, source)
    rows = [(d["natural_id"], d["kind"], d["content"], d["outcome"]) for d in found.drafts]
    assert rows == [
        ("c1", "action", "bean", "success"),
        ("c", None, "Once more.", None),
        ("c2", "action", "pea", None),
    ]
    assert found.left_out == {"bookkeeping": 3, "repeated": 1}


def test_checkpoints_in_both_forms() -> None:
    older = read(NAME, json.dumps(HISTORY, indent=2))
    newer = read(NAME, json.dumps({"history": HISTORY, "authType": "oauth"}, indent=2))
    assert older == newer
    session = str(older.drafts[0]["session_id"])
    rows = [
        (str(d["natural_id"]).removeprefix(session), d["role"], d["content"], d["outcome"], d["is_injected"])
        for d in older.drafts
    ]
    assert rows == [
        ("/0", "user", CONTEXT, None, True),
        ("/1", "assistant", "Got it. Thanks for the context!", None, True),
        ("/2", "user", "List the seeds.", None, None),
        ("/3", "assistant", "I look.", None, None),
        ("/3/call/0", "tool", "bean", None, None),
        ("/3/call/1", "tool", "no such folder", "failure", None),
        ("/x", "tool", "", None, None),
    ]
    assert older.left_out == {"thinking": 1, "no_text_part": 1}


def test_the_log_of_prompts() -> None:
    entry = {
        "sessionId": "s",
        "messageId": 4,
        "type": "user",
        "message": "Hello",
        "timestamp": "2026-01-01T00:00:00Z",
    }
    found = read(NAME, json.dumps([entry, {**entry, "messageId": None}], indent=2))
    [row] = found.drafts
    assert (row["natural_id"], row["session_id"], row["role"], row["content"], row["event_at"]) == (
        "s/log/4",
        "s",
        "user",
        "Hello",
        "2026-01-01T00:00:00Z",
    )
    assert column(found.refusals, "reason") == ["unknown_record"]


def test_detection() -> None:
    log = {"sessionId": "s", "messageId": 0, "type": "user", "message": "x", "timestamp": ""}
    for text, name in (
        (SAMPLE.read_text(), NAME),
        (json.dumps({**HEAD, "messages": []}, indent=2), NAME),
        (json.dumps({**HEAD, "messages": []}), NAME),
        (json.dumps(HISTORY), NAME),
        (json.dumps(HISTORY, indent=2)[:400], NAME),
        (json.dumps({"history": HISTORY}, indent=2), NAME),
        (json.dumps([log], indent=2), NAME),
        (lines({"messages": [], "sessionId": "s"}), "openai-messages"),
        (lines({"sessionId": "s", "type": "user", "uuid": "u", "message": {}}), "coding-agent-jsonl"),
        (json.dumps({"history": [1], "parts": []}), None),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_a_grown_session_keeps_the_ids_of_its_rows() -> None:
    """But for what is rewound later: here that is the request of the 8th line."""
    parts = SAMPLE.read_text().splitlines(keepends=True)
    whole = {(d["natural_id"], d["content"]) for d in read(NAME, "".join(parts)).drafts}
    for count in (1, 2, 3, 4, 5, 6, 7, 10):
        part = read(NAME, "".join(parts[:count])).drafts
        assert {(d["natural_id"], d["content"]) for d in part} <= whole, count
    grown = {(d["natural_id"], d["content"]) for d in read(NAME, json.dumps(HISTORY)).drafts}
    for count in range(3, 5):
        part = read(NAME, json.dumps(HISTORY[:count])).drafts
        assert {(d["natural_id"], d["content"]) for d in part if d["content"]} <= grown, count


@settings(max_examples=150)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 50_000]))
def test_damage_loses_no_row(seed: int, batch_rows: int) -> None:
    read(NAME, damaged_bytes(SAMPLE.read_bytes(), seed), IngestPolicy(batch_rows=batch_rows))
    read(NAME, damaged_json(HISTORY, seed))
    read(NAME, damaged_json({"history": HISTORY}, seed))


@settings(max_examples=150)
@given(st.data())
def test_wrongly_typed_fields_are_refused_or_read(data: st.DataObject) -> None:
    records: list[dict[str, Any]] = [json.loads(text) for text in SAMPLE.read_text().splitlines()]
    for _ in range(data.draw(st.integers(1, 6))):
        record = data.draw(st.sampled_from(records))
        calls = record.get("toolCalls")
        place = data.draw(
            st.sampled_from([record, *(c for c in calls if c)] if isinstance(calls, list) else [record])
        )
        if isinstance(place, dict) and place:
            place[data.draw(st.sampled_from(sorted(place)))] = data.draw(st.sampled_from(WRONG))
    read(NAME, lines(*records), IngestPolicy(batch_rows=data.draw(st.sampled_from([1, 3, 100]))))
