"""Memories that an agent recalled into a user's message are tagged, whatever the format of its log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.transforms.readers.reading import read
from transforms.rendering import FOOTER, HEADER

RECALLED = f"{HEADER}<memory id=0f kind=fact>I am allergic to shrimp.</memory>\n{FOOTER}"
SAID = "Which soup is safe for me?"


def _openai(text: str) -> dict[str, Any]:
    return {"id": "c1", "messages": [{"id": "m1", "role": "user", "content": text}]}


def _claude(text: str) -> dict[str, Any]:
    return {"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": text}]}


def _run(text: str) -> dict[str, Any]:
    return {"history": [{"role": "user", "content": text}], "trajectory": []}


@pytest.mark.parametrize(
    ("name", "shape"), [("openai-messages", _openai), ("claude-export", _claude), ("swe-agent-traj", _run)]
)
def test_recalled_memories_are_not_the_users_words(name: str, shape: Any) -> None:
    rows = read(name, json.dumps(shape(f"{RECALLED}\n{SAID}"))).drafts
    found = [(row["content"], row["is_injected"], row["role"]) for row in rows]
    assert found == [(RECALLED, True, "user"), (SAID, None, "user")]
    assert rows[0]["natural_id"] == f"{rows[1]['natural_id']}/injected"
    (alone,) = read(name, json.dumps(shape(RECALLED))).drafts
    assert (alone["content"], alone["is_injected"]) == (RECALLED, True)
    assert alone["natural_id"] is not None
    (plain,) = read(name, json.dumps(shape("x < y, and <b>memories</b> too"))).drafts
    assert plain["is_injected"] is None
