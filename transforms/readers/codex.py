"""``codex-jsonl``: session files (rollouts) of Codex CLI, JSON lines.

A line is ``{timestamp, type, payload}``. What was said to the model and by it are the ``response_item``
lines; ``event_msg`` lines say most of it once more for the screen, and how commands ended. Turns that the
user took back are left out. The files of 2025 before that shape hold bare items after a line about the
session, whose time is then theirs. ``codex exec --json`` prints events without times, and not what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.codex_events import SERVICE_KINDS, STREAM_TYPES, done_in, kind_of, said_in
from transforms.readers.codex_items import ended_badly, item_call, item_result, said_parts
from transforms.readers.codex_rows import Rows
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.records import json_records
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_LINE_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_BARE_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_META_KEYS = frozenset({"id", "timestamp", "instructions"})
_INSTRUCTION_ROLES = frozenset({"system", "developer"})
_ECHOES = {"user_message": "user", "agent_message": "assistant"}
_LINE_FIELDS = ("timestamp", "type", "payload")
_META_FIELDS = ("id", "timestamp", "instructions", "base_instructions")
_CONTEXT_FIELDS = ("model", "cwd", "effort")


class CodexJsonl:
    """Reader of Codex CLI session files."""

    name = "codex-jsonl"
    about = "Session files (rollouts) of Codex CLI; a record is one line."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Lines of type and payload as Codex names them, or bare items after a line about the session."""
        records = json_lines(head)
        if any(_type(r) in _LINE_TYPES and isinstance(r.get("payload"), dict) for r in records):
            return True
        if any(r.get("type") == "thread.started" and "thread_id" in r for r in records):
            return True
        if records and set(records[0]) >= _META_KEYS and "type" not in records[0]:
            return any("record_type" in r or _type(r) in _BARE_TYPES for r in records[1:])
        return not records and top_keys(head) >= {"timestamp", "type", "payload"}

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line."""
        collector = Collector(file_name, policy)
        session = _Session(collector, policy)
        for number, value, raw in json_records(stream, policy):
            try:
                if isinstance(value, JsonFault):
                    raise value
                session.read(value, number)
            except JsonFault as fault:
                session.miss()
                collector.refuse(fault, raw, number)
            if session.is_full or collector.is_full:
                session.release()
                yield from collector.flush()
        session.finish()
        yield from collector.flush()


def _type(record: Mapping[str, object]) -> str | None:
    kind = record.get("type")
    return kind if isinstance(kind, str) else None


class _Session:
    def __init__(self, collector: Collector, policy: IngestPolicy) -> None:
        self._collector = collector
        self._policy = policy
        self._line: dict[str, object] = {}
        self._begin({})

    def _begin(self, meta: Mapping[str, object]) -> None:
        self._session_id = id_or_none(meta.get("id"), "id")
        self._origin = meta.get("forked_from_id")
        self._started_at = iso_time(meta.get("timestamp"), "timestamp")
        git = meta.get("git")
        named = {f"git_{k}": v for k, v in git.items()} if isinstance(git, dict) else {}
        self._about: dict[str, object] = {**scalars(meta, _META_FIELDS), **named}
        self._failed: dict[str, bool] = {}
        self._rows = Rows(self._collector, self._policy, self._session_id)

    @property
    def is_full(self) -> bool:
        """Whether as many rows are held as make a batch."""
        return self._rows.is_full

    def release(self) -> None:
        """Hand over what is held: what comes later can no longer take it back."""
        self._rows.release()

    def miss(self) -> None:
        """A line could not be read."""
        self._rows.miss()

    def finish(self) -> None:
        """Draft what still waits at the end of the source."""
        self._rows.finish()

    def read(self, record: Mapping[str, object], number: int) -> None:
        """Read one line.

        Raises:
            JsonFault: It cannot be read.
        """
        kind = text_or_none(record.get("type"), "type")
        self._line = scalars(record, _LINE_FIELDS) if "payload" in record else {}
        if "payload" not in record:
            self._read_bare(record, kind, number)
            return
        if kind is None:
            raise JsonFault("unknown_record", "the line has a payload and no type")
        payload = record["payload"]
        if not isinstance(payload, dict):
            raise JsonFault("bad_field_type", f"payload is {type_name(payload)}, not an object")
        time = iso_time(record.get("timestamp"), "timestamp")
        if kind == "session_meta":
            self._read_meta(payload)
        elif kind == "response_item":
            self._read_item(payload, time, number)
        elif kind == "event_msg":
            self._read_event(payload, time, number)
        elif kind == "compacted":
            self._read_summary(payload, time, number)
        else:
            if kind == "turn_context":
                self._about.update({k: payload[k] for k in _CONTEXT_FIELDS if payload.get(k) is not None})
            self._collector.leave_out("bookkeeping")

    def _read_bare(self, record: Mapping[str, object], kind: str | None, number: int) -> None:
        if kind in _BARE_TYPES or (kind is not None and kind.endswith(("_call", "_output"))):
            time = iso_time(record.get("timestamp"), "timestamp")
            self._read_item(record, time if time is not None else self._started_at, number)
        elif kind is None and set(record) >= _META_KEYS:
            self._read_meta(record)
        elif kind in STREAM_TYPES:
            self._read_stream(record, str(kind), number)
        elif "record_type" in record:
            self._collector.leave_out("bookkeeping")
        else:
            raise JsonFault("unknown_record", "the line has neither a payload nor the type of an item")

    def _read_stream(self, record: Mapping[str, object], kind: str, number: int) -> None:
        """One event of ``codex exec --json``: items count when they are complete."""
        if kind == "thread.started":
            self._read_meta({"id": record.get("thread_id")})
            return
        item = record.get("item") if kind == "item.completed" else None
        fault = record.get("error") if kind == "turn.failed" else record if kind == "error" else None
        server = item.get("server") if isinstance(item, dict) else None
        scope = self._scope(None, number, {"server": server})
        if isinstance(fault, dict) and isinstance(fault.get("message"), str):
            ended = {"kind": "outcome", "role": "system", "outcome": "failure"}
            reason = fault["message"][: self._policy.max_reason_chars]
            self._rows.say(
                fault["message"], {**scope, **ended, "failure_reason": reason}, None, is_injected=False
            )
        elif not isinstance(item, dict):
            self._collector.leave_out("bookkeeping")
        else:
            self._read_done(item, scope)

    def _read_done(self, item: Mapping[str, object], scope: dict[str, object]) -> None:
        kind = kind_of(item)
        said = said_in(item, kind)
        if kind == "reasoning" or kind in SERVICE_KINDS:
            self._collector.leave_out("thinking" if kind == "reasoning" else "bookkeeping")
        elif said is None:
            self._rows.act(*done_in(item, kind), scope)
        elif said.strip():
            role = "system" if kind == "error" else "assistant"
            self._rows.say(said, scope | {"role": role}, None, is_injected=kind == "error")
        else:
            self._collector.leave_out("empty_message")

    def _read_meta(self, meta: Mapping[str, object]) -> None:
        """A session; in the file of a fork the copied line about where it came from changes nothing."""
        self._collector.leave_out("bookkeeping")
        if self._origin is not None and meta.get("id") == self._origin:
            return
        if self._session_id is None or meta.get("id") != self._session_id:
            self._rows.finish()
            self._begin(meta)

    def _scope(self, time: str | None, number: int, extra: Mapping[str, object]) -> dict[str, object]:
        return {
            "session_id": self._session_id,
            "event_at": time,
            "source_line": number,
            "metadata": metadata_of({**self._about, **self._line, **extra}),
        }

    def _read_item(self, item: Mapping[str, object], time: str | None, number: int) -> None:
        kind = text_or_none(item.get("type"), "type")
        if kind is None:
            raise JsonFault("unknown_record", "the item has no type")
        if kind == "message":
            self._read_message(item, time, number)
        elif kind == "reasoning":
            self._collector.leave_out("thinking")
        elif kind.endswith("_output"):
            result = item_result(item, self._failed)
            self._rows.take_result(result, self._scope(time, number, {}))
        elif kind.endswith("_call"):
            self._rows.take_call(
                item_call(item, kind), self._scope(time, number, scalars(item, _CALL_FIELDS))
            )
        else:
            self._collector.leave_out("bookkeeping")

    def _read_message(self, item: Mapping[str, object], time: str | None, number: int) -> None:
        role = text_or_none(item.get("role"), "role")
        said = said_parts(item.get("content"), is_user=role == "user")
        own_id = id_or_none(item.get("id"), "id")
        extra = {**scalars(item, _MESSAGE_FIELDS), "other_parts": said.other_types}
        scope = self._scope(time, number, extra) | {"role": role}
        if not said.words.strip() and not said.injected.strip():
            self._collector.leave_out("no_text_part" if said.other_types else "empty_message")
            if role == "user":
                self._rows.ask()
            return
        is_injected = role in _INSTRUCTION_ROLES
        self._rows.say(said.words, scope, own_id, is_injected=is_injected)
        injected_id = own_id if own_id is None or not said.words.strip() else f"{own_id}/injected"
        self._rows.say(said.injected, scope, injected_id, is_injected=True)

    def _read_event(self, event: Mapping[str, object], time: str | None, number: int) -> None:
        kind = text_or_none(event.get("type"), "type") or ""
        call_id = event.get("call_id")
        if kind in _ECHOES and isinstance(event.get("message"), str):
            role = _ECHOES[kind]
            said = said_parts(event["message"], is_user=role == "user")
            self._rows.echo(said.words, self._scope(time, number, {}) | {"role": role})
            return
        if isinstance(call_id, str) and (failed := ended_badly(event)) is not None:
            self._failed[call_id] = failed
        if kind == "thread_rolled_back":
            turns = event.get("num_turns")
            self._rows.take_back(turns if isinstance(turns, int) else 0)
        self._collector.leave_out("bookkeeping")

    def _read_summary(self, payload: Mapping[str, object], time: str | None, number: int) -> None:
        """What the program made of the conversation to go on with: nobody said it."""
        text = text_or_none(payload.get("message"), "message") or ""
        if not text.strip():
            self._collector.leave_out("bookkeeping")
            return
        scope = self._scope(time, number, {}) | {"role": "assistant", "kind": "summary"}
        self._rows.say(text, scope, None, is_injected=True)


_CALL_FIELDS = ("type", "name", "arguments", "input", "call_id", "id", "action")
_MESSAGE_FIELDS = ("type", "role", "content", "id")
