"""Writes sessions in the forms that other programs export. Each function returns file content."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from samples.script_text import Session, Turn

ROLE = {"U": "user", "A": "assistant", "X": "assistant", "T": "tool", "F": "tool"}
PACKED_AT = (2026, 6, 30, 0, 0, 0)
"""Time on every member of the zip; real clocks would change its bytes."""


def uid(*parts: str) -> str:
    """A UUID that depends on nothing but its parts."""
    return str(uuid5(NAMESPACE_URL, "/".join(("slowwave-samples", *parts))))


def json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """One JSON object a line, UTF-8, keys in the order given."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def json_document(value: object) -> bytes:
    """One indented JSON document, UTF-8."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _zulu(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def openai_messages(sessions: Sequence[Session]) -> bytes:
    """One record a session; a tool call is an assistant message and a tool message.

    The first session times each message; the others only carry ``created_at``, and the first
    user message of each is a list of content parts.
    """
    records = []
    for index, session in enumerate(sessions):
        messages: list[dict[str, Any]] = []
        for turn in session.turns:
            parts = _openai_turn(turn)
            if not messages:
                parts[0]["content"] = [{"type": "text", "text": turn.text}]
            if index == 0:
                parts = [{**part, "timestamp": turn.event_at.isoformat()} for part in parts]
            messages += parts
        records.append(
            {
                "id": session.session_id,
                "tenant_id": session.tenant_id,
                "user_id": session.user_id,
                "agent_id": session.agent_id,
                "session_id": session.session_id,
                "created_at": session.started_at.isoformat(),
                "messages": messages,
            }
        )
    return json_lines(records)


def _openai_turn(turn: Turn) -> list[dict[str, Any]]:
    if turn.tool_name is None:
        return [{"role": ROLE[turn.mark], "content": turn.text}]
    call_id = f"call_{turn.turn_id}"
    arguments = json.dumps(turn.tool_arguments, ensure_ascii=False)
    function = {"name": turn.tool_name, "arguments": arguments}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": turn.text},
    ]


def chatgpt_zip(sessions: Sequence[Session]) -> bytes:
    """The zip of a ChatGPT export: ``conversations.json`` and the page that comes with it.

    Members are stored, not deflated: compressed bytes differ between builds of zlib.
    """
    members = {
        "conversations.json": json_document([_chatgpt_conversation(s) for s in sessions]),
        "chat.html": b"<html><body>See conversations.json</body></html>\n",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, PACKED_AT)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _chatgpt_conversation(session: Session) -> dict[str, Any]:
    root = uid(session.session_id, "root")
    mapping: dict[str, dict[str, Any]] = {root: {"id": root, "message": None, "parent": None, "children": []}}
    tip = root
    for turn in session.turns:
        node = uid(turn.turn_id)
        mapping[tip]["children"].append(node)
        mapping[node] = {
            "id": node,
            "message": _chatgpt_message(node, turn),
            "parent": tip,
            "children": [],
        }
        if turn.mark != "X":
            tip = node
    conversation = uid(session.session_id)
    return {
        "id": conversation,
        "conversation_id": conversation,
        "title": session.options["title"],
        "create_time": session.started_at.timestamp(),
        "update_time": session.turns[-1].event_at.timestamp(),
        "current_node": tip,
        "mapping": mapping,
    }


def _chatgpt_message(node: str, turn: Turn) -> dict[str, Any]:
    return {
        "id": node,
        "author": {"role": ROLE[turn.mark], "name": None, "metadata": {}},
        "create_time": turn.event_at.timestamp(),
        "update_time": None,
        "content": {"content_type": "text", "parts": [turn.text]},
        "status": "finished_successfully",
        "end_turn": turn.mark != "U",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }


def claude_json(sessions: Sequence[Session]) -> bytes:
    """A Claude.ai export: a list of conversations with ``chat_messages`` of content blocks."""
    return json_document([_claude_conversation(s) for s in sessions])


def _claude_conversation(session: Session) -> dict[str, Any]:
    messages = []
    for turn in session.turns:
        at = _zulu(turn.event_at)
        block = {"type": "text", "text": turn.text, "citations": []}
        messages.append(
            {
                "uuid": uid(turn.turn_id),
                "text": turn.text,
                "content": [{**block, "start_timestamp": at, "stop_timestamp": at}],
                "sender": "human" if turn.mark == "U" else "assistant",
                "created_at": at,
                "updated_at": at,
                "attachments": [],
                "files": [],
            }
        )
    return {
        "uuid": uid(session.session_id),
        "name": session.options["title"],
        "summary": "",
        "created_at": _zulu(session.started_at),
        "updated_at": _zulu(session.turns[-1].event_at),
        "account": {"uuid": uid(session.user_id)},
        "chat_messages": messages,
    }


def coding_agent(sessions: Sequence[Session]) -> bytes:
    """A coding agent's transcript: a line an event, linked by ``parentUuid``."""
    return json_lines(line for session in sessions for line in _coding_lines(session))


def _coding_lines(session: Session) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    parent: str | None = None
    for turn in session.turns:
        if turn.mark == "M":
            leaf = uid(session.turns[-1].turn_id, "0")
            lines.append({"type": "summary", "summary": turn.text, "leafUuid": leaf})
            continue
        for number, (kind, content) in enumerate(_coding_messages(turn)):
            line_id = uid(turn.turn_id, str(number))
            line = {
                "parentUuid": parent,
                "isSidechain": turn.mark == "K",
                "userType": "external",
                "cwd": "/project",
                "sessionId": session.session_id,
                "type": kind,
                "message": {"role": kind, "content": content},
                "uuid": line_id,
                "timestamp": _zulu(turn.event_at),
            }
            lines.append({**line, "isMeta": True} if turn.mark == "S" else line)
            if turn.mark != "K":
                parent = line_id
    return lines


def _coding_messages(turn: Turn) -> list[tuple[str, str | list[dict[str, Any]]]]:
    """Messages of one turn: (user or assistant, content)."""
    if turn.mark == "S":
        return [("user", f"<system-reminder>{turn.text}</system-reminder>")]
    if turn.mark in "UK":
        return [("user", turn.text)]
    if turn.tool_name is None:
        return [("assistant", [{"type": "text", "text": turn.text}])]
    call = uid(turn.turn_id, "call")[:8]
    use = {
        "type": "tool_use",
        "id": f"toolu_{call}",
        "name": turn.tool_name,
        "input": turn.tool_arguments,
    }
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{call}",
        "content": turn.text,
        "is_error": turn.mark == "F",
    }
    return [("assistant", [use]), ("user", [result])]
