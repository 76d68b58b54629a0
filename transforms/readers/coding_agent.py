"""``coding-agent-jsonl``: session transcripts of a coding agent, JSON lines or ``{"loglines": []}``.

A tool call waits for its result, however far down the file; at the end calls without one are
actions without outcome, and results without a call observations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.blocks import blocks_of
from transforms.readers.injected import split_injected
from transforms.readers.pairs import Pairs
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.records import json_records
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_SESSION_KEYS = frozenset({"sessionId", "parentUuid", "leafUuid"})
_MAPPED = (
    "type",
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "message",
    "content",
    "summary",
    "isMeta",
    "userType",
    "toolUseResult",
)
_MESSAGE_MAPPED = ("id", "type", "role", "model", "content")
_SPOKEN_TYPES = frozenset({"user", "assistant"})


class CodingAgentJsonl:
    """Reader of coding-agent transcripts."""

    name = "coding-agent-jsonl"
    about = "Session transcripts of Claude Code; a record is one line."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Records with a type and a session, parent or leaf id; or ``loglines``."""
        records = json_lines(head)
        if records:
            return any(
                "loglines" in record or ("type" in record and _SESSION_KEYS & set(record))
                for record in records
            )
        keys = top_keys(head)
        return "loglines" in keys or ("type" in keys and bool(_SESSION_KEYS & keys))

    def told_by(self, file_name: str) -> str | None:
        """As ``batch.NameReading``: the session of a JSON document's records, which need not name one."""
        path = PurePosixPath(file_name)
        return path.stem if path.suffix == ".json" else None

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item of a JSON document."""
        collector = Collector(file_name, policy)
        session = _Session(collector, policy, self.told_by(file_name))
        for number, value, raw in json_records(stream, policy, wrapper="loglines"):
            try:
                if isinstance(value, JsonFault):
                    raise value
                session.read(value, number, raw)
            except JsonFault as fault:
                collector.refuse(fault, raw, number)
            if collector.is_full:
                yield from collector.flush()
        session.finish()
        yield from collector.flush()


class _Session:
    """Reads records one by one; holds summaries until there is a time for them."""

    def __init__(self, collector: Collector, policy: IngestPolicy, session_id: str | None = None) -> None:
        self._collector = collector
        self._session_id = session_id
        self._pairs = Pairs(collector.draft, collector.leave_out, policy)
        self._summaries: list[dict[str, object]] = []
        self._last: dict[str, object] = {}
        self._turn = 0

    def read(self, record: Mapping[str, object], number: int, raw: object) -> None:
        """Read one record.

        Raises:
            JsonFault: The record as a whole cannot be read.
        """
        kind = text_or_none(record.get("type"), "type")
        if kind is None:
            raise JsonFault("unknown_record", "the record has no type")
        if kind == "summary":
            self._read_summary(record, number)
        elif kind == "system" and isinstance(record.get("content"), str):
            self._read_system(record, number)
        elif kind in _SPOKEN_TYPES:
            self._read_spoken(record, number)
        else:
            self._collector.leave_out("bookkeeping")

    def _scope(self, record: Mapping[str, object], number: int) -> dict[str, object]:
        extra = scalars(record, _MAPPED)
        message = record.get("message")
        told = message if isinstance(message, dict) else {}
        known = {"model": told.get("model"), "message_id": told.get("id"), "usage": told.get("usage")}
        scope: dict[str, object] = {
            "session_id": id_or_none(record.get("sessionId"), "sessionId") or self._session_id,
            "event_at": iso_time(record.get("timestamp"), "timestamp"),
            "parent_id": id_or_none(record.get("parentUuid"), "parentUuid"),
            "metadata": metadata_of({**scalars(told, _MESSAGE_MAPPED), **extra, **known}),
            "source_line": number,
            "turn_index": self._turn,
        }
        self._turn += 1
        if scope["event_at"] is not None:
            self._last = {name: scope[name] for name in ("session_id", "event_at")}
            self._settle_summaries()
        return scope

    def _read_spoken(self, record: Mapping[str, object], number: int) -> None:
        message = record.get("message")
        if not isinstance(message, dict):
            raise JsonFault("bad_field_type", f"message is {type_name(message)}, not an object")
        blocks = blocks_of(message.get("content"))
        own_id = id_or_none(record.get("uuid"), "uuid")
        role = text_or_none(message.get("role"), "role") or str(record["type"])
        scope = self._scope(record, number)
        if blocks.is_empty:
            raise JsonFault("no_content", "the message has neither text nor a tool call")
        for block, fault in blocks.faults:
            self._collector.refuse(fault, block, number)
        self._collector.leave_out("thinking", blocks.thinking)
        words = "\n\n".join(t for t in (*blocks.texts, *blocks.unknown_texts) if t.strip())
        if record.get("isCompactSummary") is True:
            self._draft(words, scope | {"kind": "summary", "role": "assistant", "is_injected": True}, own_id)
        else:
            is_injected = record.get("isMeta") is True
            self._draft_words(words, scope | {"role": role}, own_id, is_injected=is_injected)
        if blocks.other_types and not (words or blocks.calls or blocks.results):
            self._collector.leave_out("no_text_part")
        for position, call in enumerate(blocks.calls):
            self._pairs.take_call(call, scope, f"{own_id}/{position}" if own_id is not None else None)
        for position, result in enumerate(blocks.results):
            self._pairs.take_result(result, scope, own_id if position == 0 and not words else None)

    def _draft_words(
        self, words: str, scope: dict[str, object], own_id: str | None, *, is_injected: bool
    ) -> None:
        """Draft what the speaker said, and apart from it what the program put into the message."""
        is_user = scope["role"] == "user"
        said, injected = split_injected(words) if is_user and not is_injected else (words, "")
        if is_injected:
            said, injected = "", words
        self._draft(said, scope, own_id)
        suffix = "/injected" if said else ""
        injected_id = f"{own_id}{suffix}" if own_id is not None else None
        self._draft(injected, scope | {"is_injected": True}, injected_id)

    def _draft(self, text: str, scope: dict[str, object], natural_id: str | None) -> None:
        if text.strip():
            self._collector.draft(**scope, natural_id=natural_id, content=text)

    def _read_system(self, record: Mapping[str, object], number: int) -> None:
        scope = self._scope(record, number) | {"role": "system", "is_injected": True}
        text = str(record["content"])
        if not text.strip():
            self._collector.leave_out("empty_message")
        self._draft(text, scope, id_or_none(record.get("uuid"), "uuid"))

    def _read_summary(self, record: Mapping[str, object], number: int) -> None:
        text = text_or_none(record.get("summary"), "summary")
        if not text or not text.strip():
            raise JsonFault("no_content", "the summary is empty")
        leaf = id_or_none(record.get("leafUuid"), "leafUuid")
        self._summaries.append(
            {
                "kind": "summary",
                "role": "assistant",
                "content": text,
                "natural_id": f"summary/{leaf}" if leaf is not None else None,
                "parent_id": leaf,
                "source_line": number,
            }
        )
        if self._last:
            self._settle_summaries()

    def _settle_summaries(self) -> None:
        """Summaries bear no time: they take the last one before them, or the first one after."""
        for summary in self._summaries:
            self._collector.draft(**summary, **self._last)
        self._summaries = []

    def finish(self) -> None:
        """Draft what still waits at the end of the source."""
        self._settle_summaries()
        self._pairs.finish()
