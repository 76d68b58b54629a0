"""``longmemeval``: the histories of LongMemEval (Wu et al. 2024) and files of its shape.

Each record is a question and, for it alone, a haystack: sessions of one person with an assistant, a date for
each (``2023/05/20 (Sat) 02:21``, no zone) and its id. The shape is that of the benchmark's README,
https://github.com/xiaowu0162/LongMemEval. Question and answer are labels, not memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.parts import content_of, metadata_of, scalars
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name

_SESSIONS, _DATES, _IDS = "haystack_sessions", "haystack_dates", "haystack_session_ids"
_DATE = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: \(\w+\))?(?: \(?(\d{2}):(\d{2})\)?)?")
_MAPPED = frozenset(("role", "content"))
_LABELS = ("question_id", "question", "question_type", "question_date", "answer")


class LongMemEval(EachRecord):
    """Reader of LongMemEval."""

    name = "longmemeval"
    about = "Haystacks of the benchmark LongMemEval; a record is one question's history of sessions."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Sessions of a haystack, their dates or their ids."""
        return bool({_SESSIONS, _DATES, _IDS} & top_keys(head))

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a question's history."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            haystack = _Haystack(collector, record, number)
            for place, session in enumerate(haystack.sessions):
                haystack.read(place, session)

        return read_one


def session_time(date: object) -> str | None:
    """A date of the haystack as ISO 8601 without a zone; text of another shape as it is."""
    if not isinstance(date, str):
        return None
    found = _DATE.fullmatch(date.strip())
    if found is None:
        return date
    day = f"{found[1]}-{found[2]}-{found[3]}"
    return f"{day}T{found[4]}:{found[5]}:00" if found[4] else day


class _Haystack:
    """One question's sessions.

    Raises:
        JsonFault: The record cannot be read as a whole.
    """

    def __init__(self, collector: Collector, record: Mapping[str, object], number: int) -> None:
        sessions = record.get(_SESSIONS)
        if not isinstance(sessions, list):
            raise JsonFault("bad_field_type", f"{_SESSIONS} is {type_name(sessions)}, not a list")
        self.sessions = sessions
        self._collector = collector
        self._number = number
        self._person = id_or_none(record.get("question_id"), "question_id") or f"question-{number}"
        self._dates = _listed(record.get(_DATES))
        self._ids = _listed(record.get(_IDS))
        self._about = scalars(record, _LABELS)
        self._seen: Counter[str] = Counter()
        collector.leave_out("question", int("question" in record))

    def read(self, place: int, session: object) -> None:
        """Draft or refuse each turn of a session."""
        name = self._name(place)
        if not isinstance(session, list):
            fault = JsonFault("bad_field_type", f"a session is {type_name(session)}, not a list of turns")
            self._collector.refuse(fault, session, self._number)
            return
        if not session:
            self._collector.leave_out("empty_conversation")
        time = session_time(self._dates[place]) if place < len(self._dates) else None
        for turn_index, turn in enumerate(session):
            try:
                self._draft(turn, name, turn_index, time)
            except JsonFault as fault:
                self._collector.refuse(fault, turn, self._number)

    def _name(self, place: int) -> str:
        """The session's id; a second session of that id is another one."""
        given = self._ids[place] if place < len(self._ids) else None
        name = given if isinstance(given, str) and given else f"session-{place + 1}"
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}/{self._seen[name]}"

    def _draft(self, turn: object, session: str, place: int, time: str | None) -> None:
        if not isinstance(turn, dict):
            raise JsonFault("bad_field_type", f"a turn is {type_name(turn)}, not an object")
        text, others = content_of(turn.get("content"))
        rest = {key: value for key, value in turn.items() if key not in _MAPPED}
        self._collector.draft(
            natural_id=f"{self._person}/{session}/{place}",
            user_id=self._person,
            session_id=f"{self._person}/{session}",
            role=text_or_none(turn.get("role"), "role"),
            content=text,
            event_at=time,
            turn_index=place,
            metadata=metadata_of({**self._about, **rest, "parts": others}),
            source_line=self._number,
        )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
