"""One OpenAI-style record -> drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Result, ending_of
from transforms.readers.parts import Content, content_of, metadata_of, scalars
from transforms.readers.row_shape import json_text, merge_metadata
from transforms.readers.text import JsonFault, id_or_none, load_object, text_or_none, type_name
from transforms.readers.times import iso_time

_TIME_FIELDS = ("timestamp", "created_at", "created", "event_at")
_SCOPE = ("tenant_id", "agent_id", "user_id")
_RECORD_FIELDS = (*_SCOPE, *_TIME_FIELDS, "id", "session_id", "conversation_id", "metadata")
_MESSAGE_FIELDS = (*_TIME_FIELDS, "id", "role", "content", "name", "tool_call_id", "refusal")
_INSTRUCTION_ROLES = frozenset({"system", "developer"})
_RESULT_ROLES = frozenset({"tool", "function"})


class _Result(NamedTuple):
    position: int
    content: Content
    is_error: bool | None


class Conversation:
    """Reads the messages of one record into a collector.

    Args:
        collector: Where drafts and refusals go.
        policy: For the longest failure reason.
        number: Line or item of the record.
    """

    def __init__(self, collector: Collector, policy: IngestPolicy, number: int) -> None:
        """Start with no record."""
        self._collector = collector
        self._policy = policy
        self._number = number
        self._scope: dict[str, object] = {}
        self._id: str | None = None
        self._time: str | None = None
        self._results: dict[str, _Result] = {}
        self._used: set[int] = set()
        self._loose: list[tuple[str, _Result]] = []

    def read(self, record: Mapping[str, object], raw: object) -> None:
        """Read one record; its faults and those of each message are refused one by one."""
        try:
            messages = self._read_head(record)
        except JsonFault as fault:
            self._collector.refuse(fault, raw, self._number)
            return
        if not messages:
            self._collector.leave_out("empty_conversation")
        faulty = self._gather_results(messages)
        indexed = [(i, m) for i, m in enumerate(messages) if i not in faulty]
        # Results last: by then each call has taken its own, and only those without a call are left.
        for index, message in sorted(indexed, key=lambda item: _is_result(item[1])):
            try:
                self._read_message(index, message)
            except JsonFault as fault:
                self._collector.refuse(fault, message, self._number)

    def _read_head(self, record: Mapping[str, object]) -> list[object]:
        messages = record.get("messages")
        if not isinstance(messages, list):
            raise JsonFault("bad_field_type", f"messages is {type_name(messages)}, not a list")
        self._id = id_or_none(record.get("id"), "id")
        session = record.get("session_id")
        session = record.get("conversation_id") if session is None else session
        session_id = id_or_none(session, "session_id")
        self._scope = {name: id_or_none(record.get(name), name) for name in _SCOPE}
        self._scope["session_id"] = session_id if session_id is not None else self._id
        self._id = self._id if self._id is not None else session_id
        self._time = _time_of(record)
        rest = scalars(record, _RECORD_FIELDS)
        self._scope["metadata"] = merge_metadata(record.get("metadata"), rest)
        self._scope["source_line"] = self._number
        return messages

    def _gather_results(self, messages: list[object]) -> set[int]:
        """Tool results by call id; the indices of those that are refused."""
        faulty: set[int] = set()
        for index, message in enumerate(messages):
            if not isinstance(message, dict) or not _is_result(message):
                continue
            try:
                content = content_of(message.get("content"))
                call = id_or_none(message.get("tool_call_id"), "tool_call_id")
                name = text_or_none(message.get("name"), "name")
            except JsonFault as fault:
                faulty.add(index)
                self._collector.refuse(fault, message, self._number)
                continue
            result = _Result(index, content, _told_error(message))
            if call is not None:
                self._results.setdefault(call, result)
            elif name is not None:  # the older function role names its call only by the function
                self._loose.append((name, result))
        return faulty

    def _read_message(self, index: int, message: object) -> None:
        if not isinstance(message, dict):
            raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
        role = text_or_none(message.get("role"), "role")
        if role in _RESULT_ROLES and index in self._used:
            return
        calls = _calls_of(message)
        content = content_of(message.get("content"))
        if not content.text and isinstance(message.get("refusal"), str):
            content = content_of(message["refusal"])
        time = _time_of(message) or self._time
        if content.text.strip() or not calls:
            self._draft_text(index, message, content, time)
        for position, call in enumerate(calls):
            try:
                self._draft_call(index, position, call, time)
            except JsonFault as fault:
                self._collector.refuse(fault, call, self._number)

    def _draft_text(
        self,
        index: int,
        message: Mapping[str, object],
        content: Content,
        time: str | None,
    ) -> None:
        name = text_or_none(message.get("name"), "name")
        role = text_or_none(message.get("role"), "role")
        own_id = id_or_none(message.get("id"), "id")
        is_result = role in _RESULT_ROLES
        if not content.text.strip():
            if content.other_types:
                self._collector.leave_out("no_text_part")
                return
            raise JsonFault("no_content", "the message has neither text nor a tool call")
        own = metadata_of({**scalars(message, _MESSAGE_FIELDS), "other_parts": content.other_types})
        self._collector.draft(
            **(self._scope | {"metadata": merge_metadata(own, _as_fields(self._scope["metadata"]))}),
            natural_id=own_id if own_id is not None else self._child_id(str(index)),
            kind="observation" if is_result else None,
            role=role,
            speaker=None if is_result else name,
            tool_name=name if is_result else None,
            content=content.text,
            event_at=time,
            turn_index=index,
            is_injected=True if role in _INSTRUCTION_ROLES else None,
            **(self._ending(content.text, _told_error(message)) if is_result else {}),
        )

    def _draft_call(self, index: int, position: int, call: object, time: str | None) -> None:
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise JsonFault("bad_field_type", "a tool call is not an object with a function")
        name = text_or_none(function.get("name"), "name")
        call_id = id_or_none(call.get("id"), "id")
        arguments = json_text(function.get("arguments"), "arguments")
        result = self._result_of(call_id, name, index)
        text = result.content.text if result else ""
        self._collector.draft(
            **self._scope,
            natural_id=self._child_id(call_id if call_id is not None else f"{index}.{position}"),
            kind="action",
            role="tool",
            tool_name=name if name is not None else "unknown",
            tool_arguments=arguments,
            content=text,
            event_at=time,
            turn_index=index,
            **(self._ending(text, result.is_error) if result else {}),
        )

    def _ending(self, text: str, is_error: bool | None) -> dict[str, object]:
        return ending_of(Result(None, None, text, is_error), self._policy)

    def _result_of(self, call_id: str | None, name: str | None, index: int) -> _Result | None:
        found = self._results.get(call_id) if call_id is not None else None
        if found is None and call_id is None:
            later = (
                r for n, r in self._loose if n == name and r.position > index and r.position not in self._used
            )
            found = next(later, None)
        if found is None or found.position in self._used:
            return None
        self._used.add(found.position)
        return found

    def _child_id(self, part: str) -> str | None:
        return None if self._id is None else f"{self._id}/{part}"


def _is_result(message: object) -> bool:
    role = message.get("role") if isinstance(message, dict) else None
    return isinstance(role, str) and role in _RESULT_ROLES


def _told_error(message: Mapping[str, object]) -> bool | None:
    told = message.get("is_error")
    return told if isinstance(told, bool) else None


def _calls_of(message: Mapping[str, object]) -> list[object]:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise JsonFault("bad_field_type", f"tool_calls is {type_name(calls)}, not a list")
    single = message.get("function_call")
    return [*(calls or []), *([single] if single is not None else [])]


def _time_of(record: Mapping[str, object]) -> str | None:
    for field in _TIME_FIELDS:
        if record.get(field) is not None:
            return iso_time(record[field], field)
    return None


def _as_fields(metadata: object) -> dict[str, object]:
    return load_object(metadata.encode()) if isinstance(metadata, str) else {}
