"""``claude-export``: ``conversations.json`` of Claude.ai, a list of conversations or a single one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.accounts import exported
from transforms.readers.batch import Batch, Collector
from transforms.readers.blocks import Blocks, Call, Result, action_fields, blocks_of, result_fields
from transforms.readers.each_record import batches
from transforms.readers.lines import START, Point
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_ROLES = {"human": "user"}

_MAPPED = (
    "uuid", "name", "account", "created_at", "updated_at", "chat_messages", "summary",
    "current_leaf_message_uuid",
)  # fmt: skip
"""Fields with a place of their own, or none; others that are single values go to metadata."""
_MESSAGE_MAPPED = (
    "uuid", "text", "content", "sender", "created_at", "updated_at", "attachments", "files", "index",
    "parent_message_uuid",
)  # fmt: skip


class ClaudeExport:
    """Reader of the Claude.ai data export."""

    name = "claude-export"
    about = "The data export of Claude.ai; a record is one conversation."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``chat_messages`` list."""
        records = json_lines(head)
        if records and not any("chat_messages" in record for record in records):
            return False
        return "chat_messages" in top_keys(head)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the item number of the conversation."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``: of the conversations before the point only the accounts are read."""
        collector = Collector(file_name, policy)
        with exported(stream, policy, _account, point) as export:

            def read_one(record: dict[str, object], number: int, raw: object) -> None:
                _Chat(collector, policy, number, names_user=export.names_user).read(record)

            yield from batches(collector, export.records, read_one, lambda: export.point)


def _account(conversation: Mapping[str, object]) -> object:
    account = conversation.get("account")
    return account.get("uuid") if isinstance(account, dict) else None


class _Chat:
    def __init__(self, collector: Collector, policy: IngestPolicy, number: int, *, names_user: bool) -> None:
        self._collector = collector
        self._policy = policy
        self._number = number
        self._names_user = names_user
        self._scope: dict[str, object] = {}
        self._metadata: dict[str, object] = {}
        self._time: str | None = None

    def read(self, conversation: Mapping[str, object]) -> None:
        messages = conversation.get("chat_messages")
        if not isinstance(messages, list):
            raise JsonFault("bad_field_type", f"chat_messages is {type_name(messages)}, not a list")
        account = id_or_none(_account(conversation), "account")
        self._scope = {
            "session_id": id_or_none(conversation.get("uuid"), "uuid"),
            "user_id": account if self._names_user else None,
            "source_line": self._number,
        }
        known = {"title": conversation.get("name"), "account_id": account}
        self._metadata = {**scalars(conversation, _MAPPED), **known}
        self._time = iso_time(conversation.get("created_at"), "created_at")
        if not messages:
            self._collector.leave_out("empty_conversation")
        for turn, message in enumerate(messages):
            try:
                self._read_message(message, turn)
            except JsonFault as fault:
                self._collector.refuse(fault, message, self._number)

    def _read_message(self, message: object, turn: int) -> None:
        if not isinstance(message, dict):
            raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
        own_id = id_or_none(message.get("uuid"), "uuid")
        sender = text_or_none(message.get("sender"), "sender")
        text = text_or_none(message.get("text"), "text") or ""
        time = iso_time(message.get("created_at"), "created_at")
        parent_id = id_or_none(message.get("parent_message_uuid"), "parent_message_uuid")
        blocks = blocks_of(message.get("content"))
        pasted = _attachments(message)
        said = _words(text, blocks)
        kept = {**self._metadata, **scalars(message, _MESSAGE_MAPPED)}
        scope = self._scope | {
            "event_at": time if time is not None else self._time,
            "parent_id": parent_id,
            "turn_index": turn,
        }
        for block, fault in blocks.faults:
            self._collector.refuse(fault, block, self._number)
        self._collector.leave_out("thinking", blocks.thinking)
        if not said.strip():
            said, pasted = "\n\n".join(str(p["extracted_content"] or "") for p in pasted), []
        if said.strip():
            self._collector.draft(
                **scope,
                natural_id=own_id,
                role=_ROLES.get(sender or "", sender),
                content=said,
                metadata=metadata_of(
                    {
                        **kept,
                        "attachments": pasted,
                        "files": _file_names(message),
                        "other_parts": blocks.other_types,
                    }
                ),
            )
        elif blocks.is_empty or not (blocks.calls or blocks.results or blocks.thinking or blocks.faults):
            self._collector.leave_out("empty_message")
        self._draft_calls(blocks, scope, kept, own_id)

    def _draft_calls(
        self, blocks: Blocks, scope: dict[str, object], kept: dict[str, object], own_id: str | None
    ) -> None:
        if not (blocks.calls or blocks.results):
            return
        scope = scope | {"metadata": metadata_of(kept)}
        left = list(blocks.results)
        for position, call in enumerate(blocks.calls):
            result = next((r for r in left if _belongs(r, call)), None)
            if result is not None:
                left.remove(result)
            natural_id = call.call_id or _child(own_id, f"call/{position}")
            self._collector.draft(
                **scope,
                natural_id=natural_id,
                **action_fields(call, result, self._policy),
            )
        for position, result in enumerate(left):
            if not result.text.strip():
                self._collector.leave_out("empty_result")
                continue
            self._collector.draft(
                **scope,
                natural_id=_child(own_id, f"result/{position}"),
                **result_fields(result, self._policy),
            )


def _belongs(result: Result, call: Call) -> bool:
    """By id where both have one; older exports have none: by name, in order."""
    if result.call_id is not None and call.call_id is not None:
        return result.call_id == call.call_id
    return result.name is None or result.name == call.name


def _words(text: str, blocks: Blocks) -> str:
    """Text blocks, else the message's own text; then texts of unknown blocks that it lacks."""
    known = [t for t in blocks.texts if t.strip()] or [text]
    said = "\n\n".join(t for t in known if t.strip())
    for unknown in blocks.unknown_texts:
        if unknown.strip() and unknown not in said:
            said = f"{said}\n\n{unknown}" if said else unknown
    return said


def _attachments(message: Mapping[str, object]) -> list[dict[str, object]]:
    """Name and text of each attachment: a document, not the person's words, so metadata."""
    given = message.get("attachments")
    if not isinstance(given, list):
        return []
    names = ("file_name", "extracted_content")
    kept = [{n: a.get(n) for n in names} for a in given if isinstance(a, dict)]
    return [a for a in kept if isinstance(a["extracted_content"], str)]


def _file_names(message: Mapping[str, object]) -> list[str]:
    files = message.get("files")
    if not isinstance(files, list):
        return []
    return [f["file_name"] for f in files if isinstance(f, dict) and isinstance(f.get("file_name"), str)]


def _child(parent: str | None, part: str) -> str | None:
    return None if parent is None else f"{parent}/{part}"
