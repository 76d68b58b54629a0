"""``managed-agent-events``: event logs of Anthropic's managed agents, alone or as recorded client calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.blocks import Call
from transforms.readers.message_parts import Parts, read_parts, result_of, written
from transforms.readers.pairs import Pairs
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.records import json_records
from transforms.readers.sniff import json_lines
from transforms.readers.text import JsonFault, dump_json, id_or_none, load_json, text_or_none, type_name
from transforms.readers.times import iso_time

_CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = ("agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result")
_ANSWERS = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")
"""Where a result names its call."""
_WORDS = {"user.message": "user", "agent.message": "assistant"}
_READ = (*_CALLS, *_RESULTS, *_WORDS, "agent.thinking")
_SENT = ("user.message", "user.custom_tool_result")
_MAPPED = ("id", "type", "content", "processed_at", "name", "input", "is_error", "session_id", *_ANSWERS)


class ManagedAgentEvents:
    """Reader of the events of managed agent sessions."""

    name = "managed-agent-events"
    about = "Event logs of Anthropic's managed agents; a record is one event, or one recorded call."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Lines that are events with ``processed_at``, or recorded calls of ``beta.sessions``."""
        first = head.lstrip()[:200]
        if first.startswith(b'["client.beta.sessions.'):
            return True
        events = json_lines(head)
        return any(
            "processed_at" in e and e.get("type") in (*_READ, "session.status_running") for e in events
        )

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line of the event."""
        collector = Collector(file_name, policy)
        log = _Log(collector, policy)
        for number, value, raw in json_records(stream, policy):
            try:
                log.take(value, raw, number)
            except JsonFault as fault:
                collector.refuse(fault, raw, number)
            if collector.is_full:
                yield from collector.flush()
        log.finish()
        yield from collector.flush()


class _Log:
    """Events in their order, and what was sent of them beforehand."""

    def __init__(self, collector: Collector, policy: IngestPolicy) -> None:
        self._collector = collector
        self._pairs = Pairs(collector.draft, collector.leave_out, policy)
        self._session: dict[str, object] = {}
        self._shared: dict[str, object] = {}
        self._asked: str | None = None
        self._sent: Counter[str] = Counter()
        self._waiting: dict[str, tuple[dict[str, object], int]] = {}

    def take(self, value: dict[str, object] | JsonFault, raw: object, number: int) -> None:
        """One line.

        Raises:
            JsonFault: It cannot be read.
        """
        if isinstance(value, JsonFault):
            if value.reason != "not_an_object":
                raise value
            self._call(load_json(raw) if isinstance(raw, bytes) else raw, number)
        else:
            self._event(value, number)

    def _call(self, recorded: object, number: int) -> None:
        """A recorded call of the client: its name, and what it was given or gave."""
        if not isinstance(recorded, list) or len(recorded) != 2 or not isinstance(recorded[0], str):
            raise JsonFault("not_an_object", f"the JSON is {type_name(recorded)}, not an event or a call")
        name, given = recorded
        if name.endswith(".events.send") and isinstance(given, list) and given:
            self._send(given, number)
        elif isinstance(given, dict) and given.get("type") == "session":
            self._begin(given, number)
        elif isinstance(given, dict) and ".events." in name:
            self._event(given, number)
        else:
            self._collector.leave_out("bookkeeping")

    def _begin(self, session: Mapping[str, object], number: int) -> None:
        agent = session.get("agent")
        held = agent if isinstance(agent, dict) else {}
        model = held.get("model")
        own_id = id_or_none(session.get("id"), "id")
        self._session = {"session_id": own_id, "agent_id": id_or_none(held.get("id"), "agent id")}
        self._shared = {
            "title": session.get("title"),
            "agent": held.get("name"),
            "model": model.get("id") if isinstance(model, dict) else model,
        }
        system = text_or_none(held.get("system"), "system")
        if not system:
            self._collector.leave_out("bookkeeping")
            return
        self._collector.draft(
            **self._session,
            natural_id=f"{own_id}/system",
            role="system",
            content=system,
            is_injected=True,
            event_at=iso_time(session.get("created_at"), "created_at"),
            metadata=metadata_of(self._shared),
            source_line=number,
        )

    def _send(self, given: list[object], number: int) -> None:
        """What is sent comes again as an event, with its id and time."""
        self._session.setdefault("session_id", given[0] if isinstance(given[0], str) else None)
        body = given[1] if len(given) > 1 and isinstance(given[1], dict) else {}
        events = body.get("events")
        for event in events if isinstance(events, list) else []:
            if isinstance(event, dict) and event.get("type") in _SENT:
                key = _sent_key(event)
                self._sent[key] += 1
                self._waiting[key] = (event, number)
            else:
                self._collector.leave_out("bookkeeping")

    def _event(self, event: Mapping[str, object], number: int) -> None:
        kind = event.get("type")
        key = _sent_key(event) if kind in _SENT else ""
        if self._sent.get(key):
            self._sent[key] -= 1
            self._collector.leave_out("repeated")
        if kind in _READ:
            self._read(event, str(kind), number)
        else:
            self._collector.leave_out("bookkeeping")

    def _read(self, event: Mapping[str, object], kind: str, number: int) -> None:
        own_id = id_or_none(event.get("id"), "id")
        session = id_or_none(event.get("session_id"), "session_id")
        scope = self._session | ({"session_id": session} if session else {})
        rest = scalars(event, _MAPPED)
        scope |= {
            "event_at": iso_time(event.get("processed_at"), "processed_at"),
            "parent_id": None if kind == "user.message" else self._asked,
            "metadata": metadata_of({**self._shared, **rest}),
            "source_line": number,
        }
        if kind == "agent.thinking":
            self._collector.leave_out("thinking")
        elif kind in _CALLS:
            name = text_or_none(event.get("name"), "name") or "unknown"
            self._pairs.take_call(Call(own_id, name, written(event.get("input"))), scope, own_id)
        elif kind in _RESULTS:
            answered = {"call_id": next((event[n] for n in _ANSWERS if event.get(n)), None)}
            parts = {n: event[n] for n in ("content", "is_error") if n in event}
            self._pairs.take_result(result_of({**answered, **parts}), scope, own_id)
        else:
            self._say(event, kind, own_id, scope)

    def _say(
        self, event: Mapping[str, object], kind: str, own_id: str | None, scope: dict[str, object]
    ) -> None:
        parts = Parts()
        read_parts(event.get("content"), parts)
        self._collector.leave_out("thinking", parts.thinking)
        if not parts.text.strip():
            self._collector.leave_out("no_text_part" if parts.other_types else "empty_message")
            return
        self._collector.draft(**scope, natural_id=own_id, role=_WORDS[kind], content=parts.text)
        if kind == "user.message":
            self._asked = own_id

    def finish(self) -> None:
        """Draft calls that still wait for a result, and what was sent and never came back."""
        for key, (event, number) in self._waiting.items():
            count, self._sent[key] = self._sent[key], 0
            for _ in range(count):
                try:
                    self._read(event, str(event["type"]), number)
                except JsonFault as fault:
                    self._collector.refuse(fault, event, number)
        self._pairs.finish()


def _sent_key(event: Mapping[str, object]) -> str:
    return dump_json([event.get("type"), event.get("content"), event.get("custom_tool_use_id")])
