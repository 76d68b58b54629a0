"""Message formats: OpenAI-style, ChatGPT and Claude exports, coding-agent transcripts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.parts import failure_of
from transforms.readers.registry import READERS, detect, reader_named

CONVERSATION = {
    "id": "c1",
    "created": 1700000000,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Fly me"}, {"type": "image_url", "image_url": {}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "k1", "type": "function", "function": {"name": "find", "arguments": '{"to":"X"}'}},
                {"id": "k2", "type": "function", "function": {"name": "pay", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "k1", "content": '{"error": "no seat"}'},
        {"role": "assistant", "content": "Sorry.", "timestamp": "2024-01-01T00:00:00Z"},
        {"role": "user", "content": {"no": "text"}},
    ],
}


def test_openai_conversation() -> None:
    found = read("openai-messages", lines(CONVERSATION))
    rows = [(d["natural_id"], d["kind"], d["role"], d["content"], d["outcome"]) for d in found.drafts]
    assert rows == [
        ("c1/0", None, "system", "Be brief.", None),
        ("c1/1", None, "user", "Fly me", None),
        ("c1/k1", "action", "tool", '{"error": "no seat"}', "failure"),
        ("c1/k2", "action", "tool", "", None),
        ("c1/4", None, "assistant", "Sorry.", None),
    ]
    assert found.drafts[2]["failure_reason"] == "no seat"
    assert column(found.drafts, "is_injected") == [True, None, None, None, None]
    assert found.drafts[4]["event_at"] == "2024-01-01T00:00:00Z"
    assert found.drafts[0]["event_at"] == "2023-11-14T22:13:20.000000+00:00"
    assert column(found.refusals, "reason") == ["bad_field_type"]


@pytest.mark.parametrize("form", ["one", "array", "indented"])
def test_openai_documents(form: str) -> None:
    text = {
        "one": json.dumps(CONVERSATION, indent=1),
        "array": json.dumps([CONVERSATION]),
        "indented": json.dumps([CONVERSATION], indent=2),
    }[form]
    assert read("openai-messages", text) == read("openai-messages", lines(CONVERSATION))


def test_openai_parquet() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    out = io.BytesIO()
    pl.DataFrame({"id": ["a", "b"], "messages": [messages, messages]}).write_parquet(out)
    found = read("openai-messages", out.getvalue())
    assert column(found.drafts, "natural_id") == ["a/0", "a/1", "b/0", "b/1"]
    assert column(found.drafts, "source_line") == [1, 1, 2, 2]


def test_orphan_and_repeated_results_are_observations() -> None:
    result = {"role": "tool", "tool_call_id": "k", "name": "f", "content": "r"}
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "k", "function": {"name": "f", "arguments": {"a": 1}}}],
    }
    found = read("openai-messages", lines({"messages": [result, call, result]}))
    assert column(found.drafts, "kind") == ["action", "observation"]


def node(key: str, parent: str | None, role: str, text: str, **more: object) -> dict[str, object]:
    message = {
        "id": f"m-{key}",
        "author": {"role": role, "name": more.pop("name", None)},
        "content": {"content_type": more.pop("content_type", "text"), "parts": [text]},
        "create_time": 1700000000.5,
        "recipient": "all",
        "metadata": {},
    }
    return {"id": key, "parent": parent, "children": [], "message": message | more}


TREE = {
    "title": "t",
    "conversation_id": "c",
    "current_node": "f",
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["s"], "message": None},
        "s": node("s", "root", "system", "Prompt"),
        "f": node("f", "e", "assistant", "Answer"),
        "a": node("a", "s", "user", "Question"),
        "b": node("b", "a", "assistant", "Abandoned"),
        "d": node("d", "a", "assistant", "print(1)", recipient="python", content_type="code"),
        "e": node("e", "d", "tool", "Error: 1", name="python"),
    },
}


def test_chatgpt_follows_the_current_branch() -> None:
    found = read("chatgpt-export", json.dumps([TREE]))
    rows = [(d["natural_id"], d["kind"], d["role"], d["content"]) for d in found.drafts]
    assert rows == [
        ("m-s", None, "system", "Prompt"),
        ("m-a", None, "user", "Question"),
        ("m-d", "action", "tool", "Error: 1"),
        ("m-f", None, "assistant", "Answer"),
    ]
    assert found.left_out == {"abandoned_branch": 1}
    call = found.drafts[2]
    assert (call["tool_name"], call["tool_arguments"], call["outcome"]) == ("python", '"print(1)"', "failure")
    assert found.drafts[0]["is_injected"] is True
    assert found.drafts[1]["event_at"] == "2023-11-14T22:13:20.500000+00:00"


@pytest.mark.parametrize("parent", [None, True, "nowhere"])
def test_a_lost_link_of_chatgpt_abandons_nothing_that_was_said_before(parent: object) -> None:
    """The node above still names its child: what stands before it is no abandoned branch."""
    nodes = {**TREE["mapping"]}  # type: ignore[dict-item]
    above = {**nodes["a"], "children": ["b", "d"]}
    broken = {**TREE, "mapping": {**nodes, "a": above, "d": {**nodes["d"], "parent": parent}}}
    found = read("chatgpt-export", json.dumps([broken]))
    assert {"m-s", "m-a", "m-f"} <= set(column(found.drafts, "natural_id"))
    assert found.left_out == {"abandoned_branch": 1}


def test_chatgpt_cycles_and_missing_current_node_end() -> None:
    loop = {
        "mapping": {"a": node("a", "b", "user", "x"), "b": node("b", "a", "user", "y")},
        "current_node": "a",
    }
    assert column(read("chatgpt-export", json.dumps(loop)).drafts, "content") == ["y", "x"]
    lost = {**TREE, "current_node": "nowhere"}
    assert read("chatgpt-export", json.dumps(lost)).rows_in == 5


def test_several_accounts_do_not_mix() -> None:
    chats = [{**TREE, "conversation_id": c, "user_id": u} for c, u in (("1", "ann"), ("2", "bob"))]
    assert set(column(read("chatgpt-export", json.dumps(chats[:1])).drafts, "user_id")) == {None}
    assert set(column(read("chatgpt-export", json.dumps(chats)).drafts, "user_id")) == {"ann", "bob"}


def test_claude_blocks_and_attachments() -> None:
    messages = [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "",
            "content": [{"type": "text", "text": "Look"}],
            "attachments": [{"file_name": "f.txt", "extracted_content": "long"}],
            "created_at": "2024-01-01T00:00:00Z",
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "Done",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "name": "search", "input": {"q": 1}},
                {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "found"}]},
                {"type": "text", "text": "Done"},
                17,
            ],
        },
        {"uuid": "m3", "sender": "human", "text": "", "attachments": [{"extracted_content": "pasted"}]},
        {"uuid": "m4", "sender": "human", "text": ""},
    ]
    chat = {"uuid": "c", "name": "n", "created_at": "2024-01-01T00:00:00", "chat_messages": messages}
    found = read("claude-export", json.dumps(chat))
    rows = [(d["natural_id"], d["kind"], d["role"], d["content"], d["outcome"]) for d in found.drafts]
    assert rows == [
        ("m1", None, "user", "Look", None),
        ("m2", None, "assistant", "Done", None),
        ("m2/call/0", "action", "tool", "found", "success"),
        ("m3", None, "user", "pasted", None),
    ]
    assert "long" in str(found.drafts[0]["metadata"])
    assert found.left_out == {"thinking": 1, "empty_message": 1}
    assert column(found.refusals, "reason") == ["bad_field_type"]
    assert found.drafts[1]["event_at"] == "2024-01-01T00:00:00"


def spoken(uuid: str, role: str, content: object, **more: object) -> dict[str, object]:
    record = {"type": role, "uuid": uuid, "sessionId": "s", "timestamp": "2025-01-01T00:00:00Z"}
    return {**record, "message": {"role": role, "content": content}, **more}


def test_coding_agent_joins_across_the_file() -> None:
    call = spoken("u1", "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"c": "ls"}}])
    filler = [spoken(f"f{i}", "user", f"line {i}") for i in range(10_000)]
    result = spoken(
        "u2",
        "user",
        [{"type": "tool_result", "tool_use_id": "t1", "content": "Exit code 1\nbad", "is_error": True}],
    )
    policy = IngestPolicy(batch_rows=1_000)
    found = read("coding-agent-jsonl", lines(call, *filler, result), policy)
    actions = [d for d in found.drafts if d["kind"] == "action"]
    assert [
        (a["natural_id"], a["content"], a["outcome"], a["failure_reason"], a["source_line"]) for a in actions
    ] == [("t1", "Exit code 1\nbad", "failure", "bad", 1)]
    assert found.rows_in == 10_001


def test_coding_agent_result_before_its_call_joins_too() -> None:
    call = spoken("u1", "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}])
    result = spoken("u2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}])
    forward, backward = (
        read("coding-agent-jsonl", lines(*pair)).drafts for pair in ((call, result), (result, call))
    )
    assert column(forward, "content") == column(backward, "content") == ["ok"]


def test_coding_agent_documents_without_sessions_are_one_named_by_their_file() -> None:
    record = {
        "type": "user",
        "timestamp": "2026-05-01T10:00:00Z",
        "message": {"role": "user", "content": "x"},
    }
    named = {**record, "sessionId": "s"}
    document = json.dumps({"loglines": [record, named]}).encode()
    reader = reader_named("coding-agent-jsonl")
    for data, file_name, expected in (
        (document, "traces.zip/deep/talk.json", ["talk", "s"]),
        (document, "standard input", [None, "s"]),
        (lines(record, named).encode(), "talk.jsonl", [None, "s"]),
    ):
        [batch] = reader.read(io.BytesIO(data), file_name, IngestPolicy())
        assert batch.drafts["session_id"].to_list() == expected


def test_coding_agent_injected_words_are_not_the_users() -> None:
    found = read(
        "coding-agent-jsonl",
        lines(
            {"type": "summary", "summary": "What was done", "leafUuid": "z"},
            spoken("a", "user", "Fix it <system-reminder>be good</system-reminder> please"),
            spoken("b", "user", "<command-name>/clear</command-name>"),
            spoken("c", "user", "meta", isMeta=True),
            spoken("d", "assistant", [{"type": "text", "text": "ok"}], isSidechain=True),
            {"type": "file-history-snapshot", "messageId": "x"},
        ),
    )
    rows = {d["natural_id"]: (d["content"], d["is_injected"]) for d in found.drafts}
    assert rows == {
        "summary/z": ("What was done", None),
        "a": ("Fix it  please", None),
        "a/injected": ("<system-reminder>be good</system-reminder>", True),
        "b": ("<command-name>/clear</command-name>", True),
        "c": ("meta", True),
        "d": ("ok", None),
    }
    assert found.drafts[0]["event_at"] == "2025-01-01T00:00:00Z"
    assert '"isSidechain":true' in str(found.drafts[-1]["metadata"])
    assert found.left_out == {"bookkeeping": 1}


ALL = [reader.name for reader in READERS]
KEYS = [
    *("id", "uuid", "type", "role", "content", "text", "messages", "mapping", "message", "author", "parts"),
    *("metadata", "chat_messages", "sender", "tool_calls", "function", "name", "tool_use_id", "is_error"),
    *("parent", "current_node", "timestamp", "create_time", "summary", "input", "a", "b"),
]
LOOSE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60)
@given(data=st.one_of(st.binary(max_size=60), LOOSE.map(lambda v: json.dumps(v).encode())))
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    read(name, data, IngestPolicy(batch_rows=2, batch_bytes=64))


@pytest.mark.parametrize("wrap", ["messages", "chat_messages", "mapping", "message"])
@settings(max_examples=80)
@given(inner=LOOSE, kind=st.sampled_from(["user", "assistant", "system", "summary"]))
def test_any_json_below_the_known_keys(wrap: str, inner: object, kind: str) -> None:
    name = {"messages": "openai-messages", "chat_messages": "claude-export", "mapping": "chatgpt-export"}
    for value in (
        inner,
        [inner],
        {"a": inner},
        {"a": {"message": inner}},
        {"role": "tool", "content": inner},
    ):
        read(name.get(wrap, "coding-agent-jsonl"), json.dumps({wrap: value, "type": kind}))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "data", [b'{"a":' * 5_000, b"[" * 100_000, b'{"content": "' + b"9" * 100, b'{"id": ' + b"9" * 5000 + b"}"]
)
def test_deep_and_cut_json(name: str, data: bytes) -> None:
    read(name, data)


def test_detection() -> None:
    told = {
        lines(CONVERSATION): "openai-messages",
        json.dumps([CONVERSATION], indent=2): "openai-messages",
        json.dumps([TREE]): "chatgpt-export",
        json.dumps({"chat_messages": []}): "claude-export",
        lines(spoken("a", "user", "x")): "coding-agent-jsonl",
        '{"loglines": [\n {"type": "user"}]}': "coding-agent-jsonl",
        lines({"content": "x"}): "slowwave-jsonl",
        '{"content": "' + "x" * 1000: "slowwave-jsonl",
        "id,content\n1,x": "slowwave-csv",
        "": "slowwave-jsonl",
        "nothing of the kind": None,
        lines({"other": "shape"}): None,
        '{"data": {"messages": [], "content": "x"},\n "mapping2": 1}': None,
    }
    for text, name in told.items():
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:60]
        utf16 = detect(text.encode("utf-16"), "")
        assert (utf16.name if utf16 else None) == name, text[:60]


EXPECTED = {
    "chat_export_samples/chatgpt/representatives/sample-00.json": (
        "chatgpt-export",
        2,
        0,
        {"abandoned_branch": 1},
    ),
    "chat_export_samples/chatgpt/representatives/sample-01.json": (
        "chatgpt-export",
        3,
        0,
        {"abandoned_branch": 1},
    ),
    "chat_export_samples/claude-ai/representatives/sample-00.json": ("claude-export", 3, 0, {}),
    "chat_export_samples/claude-ai/representatives/sample-01.json": ("claude-export", 6, 0, {}),
    "claude_code_jsonl/daaain_edge_cases.jsonl": ("coding-agent-jsonl", 13, 6, {}),
    "claude_code_jsonl/daaain_representative_messages.jsonl": ("coding-agent-jsonl", 10, 0, {}),
    "claude_code_jsonl/daaain_session_b.jsonl": ("coding-agent-jsonl", 3, 0, {}),
    "claude_code_jsonl/daaain_todowrite_examples.jsonl": ("coding-agent-jsonl", 9, 0, {}),
    "claude_code_jsonl/simonw_sample_session.json": ("coding-agent-jsonl", 26, 0, {"thinking": 1}),
    "claude_code_jsonl/simonw_sample_session.jsonl": ("coding-agent-jsonl", 7, 0, {}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_real_traces(real_data: Path, name: str) -> None:
    data = (real_data / "formats" / name).read_bytes()
    form, drafts, refusals, left_out = EXPECTED[name]
    reader = detect(data[: IngestPolicy().sniff_bytes], name)
    assert reader is not None
    assert reader.name == form
    found = read(form, data)
    assert (len(found.drafts), len(found.refusals), found.left_out) == (drafts, refusals, left_out)


def test_real_edge_cases(real_data: Path) -> None:
    data = (real_data / "formats" / "claude_code_jsonl" / "daaain_edge_cases.jsonl").read_bytes()
    found = read("coding-agent-jsonl", data)
    failed = next(d for d in found.drafts if d["natural_id"] == "tool_edge_001")
    assert (failed["tool_name"], failed["outcome"]) == ("FailingTool", "failure")
    assert [d["source_line"] for d in found.drafts if d["is_injected"]] == [6, 7, 8]
    assert [r["source_line"] for r in found.refusals] == [10, 11, 13, 14, 15, 16]


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 9, in go\n    raise it\n'
UNCLOSED = '  File "a.py", line 3\n    go(\n      ^\nSyntaxError: never closed'
NOTEBOOK = "Traceback (most recent call last)\nCell In[3], line 1\n----> 1 go\n\nNameError: no go"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("Exit code 1\n===== FAILURES =====\ntest_sum - expected 5", "test_sum - expected 5"),
        ("Error: no such table\n-----\nmore", "Error: no such table"),
        ("Exit code 2\n^^^^^", "^^^^^"),
        (f"Exit code 1\n2 rows\n{TRACE}KeyError: 'a'\nbye", "KeyError: 'a'"),
        (
            f"{TRACE}ValueError: first\n\nDuring handling:\n\n{TRACE}KeyError: 'second'\n",
            "KeyError: 'second'",
        ),
        (f"Exit code 1\n{UNCLOSED}", "SyntaxError: never closed"),
        (f"Exit code 1\n{TRACE}{UNCLOSED}\nbye", "SyntaxError: never closed"),
        (NOTEBOOK, "NameError: no go"),
        (f"Error: disk full\n{TRACE}OSError: 28\n", "Error: disk full"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
    ],
)
def test_the_reason_of_a_failure_is_its_exception_or_first_line(result: str, reason: str) -> None:
    assert failure_of(result, IngestPolicy()) == reason


AT = "2026-03-01T09:00:00Z"
TOLD = {"type": "tool_result", "tool_use_id": "gone", "content": "no seats", "is_error": True}
SEAT = {"role": "tool", "tool_call_id": "gone", "content": "Error: no seats"}


@pytest.mark.parametrize(
    ("name", "record", "reason"),
    [
        ("openai-messages", {"created": AT, "messages": [SEAT]}, "Error: no seats"),
        (
            "openai-messages",
            {"created": AT, "messages": [SEAT | {"content": "no seats", "is_error": True}]},
            "no seats",
        ),
        (
            "coding-agent-jsonl",
            {
                "type": "user",
                "sessionId": "s",
                "timestamp": AT,
                "message": {"role": "user", "content": [TOLD]},
            },
            "no seats",
        ),
        (
            "claude-export",
            {"chat_messages": [{"uuid": "m", "sender": "assistant", "created_at": AT, "content": [TOLD]}]},
            "no seats",
        ),
        (
            "chatgpt-export",
            {
                "current_node": "n",
                "mapping": {
                    "n": {
                        "message": {
                            "id": "m",
                            "author": {"role": "tool", "name": "python"},
                            "create_time": 1_770_000_000,
                            "content": {"content_type": "text", "parts": ["Error: no seats"]},
                        }
                    }
                },
            },
            "Error: no seats",
        ),
        (
            "atif",
            {
                "schema_version": "ATIF-v1.7",
                "steps": [
                    {
                        "step_id": 1,
                        "timestamp": AT,
                        "source": "agent",
                        "observation": {"results": [{"content": "Error: no seats"}]},
                    }
                ],
            },
            "Error: no seats",
        ),
        (
            "langsmith-runs",
            {"id": "r", "trace_id": "r", "run_type": "llm", "start_time": AT, "inputs": {"messages": [SEAT]}},
            "Error: no seats",
        ),
        ("tau-bench", {"messages_display": "tool: Error: no seats"}, "Error: no seats"),
    ],
)
def test_a_result_without_its_call_says_how_it_ended(name: str, record: object, reason: str) -> None:
    [row] = read(name, json.dumps(record)).drafts
    assert (row["kind"], row["role"]) == ("observation", "tool")
    assert (row["outcome"], row["failure_reason"]) == ("failure", reason)


def test_a_source_that_says_a_call_went_well_is_believed() -> None:
    told = [SEAT | {"is_error": is_error} for is_error in (False, None)]
    found = read("openai-messages", json.dumps({"created": AT, "messages": told}))
    assert column(found.drafts, "outcome") == ["success", "failure"]
