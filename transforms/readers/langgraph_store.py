"""``langgraph-store``: items of a LangGraph store, as its API or a dump of its table gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.memory_store import (
    TEXT_FIELDS,
    Memory,
    draft_memory,
    listed_keys,
    object_of,
    said_by,
    unmapped,
)
from transforms.readers.text import JsonFault, id_or_none, type_name
from transforms.readers.times import iso_time

_MAPPED = (
    "namespace", "prefix", "key", "value", "created_at", "updated_at", "createdAt", "updatedAt", "expires_at",
    "score", "ttl_minutes",
)  # fmt: skip
_USER_LABELS = ("user", "users", "user_id")
_AGENT_LABELS = ("agent", "agents", "assistant", "assistants", "assistant_id")
_LABELS = frozenset(
    f"{' '.join((*_USER_LABELS, *_AGENT_LABELS))} memory memories fact facts preferences profile profiles"
    " semantic episodic procedural collection documents store long_term".split()
)
"""Parts of a namespace that say what is held, not whose it is."""


class LanggraphStore(EachRecord):
    """Reader of the items of a LangGraph store."""

    name = "langgraph-store"
    about = "Items of a LangGraph store: namespace, key, value, times; a record is one item."
    wrapper = "items"

    def matches(self, head: bytes, file_name: str) -> bool:
        """Records with ``namespace`` (a table: ``prefix``), ``key`` and ``value``."""
        keys = listed_keys(head, "items")
        return {"key", "value"} <= keys and bool(keys & {"namespace", "prefix"})

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is an item."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            draft_memory(collector, _memory(record), number)

        return read_one


def _memory(item: Mapping[str, object]) -> Memory:
    namespace = _namespace(item)
    key = id_or_none(item.get("key"), "key")
    value = _value(item.get("value"))
    user, agent = _owners(namespace)
    held = value if isinstance(value, dict) else {}
    named = held.get("user_id")
    changed = iso_time(item.get("updated_at", item.get("updatedAt")), "updated_at")
    created = iso_time(item.get("created_at", item.get("createdAt")), "created_at")
    return Memory(
        store="langgraph",
        memory_id=None if key is None else "/".join((*namespace, key)),
        text=said_by(value),
        event_at=changed or created,
        scope={"user_id": named if isinstance(named, str) and named else user, "agent_id": agent},
        expires_at=iso_time(item.get("expires_at"), "expires_at"),
        metadata={
            **unmapped(item, _MAPPED),
            **unmapped(held, TEXT_FIELDS),
            "namespace": list(namespace),
            "key": key,
        },
    )


def _namespace(item: Mapping[str, object]) -> tuple[str, ...]:
    """The parts of a namespace; a table joins them by points.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    given = item.get("namespace", item.get("prefix"))
    if isinstance(given, str):
        return tuple(part for part in given.split(".") if part)
    if isinstance(given, list) and all(isinstance(part, str) for part in given):
        return tuple(given)
    raise JsonFault("bad_field_type", f"namespace is {type_name(given)}, not a list of strings")


def _value(value: object) -> object:
    """A stored value; of a table that keeps it as text, what that holds."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return object_of(value, "value")
    return value


def _owners(namespace: Sequence[str]) -> tuple[str | None, str | None]:
    """User and agent that a namespace names: what follows such a label, or the only part that is none."""
    pairs = [(label.lower(), part) for label, part in pairwise(namespace)]
    agent = next((part for label, part in pairs if label in _AGENT_LABELS and part not in _LABELS), None)
    user = next((part for label, part in pairs if label in _USER_LABELS and part not in _LABELS), None)
    rest = [part for part in namespace if part.lower() not in _LABELS and part != agent]
    return user if user or len(rest) != 1 else rest[0], agent
