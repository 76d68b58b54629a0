"""Memories of other stores as drafts: each in its words, with the store's id as provenance.

Such a row is a fact already: nobody said it, so it is injected, neither read nor served as it is.
``transforms.claims.imported`` makes its claim from what stands here in the metadata, and the fact is served.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from transforms.ids import SEPARATOR, digest
from transforms.readers.batch import Collector
from transforms.readers.parts import metadata_of
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, dump_json, load_json, text_or_none, type_name

FORMATS = ("langgraph-store", "mem0-export", "zep-export")
"""Input formats whose rows may be memories."""
FIELD = "imported_memory"
"""Field of a row's metadata that says which memory it is: an object of texts ``store``, ``id`` and ``slot``
(letters that stand for the id, which redaction leaves alone), and where the store knows them ``subject``,
``valid_from`` and ``valid_until``, ISO 8601."""
TEXT_FIELDS = ("content", "text", "memory", "data", "fact", "value")
"""Where a stored value keeps its text, if it is not all of it."""
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
_SLOT_DIGITS = 16
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Memory:
    """One memory of a store.

    Args:
        store: Name of the store: mem0, zep, langgraph.
        memory_id: The store's id of it; None: it is known by its text.
        text: What it says.
        event_at: When the store came to say so, ISO 8601.
        valid_from: Since when it holds; None: since ``event_at``.
        valid_until: Since when it no longer holds; None: no end is known.
        scope: tenant_id, user_id, agent_id and session_id, where named.
        subject: Whom it is about, where that is named and is not the user.
        speaker: Who said what it was made of, where named.
        expires_at: When the store would forget it.
        tags: Labels.
        natural_id: Id of the row, where a row is not the memory but a version of it.
        metadata: All else there is.
    """

    store: str
    memory_id: str | None
    text: str
    event_at: str | None
    valid_from: str | None = None
    valid_until: str | None = None
    scope: Mapping[str, str | None] = field(default_factory=dict)
    subject: str | None = None
    speaker: str | None = None
    expires_at: str | None = None
    tags: Sequence[str] | None = None
    natural_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


def draft_memory(collector: Collector, memory: Memory, number: int) -> None:
    """Add the draft of a memory.

    Raises:
        JsonFault: ``no_content``: it says nothing.
    """
    if not memory.text.strip():
        raise JsonFault("no_content", "the memory says nothing")
    # An end has to show in the text: one that came later makes another text, and so a new version.
    ended = f" (until {_day(memory.valid_until)})" if memory.valid_until else ""
    told = {
        "store": memory.store,
        "id": memory.memory_id,
        "slot": slot_of(memory.store, memory.memory_id or memory.text),
        "subject": memory.subject,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
    }
    collector.draft(
        **memory.scope,
        natural_id=memory.natural_id or memory.memory_id,
        kind="summary",
        role="other",
        is_injected=True,
        speaker=memory.speaker,
        content=memory.text + ended,
        event_at=memory.event_at,
        expires_at=memory.expires_at,
        tags=list(memory.tags) if memory.tags else None,
        metadata=metadata_of({**memory.metadata, FIELD: {k: v for k, v in told.items() if v}}),
        source_line=number,
    )


def slot_of(store: str, name: str) -> str:
    """Letters that stand for a memory: no rule of redaction takes them for a number."""
    return digest(store + SEPARATOR + name)[:_SLOT_DIGITS].translate(_LETTERS)


def _day(time: str | None) -> str:
    found = _DAY.match(time or "")
    return found.group() if found else str(time)


def said_by(value: object) -> str:
    """The text of a stored value: its text field, else its fields one after the other as ``name: value``."""
    while isinstance(value, dict):
        inner = [value[name] for name in TEXT_FIELDS if name in value]
        rest = [name for name in value if name not in (*TEXT_FIELDS, "kind", "type", "metadata", "context")]
        if len(inner) != 1 or (rest and not isinstance(inner[0], str)):
            return "; ".join(f"{name}: {_shown(held)}" for name, held in value.items() if held is not None)
        value = inner[0]
    return _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return "" if value is None else dump_json(value)


def object_of(value: object, name: str) -> dict[str, object]:
    """An object, or the JSON text of one; null as an empty one.

    Raises:
        JsonFault: ``bad_field_type``, or the text is no JSON.
    """
    if isinstance(value, str):
        value = load_json(value.encode("utf-8", "replace")) if value.strip() else None
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    raise JsonFault("bad_field_type", f"{name} is {type_name(value)}, not an object")


def texts_of(value: object) -> list[str]:
    """The texts of a list; of anything else none."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def unmapped(record: Mapping[str, object], mapped: Sequence[str]) -> dict[str, object]:
    """Fields that nothing else takes, of any type."""
    return {name: value for name, value in record.items() if name not in mapped}


def listed_keys(head: bytes, *wrappers: str) -> set[str]:
    """Keys of the records of a source: of its list, its lines, its only object, or of lists in that object.

    Args:
        head: First bytes.
        wrappers: Keys under which an object may hold lists of records.
    """
    keys = top_keys(head)
    inner: set[str] = set()
    for wrapper in keys & set(wrappers):
        found = re.search(rb'"%s"\s*:\s*(?=\[)' % wrapper.encode(), head)
        if found:
            inner |= top_keys(head[found.end() :])
    return inner or keys


def words(record: Mapping[str, object], *names: str) -> str | None:
    """The first of some fields that is not null, as text.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    return next((text_or_none(record[n], n) for n in names if record.get(n) is not None), None)
