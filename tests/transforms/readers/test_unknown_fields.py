"""Fields that no reader knows are kept in the metadata of the rows that they are said of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.transforms.readers.every import as_json, samples
from tests.transforms.readers.reading import lines, read

OF_ALL = {"lantern": "of all"}
OF_ONE = {"ballast": 7}

CHATGPT = {
    **OF_ALL,
    "id": "c1",
    "title": "Moorings",
    "current_node": "n1",
    "mapping": {
        "n1": {
            "message": {
                **OF_ONE,
                "id": "m1",
                "status": "finished_successfully",
                "weight": 1.0,
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": ["Where do I moor?"]},
                "metadata": {"keel": "deep", "request_id": "r1"},
                "create_time": 1767225600,
            }
        }
    },
}
CLAUDE = {
    **OF_ALL,
    "uuid": "c1",
    "name": "Moorings",
    "summary": "They spoke of moorings.",
    "chat_messages": [
        {**OF_ONE, "uuid": "m1", "sender": "human", "text": "Where do I moor?", "keel": "deep"},
    ],
}
CHAT = {
    "version": "1.0.0",
    "session_meta": {**OF_ALL, "group_id": "g1", "name": "Moorings", "description": "Of boats"},
    "conversation_list": [
        {**OF_ONE, "message_id": "m1", "sender": "p-ada", "content": "Where do I moor?", "keel": "deep"}
    ],
}
RUN = {
    **OF_ALL,
    "history": [{**OF_ONE, "role": "user", "content": "Where do I moor?", "keel": "deep"}],
    "trajectory": [],
}
MESSAGES = {
    **OF_ALL,
    "id": "c1",
    "messages": [{**OF_ONE, "role": "user", "content": "Where do I moor?", "keel": "deep"}],
}


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("chatgpt-export", CHATGPT),
        ("claude-export", CLAUDE),
        ("group-chat", CHAT),
        ("swe-agent-traj", RUN),
        ("openai-messages", MESSAGES),
    ],
)
def test_unknown_fields_are_kept(name: str, record: dict[str, Any]) -> None:
    (row,) = read(name, json.dumps(record)).drafts
    kept = json.loads(str(row["metadata"]))
    assert {**OF_ALL, **OF_ONE, "keel": "deep"}.items() <= kept.items()
    assert kept.keys() <= {*OF_ALL, *OF_ONE, "keel", "title", "sender"}


def _told(value: object, path: tuple[str, ...]) -> object:
    """A document with a field that nobody knows in the objects at a path; ``[]`` are the items of a list."""
    if not path:
        assert isinstance(value, dict)
        return {**value, "lantern": "of one"}
    if path[0] == "[]":
        assert isinstance(value, list)
        return [_told(item, path[1:]) for item in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    return {**value, path[0]: _told(value[path[0]], path[1:])}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("atif", "agent"),
        ("atif", "steps.[]"),
        ("codex-jsonl", ""),
        ("codex-jsonl", "payload"),
        ("coding-agent-jsonl", ""),
        ("coding-agent-jsonl", "message"),
        ("gemini-cli", ""),
        ("gemini-cli", "toolCalls.[]"),
        ("group-chat", ""),
        ("group-chat", "session_meta"),
        ("langfuse-traces", "[].trace"),
        ("langfuse-traces", "[].observations.[]"),
        ("langgraph-store", ""),
        ("langsmith-runs", ""),
        ("langsmith-runs", "extra"),
        ("locomo", "[]"),
        ("locomo", "[].conversation"),
        ("locomo", "[].conversation.session_1.[]"),
        ("longmemeval", "[]"),
        ("longmemeval", "[].haystack_sessions.[].[]"),
        ("mem0-export", "results.[]"),
        ("openai-messages", ""),
        ("otel-spans", "resourceSpans.[].scopeSpans.[].spans.[]"),
        ("slack-export", "[]"),
        ("slowwave-jsonl", ""),
        ("swe-agent-traj", "trajectory.[]"),
        ("tau-bench", "[]"),
        ("who-and-when", ""),
        ("zep-export", "edges.[]"),
    ],
)
def test_in_the_samples_they_are_kept_too(name: str, path: str) -> None:
    _, data = samples()[name]
    documents, is_lines = as_json(data) or ([], False)
    more = [_told(document, tuple(filter(None, path.split(".")))) for document in documents]
    calm, told = read(name, data), read(name, lines(*more) if is_lines else json.dumps(more[0]))
    kept = [json.loads(str(row["metadata"])) for row in told.drafts if row["metadata"]]
    assert any(row.get("lantern") == "of one" for row in kept)
    assert told.left_out == calm.left_out
    but_metadata = [[{**row, "metadata": None} for row in found.drafts] for found in (calm, told)]
    assert but_metadata[0] == but_metadata[1]


def test_of_a_span_what_the_wire_and_the_kit_say_is_no_field_of_it() -> None:
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "name": "chat",
        "kind": 3,
        "flags": 257,
        "traceState": "a=b",
        "droppedEventsCount": 2,
        "_ended": True,
        "startTimeUnixNano": "1767225600000000000",
        "status": {"code": 1},
        "attributes": {
            "gen_ai.operation.name": "chat",
            "input.value": "Where do I moor?",
            "output.value": "At the pier.",
        },
        "attributes.gen_ai.request.model": "m1",
        "keel": "deep",
    }
    asked, answered = (json.loads(str(row["metadata"])) for row in read("otel-spans", lines(span)).drafts)
    of_span = {"span_id": span["spanId"], "trace_id": span["traceId"], "span_name": "chat", "model": "m1"}
    assert answered == {**of_span, "gen_ai.operation.name": "chat", "keel": "deep"}
    assert asked == of_span
