"""``mem0-export``: memories of mem0, as its API, its vector store, its history or OpenMemory give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.broken_lists import BROKEN, BrokenLists, named_object
from transforms.readers.each_record import batches
from transforms.readers.lines import START, Point
from transforms.readers.memory_store import (
    Memory,
    draft_memory,
    listed_keys,
    object_of,
    texts_of,
    unmapped,
    words,
)
from transforms.readers.records import json_records
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_STORE = "mem0"
_WHO = ("hash", "user_id", "agent_id", "run_id", "updated_at", "created_at")
_HISTORY = {"memory_id", "new_memory", "event"}
_OPENMEMORY = {"content", "state", "app", "categories"}
_MAPPED = (
    "id", "memory", "data", "content", "payload", "vector", "user_id", "agent_id", "run_id", "actor_id",
    "created_at", "updated_at", "expiration_date", "categories", "metadata", "memory_id", "new_memory",
    "old_memory", "is_deleted", "category_ids",
)  # fmt: skip
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_KEPT_STATES = ("active", "")
"""Of OpenMemory; a paused, archived or deleted memory is one that its user wants nobody to be told."""


class Mem0Export:
    """Reader of mem0's memories."""

    name = "mem0-export"
    about = "Memories of mem0 or OpenMemory: get_all, dumped points, history; a record is one memory."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Records with ``memory`` and whose it is; points with a payload; history; an OpenMemory backup."""
        keys = listed_keys(head, "results", "memories", "points", "result")
        if {"memories", "apps", "memory_categories"} <= listed_keys(head) or keys >= _OPENMEMORY:
            return True
        is_memory = "memory" in keys and "id" in keys and bool(keys & set(_WHO))
        is_point = _is_point(keys, head) or ("result" in keys and b'"points"' in head and _is_payload(head))
        return is_memory or is_point or keys >= _HISTORY

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item number of the memory."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """See ``Resumable``: memories stand for themselves; rows of a history are read together."""
        collector = Collector(file_name, policy)
        memories = _Memories(collector)
        records = json_records(stream, policy, wrapper="results", start=point)

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            memories.read(record, number)

        yield from batches(
            collector,
            records,
            read_one,
            lambda: None if memories.history else records.point,
            memories.salvage,
        )
        memories.finish()
        yield from collector.flush()


def _is_point(keys: set[str], head: bytes) -> bool:
    return {"id", "payload"} <= keys and _is_payload(head)


def _is_payload(head: bytes) -> bool:
    return b'"payload"' in head and b'"data"' in head and b'"hash"' in head


class _Memories:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.history: list[tuple[dict[str, object], int]] = []

    def read(self, record: dict[str, object], number: int) -> None:
        listed = _listed(record)
        if listed is None:
            self._read_one(record, number, {})
            return
        name, items = listed
        about = _about(record) if name == "memories" else {}
        for item in items:
            self._try(item, number, about)

    def _try(self, item: object, number: int, about: Mapping[str, dict[str, str]]) -> None:
        try:
            if not isinstance(item, dict):
                raise JsonFault("not_an_object", f"a memory is {type_name(item)}, not an object")
            self._read_one(item, number, about)
        except JsonFault as fault:
            self._collector.refuse(fault, item, number)

    def salvage(self, fault: JsonFault, raw: object, number: int) -> object:
        """Read the whole memories of a broken document; what of it remains to be refused."""
        if fault.reason not in BROKEN or not isinstance(raw, bytes):
            return raw
        broken = BrokenLists(raw, ("memories", "points"), lambda item: "payload" in item or "content" in item)
        about = _about({"user": named_object(broken.head, "user")})
        if b'"memories"' in raw and not about["user"]:  # whose they are may stand in what is lost
            return raw
        for _, item in broken.read():
            self._try(item, number, about)
        return broken.rest

    def _read_one(self, record: dict[str, object], number: int, about: Mapping[str, dict[str, str]]) -> None:
        if "event" in record and "memory_id" in record:
            self.history.append((record, number))
            return
        state = (text_or_none(record.get("state"), "state") or "").lower()
        if state not in _KEPT_STATES:
            self._collector.leave_out(f"{state}_memory")
            return
        payload = object_of(record.get("payload"), "payload")
        draft_memory(self._collector, _memory({**record, **payload}, about), number)

    def finish(self) -> None:
        """The versions of memories that a history holds, but for those of memories it deletes in the end."""
        last = {_of_memory(record): record for record, _ in self.history}
        for record, number in self.history:
            try:
                if _is_deletion(last[_of_memory(record)]):
                    self._collector.leave_out("deleted_memory")
                    continue
                if record.get("new_memory") is None:
                    self._collector.leave_out("unchanged_memory")
                    continue
                draft_memory(self._collector, _version(record), number)
            except JsonFault as fault:
                self._collector.refuse(fault, record, number)


def _of_memory(record: Mapping[str, object]) -> str:
    """The memory that a row of a history is of."""
    return str(record.get("memory_id"))


def _is_deletion(record: Mapping[str, object]) -> bool:
    return record.get("event") == "DELETE"


def _listed(record: Mapping[str, object]) -> tuple[str, list[object]] | None:
    """Name and list of a document that holds its memories in one."""
    result = record.get("result")
    points = result.get("points") if isinstance(result, dict) else record.get("points")
    if isinstance(points, list):
        return "points", points
    memories = record.get("memories")
    return ("memories", memories) if isinstance(memories, list) else None


def _about(document: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """What an OpenMemory backup calls its user, apps and categories, by their ids."""
    user = document.get("user")
    users = [user] if isinstance(user, dict) else []
    return {
        "user": _names(users, "user_id"),
        "app": _names(document.get("apps"), "name"),
        "category": _names(document.get("categories"), "name"),
    }


def _names(items: object, name: str) -> dict[str, str]:
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return {str(row.get("id")): str(row[name]) for row in rows if isinstance(row.get(name), str)}


def _memory(record: Mapping[str, object], about: Mapping[str, dict[str, str]]) -> Memory:
    user = id_or_none(record.get("user_id"), "user_id")
    categories = about.get("category", {})
    tags = texts_of(record.get("categories"))
    tags += [categories[name] for name in texts_of(record.get("category_ids")) if name in categories]
    rest = unmapped(record, _MAPPED)
    if isinstance(rest.get("app_id"), str):
        rest["app"] = about.get("app", {}).get(str(rest["app_id"]))
    return Memory(
        store=_STORE,
        memory_id=id_or_none(record.get("id"), "id"),
        text=words(record, "memory", "data", "content") or "",
        event_at=_changed_at(record),
        scope={
            "user_id": about.get("user", {}).get(user or "", user),
            "agent_id": id_or_none(record.get("agent_id"), "agent_id"),
            "session_id": id_or_none(record.get("run_id"), "run_id"),
        },
        speaker=words(record, "actor_id"),
        expires_at=_expiry(record),
        tags=tags,
        metadata={**rest, **object_of(record.get("metadata"), "metadata")},
    )


def _version(record: Mapping[str, object]) -> Memory:
    return Memory(
        store=_STORE,
        memory_id=id_or_none(record.get("memory_id"), "memory_id"),
        natural_id=id_or_none(record.get("id"), "id"),
        text=text_or_none(record.get("new_memory"), "new_memory") or "",
        event_at=_changed_at(record),
        speaker=words(record, "actor_id"),
        metadata=unmapped(record, _MAPPED),
    )


def _changed_at(record: Mapping[str, object]) -> str | None:
    """Since when it says what it says."""
    changed = iso_time(record.get("updated_at"), "updated_at")
    return changed or iso_time(record.get("created_at"), "created_at")


def _expiry(record: Mapping[str, object]) -> str | None:
    """The end of the last day on which mem0 would still give it out."""
    day = iso_time(record.get("expiration_date"), "expiration_date")
    return f"{day}T23:59:59+00:00" if day and _DAY.fullmatch(day) else day
