"""``zep-export``: facts, episodes, nodes and messages of Zep and Graphiti, as their APIs give them."""

from __future__ import annotations

from collections.abc import Mapping

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.broken_lists import BROKEN, BrokenLists, named_text
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.memory_store import (
    Memory,
    draft_memory,
    listed_keys,
    object_of,
    texts_of,
    unmapped,
    words,
)
from transforms.readers.parts import metadata_of
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_STORE = "zep"
_LISTS = ("edges", "facts", "relevant_facts", "episodes", "nodes", "messages", "summaries")
_FACT_FIELDS = (
    "uuid", "fact", "content", "valid_at", "invalid_at", "expired_at", "created_at", "attributes",
    "fact_embedding", "score", "relevance", "metadata",
)  # fmt: skip
_TEXT_FIELDS = (
    "uuid", "content", "summary", "created_at", "valid_at", "role", "role_type", "session_id", "thread_id",
    "user_id", "metadata", "attributes", "name_embedding", "score", "relevance", "processed", "updated_at",
)  # fmt: skip


class ZepExport(EachRecord):
    """Reader of what Zep keeps: facts land as facts, messages as messages."""

    name = "zep-export"
    about = "Facts, episodes and messages of Zep or Graphiti; a record is one, or a document of lists."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Facts with their ids, episodes or nodes of the graph, messages with ``role_type``, a thread."""
        keys = listed_keys(head, *_LISTS)
        is_fact = "fact" in keys and bool(keys & {"uuid", "source_node_uuid"})
        is_episode = {"uuid", "content"} <= keys and bool(
            keys & {"source_description", "processed", "entity_edges"}
        )
        is_node = {"uuid", "labels", "summary"} <= keys
        is_thread = {"messages", "row_count", "total_count"} <= top_keys(head)
        return is_fact or is_episode or is_node or is_thread or {"role_type", "content"} <= keys

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is one thing, or a document of lists of things."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            _Record(collector, number).read(record)

        return read_one

    def salvage(self, collector: Collector, fault: JsonFault, raw: object, number: int) -> object:
        """See ``EachRecord``: whole items of a broken document are read."""
        return _Record(collector, number).salvage(fault, raw)


class _Record:
    """A record of a source: one thing, or a document of lists of things."""

    def __init__(self, collector: Collector, number: int) -> None:
        self._collector = collector
        self._number = number
        self._scope: dict[str, str | None] = {}
        self._time: str | None = None

    def read(self, record: Mapping[str, object]) -> None:
        lists = {name: record[name] for name in _LISTS if isinstance(record.get(name), list)}
        if not lists:
            self._read_one(record, 0)
            return
        self._scope = _scope(record, {})
        self._time = iso_time(record.get("created_at"), "created_at")
        for name, items in lists.items():
            for index, item in enumerate(items if isinstance(items, list) else []):
                self._read_item(item, name, index)
        summary = record.get("summary")
        if isinstance(summary, dict):
            self._read_item(summary, "summary", 0)
        elif isinstance(summary, str) and summary.strip():
            self._read_item({"content": summary}, "summary", 0)

    def salvage(self, fault: JsonFault, raw: object) -> object:
        """Read the whole items of a broken document; what of it remains to be refused."""
        if fault.reason not in BROKEN or not isinstance(raw, bytes):
            return raw
        broken = BrokenLists(raw, _LISTS, lambda item: "fact" in item or "uuid" in item)
        names = ("user_id", "session_id", "thread_id")
        self._scope = _scope({name: named_text(broken.head, name) for name in names}, {})
        is_whole = fault.reason != "truncated_json" and b'"user_id"' not in raw
        if self._scope["user_id"] is None and not is_whole:  # whose they are may stand in what is lost
            return raw
        for name, item in broken.read():
            self._read_item(item, name, None)
        return broken.rest

    def _read_item(self, item: object, name: str, index: int | None) -> None:
        try:
            if isinstance(item, str) and "facts" in name:
                item = {"fact": item}
            if not isinstance(item, dict):
                raise JsonFault("not_an_object", f"an item of {name} is {type_name(item)}, not an object")
            if "summar" in name:
                self._summary(item)
            else:
                self._read_one(item, index)
        except JsonFault as fault:
            self._collector.refuse(fault, self._quoted(item, name), self._number)

    def _quoted(self, item: object, name: str) -> object:
        """What a refusal quotes of an item: read alone, it is the row that it is here, or none."""
        if not isinstance(item, dict):
            return item
        scope = {key: value for key, value in self._scope.items() if value is not None}
        return {**scope, **item} if item.get("uuid") else {**scope, f"item of {name}": item}

    def _read_one(self, record: Mapping[str, object], index: int | None) -> None:
        if "fact" in record:
            draft_memory(self._collector, self._fact(record), self._number)
        elif "labels" in record and "source" not in record:
            self._summary(record)
        elif "content" in record:
            self._said(record, index)
        else:
            raise JsonFault("unknown_record", "this is no fact, node, episode or message")

    def _fact(self, record: Mapping[str, object]) -> Memory:
        begins = iso_time(record.get("valid_at"), "valid_at")
        ends = iso_time(record.get("invalid_at"), "invalid_at")
        gone = iso_time(record.get("expired_at"), "expired_at")
        recorded = iso_time(record.get("created_at"), "created_at")
        about = words(record, "source_node_name")
        is_user = "User" in texts_of(record.get("source_node_labels"))
        return Memory(
            store=_STORE,
            memory_id=id_or_none(record.get("uuid"), "uuid"),
            text=words(record, "fact", "content") or "",
            event_at=recorded or begins or self._time,
            valid_from=begins,
            valid_until=ends or gone,
            scope=_scope(record, self._scope),
            subject=None if is_user else about,
            metadata=_rest(record, _FACT_FIELDS),
        )

    def _summary(self, record: Mapping[str, object]) -> None:
        """A node's summary, or a session's: an account of facts, not a fact."""
        text = words(record, "summary", "content") or ""
        if not text.strip():
            self._collector.leave_out("node_without_summary")
            return
        self._draft(record, text, kind="summary", role="other")

    def _said(self, record: Mapping[str, object], index: int | None) -> None:
        """A message, or an episode: what was said, or given as a text or as JSON."""
        kind_of_role = text_or_none(record.get("role_type"), "role_type")
        given = text_or_none(record.get("role"), "role")
        role = kind_of_role or given
        speaker = words(record, "name") if kind_of_role is None else given
        is_given = role is None and record.get("source") in ("text", "json")
        session = _scope(record, self._scope)["session_id"]
        self._draft(
            record,
            text_or_none(record.get("content"), "content") or "",
            kind="observation" if is_given else None,
            role="other" if role is None else role,
            speaker=None if "entity_edges" in record else speaker,
            is_injected=True if role == "system" else None,
            fallback_id=f"{session}/{index}" if session and index is not None else None,
            turn_index=index if self._scope else None,
        )

    def _draft(
        self, record: Mapping[str, object], text: str, *, fallback_id: str | None = None, **fields: object
    ) -> None:
        happened = iso_time(record.get("valid_at"), "valid_at")
        created = iso_time(record.get("created_at"), "created_at")
        self._collector.draft(
            **_scope(record, self._scope),
            **fields,
            natural_id=id_or_none(record.get("uuid"), "uuid") or fallback_id,
            content=text,
            event_at=happened or created or self._time,
            metadata=metadata_of({**_rest(record, _TEXT_FIELDS), "store": _STORE}),
            source_line=self._number,
        )


def _scope(record: Mapping[str, object], outer: Mapping[str, str | None]) -> dict[str, str | None]:
    """User and session that a record names, else those of the document it stands in."""
    session = record.get("session_id")
    session = record.get("thread_id") if session is None else session
    return {
        "user_id": id_or_none(record.get("user_id"), "user_id") or outer.get("user_id"),
        "session_id": id_or_none(session, "session_id") or outer.get("session_id"),
    }


def _rest(record: Mapping[str, object], mapped: tuple[str, ...]) -> dict[str, object]:
    """Fields that nothing else takes, with those of the record's attributes and metadata."""
    own = [object_of(record.get(name), name) for name in ("attributes", "metadata")]
    return {**unmapped(record, mapped), **own[0], **own[1]}
