"""``chatgpt-export``: ``conversations.json``, a list of conversations, or a single one.

A conversation is a tree. What was said is the path from ``current_node`` up to the root; other
branches are regenerated or edited away, and are counted. A call to a tool is an assistant message
addressed to it; the tool message that follows on the path is its result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.accounts import exported
from transforms.readers.batch import Batch, Collector
from transforms.readers.blocks import Result, ending_of
from transforms.readers.chatgpt_message import Message, message_of
from transforms.readers.each_record import batches
from transforms.readers.lines import START, Point
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, dump_json, id_or_none, load_json, type_name
from transforms.readers.times import iso_time

_MAPPED = (
    "id",
    "conversation_id",
    "user_id",
    "title",
    "create_time",
    "update_time",
    "current_node",
    "mapping",
)
"""Fields of a conversation that have a place of their own; others that are single values go to metadata."""


class ChatgptExport:
    """Reader of the ChatGPT data export."""

    name = "chatgpt-export"
    about = "The data export of ChatGPT (conversations.json or its zip); a record is one conversation."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Conversations with a ``mapping`` of nodes."""
        records = json_lines(head)
        if records and not any(isinstance(record.get("mapping"), dict) for record in records):
            return False
        return "mapping" in top_keys(head)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the item number of the conversation."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``: of the conversations before the point only the accounts are read."""
        collector = Collector(file_name, policy)
        with exported(stream, policy, lambda value: value.get("user_id"), point) as export:

            def read_one(record: dict[str, object], number: int, raw: object) -> None:
                _Tree(collector, policy, number, names_user=export.names_user).read(record)

            yield from batches(collector, export.records, read_one, lambda: export.point)


class _Tree:
    def __init__(self, collector: Collector, policy: IngestPolicy, number: int, *, names_user: bool) -> None:
        self._collector = collector
        self._policy = policy
        self._number = number
        self._names_user = names_user
        self._scope: dict[str, object] = {}
        self._time: str | None = None
        self._metadata: dict[str, object] = {}

    def read(self, conversation: Mapping[str, object]) -> None:
        nodes = conversation.get("mapping")
        if not isinstance(nodes, dict):
            raise JsonFault("bad_field_type", f"mapping is {type_name(nodes)}, not an object")
        session = conversation.get("conversation_id")
        account = id_or_none(conversation.get("user_id"), "user_id")
        self._scope = {
            "session_id": id_or_none(conversation.get("id") if session is None else session, "id"),
            "user_id": account if self._names_user else None,
            "source_line": self._number,
        }
        self._time = iso_time(conversation.get("create_time"), "create_time")
        known = {"title": conversation.get("title"), "account_id": account}
        self._metadata = {**scalars(conversation, _MAPPED), **known}
        path = _path(nodes, conversation.get("current_node"))
        on_path = set(path)
        spoken = {k for k, n in nodes.items() if not isinstance(n, dict) or n.get("message") is not None}
        self._collector.leave_out("abandoned_branch", sum(k not in on_path for k in spoken))
        self._read_path([(k, nodes[k]) for k in path if k in spoken])

    def _read_path(self, nodes: list[tuple[str, object]]) -> None:
        messages: list[tuple[Message, int]] = []
        for turn, (key, node) in enumerate(nodes):
            try:
                messages.append((message_of(key, node), turn))
            except JsonFault as fault:
                self._collector.refuse(fault, node, self._number)
        is_result = False
        for position, (message, turn) in enumerate(messages):
            if is_result:
                is_result = False
                continue
            follower = messages[position + 1][0] if position + 1 < len(messages) else None
            result = follower if follower is not None and follower.role == "tool" else None
            if message.is_call or (message.is_addressed and result is not None):
                self._draft_call(message, result, turn)
                is_result = result is not None
            else:
                self._draft_text(message, turn)

    def _draft_text(self, message: Message, turn: int) -> None:
        if not message.text.strip():
            self._collector.leave_out("thinking" if message.is_thinking else "empty_message")
            return
        is_tool = message.role == "tool"
        self._collector.draft(
            **self._scope,
            natural_id=message.message_id,
            kind="observation" if is_tool else None,
            role=message.role,
            speaker=None if is_tool else message.name,
            tool_name=message.name if is_tool else None,
            content=message.text,
            event_at=message.event_at or self._time,
            parent_id=message.parent_id,
            turn_index=turn,
            is_injected=True if message.is_injected else None,
            metadata=metadata_of({**self._metadata, **message.metadata}),
            **(self._ending(message) if is_tool else {}),
        )

    def _draft_call(self, call: Message, result: Message | None, turn: int) -> None:
        text = result.text if result else ""
        self._collector.draft(
            **self._scope,
            natural_id=call.message_id,
            kind="action",
            role="tool",
            tool_name=call.recipient,
            tool_arguments=_arguments(call.text),
            content=text,
            event_at=call.event_at or self._time,
            parent_id=call.parent_id,
            turn_index=turn,
            metadata=metadata_of({**self._metadata, **call.metadata}),
            **(self._ending(result) if result else {}),
        )

    def _ending(self, message: Message) -> dict[str, object]:
        """How a call ended, from its result; only a failure is told."""
        return ending_of(Result(None, None, message.text, message.is_failed or None), self._policy)


def _arguments(text: str) -> str | None:
    """The call as JSON: as it is if it is an object, else as one string."""
    if not text:
        return None
    if text.lstrip().startswith("{"):
        try:
            load_json(text.encode())
        except JsonFault:
            return dump_json(text)
        return text
    return dump_json(text)


def _path(nodes: Mapping[str, object], current: object) -> list[str]:
    """Node ids from the root to the current node; without one, to the leaf last written.

    A node that does not tell what it follows is told by the one that names it as its child: for one damaged
    link, all that was said before would pass for an abandoned branch.
    """
    key: object = current if isinstance(current, str) and current in nodes else _last_leaf(nodes)
    path: list[str] = []
    seen: set[str] = set()
    above: dict[str, str] | None = None
    while isinstance(key, str) and key in nodes and key not in seen:
        seen.add(key)
        path.append(key)
        node = nodes[key]
        told = node.get("parent") if isinstance(node, dict) else None
        if not (isinstance(told, str) and told in nodes):
            above = _parents(nodes) if above is None else above
            told = above.get(key)
        key = told
    return path[::-1]


def _parents(nodes: Mapping[str, object]) -> dict[str, str]:
    """Child -> node, as nodes name their children."""
    named = {key: n.get("children") for key, n in nodes.items() if isinstance(n, dict)}
    lists = {key: own for key, own in named.items() if isinstance(own, list)}
    return {child: key for key, own in lists.items() for child in own if isinstance(child, str)}


def _last_leaf(nodes: Mapping[str, object]) -> str | None:
    parents = {
        n.get("parent") for n in nodes.values() if isinstance(n, dict) and isinstance(n.get("parent"), str)
    }
    leaves = [key for key in nodes if key not in parents]
    return max(leaves, key=lambda key: (_written(nodes[key]), key), default=None)


def _written(node: object) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, int | float) and math.isfinite(time) else 0.0
