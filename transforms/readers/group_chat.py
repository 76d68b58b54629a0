"""``group-chat``: a chat with its people in a header, ``session_meta``, and a ``conversation_list``.

The open format of EverMemOS (https://github.com/EverMind-AI/EverMemOS), whose earlier files say
``conversation_meta``. Its times may be naive, and then the header says in which zone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import BinaryIO

import polars as pl

from transforms.errors import UsageError
from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.chats import person_fields
from transforms.readers.lines import START, Point
from transforms.readers.parts import content_of, metadata_of, scalars
from transforms.readers.records import Record, json_records
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time
from transforms.validate import ROLES, parse_instants

_LIST = "conversation_list"
_HEADERS = ("session_meta", "conversation_meta")
_ALONE = ("solo", "assistant")
"""Scenes of one person and an assistant."""
_MAPPED = frozenset(("message_id", "create_time", "sender", "sender_name", "content", "refer_list", "role"))
_HEADER_MAPPED = frozenset(
    ("group_id", "name", "scene", "tags", "default_timezone", "user_details", "created_at", "description")
)
_NAIVE = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?")


class GroupChat:
    """Reader of group chats; ``owner`` as ``chats.person_fields`` takes it."""

    name = "group-chat"
    about = "Chats of several people in the format of EverMemOS; a record is one chat."

    def __init__(self, owner: str | None = None) -> None:
        """A reader of chats that are to be the owner's memory, or each speaker's own."""
        self._owner = owner

    def owned_by(self, owner: str) -> GroupChat:
        """As ``chats.Owned``."""
        return GroupChat(owner)

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``conversation_list``, or a header before it that the head ends in."""
        keys = top_keys(head)
        return _LIST in keys or ("session_meta" in keys and "version" in keys)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the number of the message in the file."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``: between chats, for one chat is read as a whole."""
        collector = Collector(file_name, policy)
        number = int(point.state or 1)
        records = json_records(stream, policy, start=point._replace(state=""))
        for record in records:
            collector.reached(None)
            for _ in self._messages(collector, record, number):
                number += 1
                if collector.is_overfull:
                    yield from collector.flush()
            end = records.point
            collector.reached(end and end._replace(state=str(number)))
            if collector.is_full:
                yield from collector.flush()
        yield from collector.flush()

    def _messages(self, collector: Collector, record: Record, number: int) -> Iterator[None]:
        """Draft or refuse the messages of one chat; gives control back after each."""
        try:
            if isinstance(record.value, JsonFault):
                raise record.value
            messages = record.value.get(_LIST)
            if not isinstance(messages, list):
                raise JsonFault("bad_field_type", f"{_LIST} is {type_name(messages)}, not a list")
        except JsonFault as fault:
            collector.refuse(fault, record.raw, record.number)
            return
        chat = _Chat(collector, record.value, messages, self._owner)
        for place, message in enumerate(messages):
            chat.read(message, place, number + place)
            yield


