"""``gemini-cli``: sessions of Gemini CLI, its checkpoints (``/chat save``) and its log of prompts.

A session is one JSON document with ``messages``, or JSON lines of which a later one with the same id is the
message as it came to be; ``$rewindTo`` takes messages back. A tool call stands in the message that made it,
with its result. A checkpoint is the history alone and names no time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.gemini_history import History, opening
from transforms.readers.gemini_rows import Messages
from transforms.readers.records import Record, json_records
from transforms.readers.runs import run_id
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, type_name

_SESSION_KEYS = frozenset({"sessionId", "projectHash"})
_LOG_KEYS = frozenset({"sessionId", "messageId", "message", "type"})
_CONTENT_KEYS = frozenset({"role", "parts"})
_HISTORY = b'"history"'


class GeminiCli:
    """Reader of Gemini CLI sessions, checkpoints and logs."""

    name = "gemini-cli"
    about = "Sessions, checkpoints and prompt logs of Gemini CLI; a record is one message."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A session with ``projectHash``, log entries with ``messageId``, or contents with ``parts``."""
        keys = top_keys(head)
        if keys >= _SESSION_KEYS or keys >= _LOG_KEYS or any(_is_session(r) for r in json_lines(head)):
            return True
        if head.lstrip().startswith(b"["):
            return keys >= _CONTENT_KEYS
        _, mark, rest = head.partition(_HISTORY)
        return "history" in keys and bool(mark) and top_keys(rest.lstrip(b" \t\r\n:")) >= _CONTENT_KEYS

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item of a JSON document."""
        collector = Collector(file_name, policy)
        session = _Session(collector, policy)
        contents: list[Record] = []
        for record in json_records(stream, policy):
            if isinstance(record.value, dict) and "parts" in record.value and "sessionId" not in record.value:
                contents.append(record)  # a checkpoint of the older form is the list of its contents
                continue
            try:
                if isinstance(record.value, JsonFault):
                    raise record.value
                session.read(record.value, record.number)
            except JsonFault as fault:
                collector.refuse(fault, record.raw, record.number)
            if session.is_full or collector.is_full:
                session.finish()
                yield from collector.flush()
        session.finish()
        _read_history([record.value for record in contents], collector, policy, 1)
        yield from collector.flush()


def _is_session(record: Mapping[str, object]) -> bool:
    return set(record) >= _SESSION_KEYS or set(record) >= _LOG_KEYS


class _Session:
    """Tells records apart and gives the messages of one session after another to ``Messages``."""

    def __init__(self, collector: Collector, policy: IngestPolicy) -> None:
        self._collector = collector
        self._policy = policy
        self._messages = Messages(collector, policy, {})

    @property
    def is_full(self) -> bool:
        return self._messages.is_full

    def finish(self) -> None:
        self._messages.finish()

    def read(self, record: Mapping[str, object], number: int) -> None:
        """Read one record.

        Raises:
            JsonFault: It cannot be read.
        """
        if "history" in record:
            history = record["history"]
            if not isinstance(history, list):
                raise JsonFault("bad_field_type", f"history is {type_name(history)}, not a list")
            _read_history(history, self._collector, self._policy, number)
        elif "messageId" in record:
            self._read_prompt(record, number)
        elif "$rewindTo" in record:
            self._collector.leave_out("bookkeeping")
            self._messages.rewind_to(record["$rewindTo"])
        elif "$set" in record:
            self._read_update(record["$set"], number, "$set")
        elif "$push" in record:
            self._read_update(record["$push"], number, "$push")
        elif "$patch" in record:
            self._collector.leave_out("bookkeeping")
        elif "sessionId" in record and "type" not in record:
            self._read_head(record, number)
        else:
            self._messages.add(record, number)

    def _read_head(self, record: Mapping[str, object], number: int) -> None:
        """The line, or the document, about a session."""
        self._messages.finish()
        self._messages = Messages(self._collector, self._policy, record)
        messages = record.get("messages")
        if messages is None:
            self._collector.leave_out("bookkeeping")
            return
        if not isinstance(messages, list):
            raise JsonFault("bad_field_type", f"messages is {type_name(messages)}, not a list")
        if not messages:
            self._collector.leave_out("empty_conversation")
        self._add_each(messages, number, is_new=False)

    def _read_update(self, update: object, number: int, name: str) -> None:
        """New facts about the session; a history made shorter to go on with adds only what is new in it."""
        if not isinstance(update, dict):
            raise JsonFault("bad_field_type", f"{name} is {type_name(update)}, not an object")
        self._messages.update(update)
        messages = update.get("messages")
        self._collector.leave_out("bookkeeping")
        if isinstance(messages, list):
            self._add_each(messages, number, is_new=True)

    def _add_each(self, messages: Sequence[object], number: int, *, is_new: bool) -> None:
        for message in messages:
            try:
                if not isinstance(message, dict):
                    raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
                if is_new and self._messages.knows(message.get("id")):
                    self._collector.leave_out("repeated")
                else:
                    self._messages.add(message, number)
            except JsonFault as fault:
                self._collector.refuse(fault, message, number)

    def _read_prompt(self, record: Mapping[str, object], number: int) -> None:
        """An entry of ``logs.json``: what the user typed, in any session of a project."""
        session = id_or_none(record.get("sessionId"), "sessionId")
        entry = id_or_none(record.get("messageId"), "messageId")
        own = None if session is None or entry is None else f"{session}/log/{entry}"
        message = {**record, "id": own, "content": record.get("message")}
        prompts = Messages(self._collector, self._policy, {"sessionId": session})
        prompts.add({k: v for k, v in message.items() if k not in ("messageId", "message")}, number)
        prompts.finish()


def _read_history(history: Sequence[object], collector: Collector, policy: IngestPolicy, number: int) -> None:
    """The contents of a checkpoint, one session named by what it began with."""
    if not history:
        return
    session = History(collector, policy, run_id(opening(history)), number)
    for index, content in enumerate(history):
        try:
            session.read(content, index)
        except JsonFault as fault:
            collector.refuse(fault, content, number)
    session.finish()
