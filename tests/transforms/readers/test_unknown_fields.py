"""Fields that no reader knows are kept in the metadata of the rows that they are said of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.transforms.readers.reading import read

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
