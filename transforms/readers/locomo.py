"""``locomo``: the long conversations of LoCoMo (Maharana et al. 2024) and files of its shape.

A file holds conversations of two people; each has sessions ``session_1``, ``session_2`` ... with a date
that names no zone. Its questions, summaries and observations are labels of the benchmark, not memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.chats import person_fields
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name

_SESSION = re.compile(r"session_(\d{1,6})")
_TIME = re.compile(r"(\d{1,2}):(\d{2}) ?([ap]m) on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_INSIDE = re.compile(rb'"(?:session_\d{1,6}(?:_date_time)?|speaker_[ab])"\s*:')
_MAPPED = frozenset(("speaker", "dia_id", "text", "blip_caption"))
_SPEAKERS = ("speaker_a", "speaker_b")
_ANNOTATIONS = ("event_summary", "observation", "session_summary")


class Session(NamedTuple):
    """One session: its number and name, its date as the file gives it, and its turns."""

    number: int
    name: str
    date: object
    turns: object


def sessions_of(conversation: Mapping[str, object]) -> Iterator[Session]:
    """The sessions of a conversation in the order of their numbers; a date alone is none."""
    found = sorted((int(match[1]), name) for name in conversation if (match := _SESSION.fullmatch(name)))
    for number, name in found:
        yield Session(number, name, conversation.get(f"{name}_date_time"), conversation[name])


def session_time(date: str) -> str | None:
    """``1:56 pm on 8 May, 2023`` as ISO 8601 without a zone, as the file names none; null for other text."""
    found = _TIME.fullmatch(date.strip())
    if found is None or found[5].lower() not in _MONTHS:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "pm" else 0)
    month = _MONTHS.index(found[5].lower()) + 1
    return f"{found[6]}-{month:02d}-{int(found[4]):02d}T{hour:02d}:{found[2]}:00"


def said(turn: Mapping[str, object]) -> str:
    """The words of a turn; behind them the caption of the image that was shared.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    text = text_or_none(turn.get("text"), "text") or ""
    caption = text_or_none(turn.get("blip_caption"), "blip_caption")
    return f"{text} [{caption}]" if caption else text


class Locomo(EachRecord):
    """Reader of LoCoMo; ``owner`` as ``chats.person_fields`` takes it."""

    name = "locomo"
    about = "Conversations of the benchmark LoCoMo; a record is one conversation of many sessions."

    def __init__(self, owner: str | None = None) -> None:
        """A reader of conversations that are to be the owner's memory, or each speaker's own."""
        self._owner = owner

    def owned_by(self, owner: str) -> Locomo:
        """As ``chats.Owned``."""
        return Locomo(owner)

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``conversation`` with speakers or numbered sessions."""
        return "conversation" in top_keys(head) and _INSIDE.search(head) is not None

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a conversation."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            for session in _Sample(collector, record, number, self._owner).sessions:
                session.read()

        return read_one


class _Sample:
    """One conversation, of which the sessions are read one by one.

    Raises:
        JsonFault: It cannot be read as a whole.
    """

    def __init__(
        self, collector: Collector, sample: Mapping[str, object], number: int, owner: str | None
    ) -> None:
        conversation = sample.get("conversation")
        if not isinstance(conversation, dict):
            raise JsonFault("bad_field_type", f"conversation is {type_name(conversation)}, not an object")
        name = id_or_none(sample.get("sample_id"), "sample_id") or f"conversation-{number}"
        questions = sample.get("qa")
        collector.leave_out("question", len(questions) if isinstance(questions, list) else 0)
        collector.leave_out("annotation", sum(_size(sample.get(key)) for key in _ANNOTATIONS))
        self.sessions = [
            _Reading(collector, session, name, number, owner, _about(sample, conversation))
            for session in sessions_of(conversation)
        ]


def _about(sample: Mapping[str, object], conversation: Mapping[str, object]) -> dict[str, object]:
    """What else is said of a conversation as a whole."""
    rest = scalars(conversation, _SPEAKERS)
    told = {key: value for key, value in rest.items() if not _SESSION.match(key)}
    return {**scalars(sample, ("sample_id",)), **told}


def _size(value: object) -> int:
    return len(value) if isinstance(value, dict | list) else 0


class _Reading:
    """The reading of one session."""

    def __init__(
        self,
        collector: Collector,
        session: Session,
        sample: str,
        number: int,
        owner: str | None,
        about: Mapping[str, object],
    ) -> None:
        self._collector = collector
        self._session = session
        self._sample = sample
        self._number = number
        self._owner = owner
        self._about = about

    def read(self) -> None:
        """Draft or refuse each turn."""
        turns = self._session.turns
        if not isinstance(turns, list):
            fault = JsonFault("bad_field_type", f"a session is {type_name(turns)}, not a list of turns")
            self._collector.refuse(fault, turns, self._number)
            return
        date = self._session.date if isinstance(self._session.date, str) else None
        time = (session_time(date) or date) if date else None  # of another shape: the next stage judges it
        for place, turn in enumerate(turns):
            try:
                self._draft(turn, place, time)
            except JsonFault as fault:
                self._collector.refuse(fault, turn, self._number)

    def _draft(self, turn: object, place: int, time: str | None) -> None:
        if not isinstance(turn, dict):
            raise JsonFault("bad_field_type", f"a turn is {type_name(turn)}, not an object")
        speaker = text_or_none(turn.get("speaker"), "speaker")
        person = f"{self._sample}/{speaker}" if speaker else None
        own_id = id_or_none(turn.get("dia_id"), "dia_id") or f"{self._session.name}/{place + 1}"
        rest = {key: value for key, value in turn.items() if key not in _MAPPED}
        self._collector.draft(
            **person_fields(person, (speaker,), self._owner),
            natural_id=f"{self._sample}/{own_id}",
            agent_id=self._sample,
            session_id=f"{self._sample}/{self._session.name}",
            speaker=speaker,
            content=said(turn),
            event_at=time,
            turn_index=place,
            metadata=metadata_of({**self._about, **rest}),
            source_line=self._number,
        )