def _objects(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _is_assistant(person: Mapping[str, object]) -> bool:
    role = person.get("role")
    return isinstance(role, str) and ROLES.get(role.strip().lower()) == "assistant"


class _Chat:
    """One chat: its header, and its messages one by one."""

    def __init__(
        self,
        collector: Collector,
        document: Mapping[str, object],
        messages: Sequence[object],
        owner: str | None,
    ) -> None:
        self._collector = collector
        self._owner = owner
        header = next((_objects(document[name]) for name in _HEADERS if name in document), {})
        details = _objects(header.get("user_details"))
        self._people = {name: _objects(detail) for name, detail in details.items()}
        collector.leave_out("profile", len(self._people))
        self._group = _id(header.get("group_id"))
        kept = {name: header.get(name) for name in ("scene", "tags")}
        title = _text(header.get("name"))
        about = scalars(document, ("version",)) | scalars(header, _HEADER_MAPPED)
        self._metadata = {**about, "title": title, **kept}
        self._chat = _key_of(self._group, title)
        humans = [name for name, person in self._people.items() if not _is_assistant(person)]
        is_alone = header.get("scene") in _ALONE if "scene" in header else len(humans) < len(self._people)
        self._sole = humans[0] if is_alone and len(humans) == 1 else None
        zone = _text(header.get("default_timezone") or header.get("timezone"))
        self._zoned = _in_zone(messages, zone) if zone else {}
        self._seen: Counter[str] = Counter()

    def read(self, message: object, place: int, number: int) -> None:
        """Draft or refuse one message."""
        try:
            if not isinstance(message, dict):
                raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
            self._draft(message, place, number)
        except JsonFault as fault:
            self._collector.refuse(fault, message, number)

    def _draft(self, message: Mapping[str, object], place: int, number: int) -> None:
        sender = id_or_none(message.get("sender"), "sender")
        name = text_or_none(message.get("sender_name"), "sender_name")
        text, others = content_of(message.get("content"))
        time = iso_time(message.get("create_time"), "create_time")
        own_id = id_or_none(message.get("message_id"), "message_id")
        person = self._people.get(sender or "", {})
        rest = {key: value for key, value in message.items() if key not in _MAPPED}
        if rest.get("type") == "text":
            del rest["type"]
        self._collector.draft(
            **self._who(message, person, sender, name),
            natural_id=self._own(own_id),
            session_id=self._group,
            parent_id=self._own_key(_referred(message.get("refer_list"))),
            speaker=_text(person.get("full_name")) or name or sender,
            content=text,
            event_at=self._zoned.get(time, time) if time else time,
            turn_index=place,
            metadata=metadata_of({**rest, **self._metadata, "sender": sender, "parts": others}),
            source_line=number,
        )

    def _who(
        self,
        message: Mapping[str, object],
        person: Mapping[str, object],
        sender: str | None,
        name: str | None,
    ) -> dict[str, object]:
        """Role and owner of a message; an assistant's lie with the one person that it talks to."""
        own = None if self._owner else self._sole
        if _is_assistant(person if "role" in person else message):
            return {"role": "assistant", "user_id": own}
        if self._sole is not None and sender == self._sole:
            return {"role": "user", "user_id": own}
        return person_fields(sender, (name, person.get("full_name"), person.get("email")), self._owner)

    def _own(self, own_id: str | None) -> str | None:
        """Natural id; a message that bears the id of an earlier one is another message all the same."""
        key = self._own_key(own_id)
        if key is None:
            return None
        self._seen[key] += 1
        return key if self._seen[key] == 1 else f"{key}/{self._seen[key]}"

    def _own_key(self, own_id: str | None) -> str | None:
        return own_id if own_id is None or self._chat is None else f"{self._chat}/{own_id}"


def _id(value: object) -> str | None:
    try:
        return id_or_none(value, "group_id")
    except JsonFault:
        return None


def _key_of(group: str | None, title: str | None) -> str | None:
    """What a chat is told by: a group under two names, as translations have them, is two chats."""
    if group is None or title is None:
        return group
    return f"{group}/{blake2b(title.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def _referred(references: object) -> str | None:
    """The first message that one refers to: an id, or an object with one."""
    first = references[0] if isinstance(references, list) and references else None
    return _id(first.get("message_id") if isinstance(first, dict) else first)


def _in_zone(messages: Sequence[object], zone: str) -> dict[str, str]:
    """Naive time -> the same with its offset; of an unknown zone nothing, so that the caller's counts."""
    times = {
        m.get("create_time") for m in messages if isinstance(m, dict) and _is_naive(m.get("create_time"))
    }
    naive = pl.Series("time", sorted(str(time) for time in times), dtype=pl.String)
    if naive.is_empty():
        return {}
    try:
        instants = parse_instants(naive, zone)
    except UsageError:
        return {}
    return {text: instant.isoformat() for text, instant in zip(naive, instants, strict=True) if instant}


def _is_naive(value: object) -> bool:
    return isinstance(value, str) and _NAIVE.fullmatch(value) is not None
