"""Messages of a Gemini CLI session -> drafts."""

from __future__ import annotations

from collections.abc import Mapping

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Result, action_fields
from transforms.readers.gemini_parts import ROLES, SNAPSHOT, opened, split_words
from transforms.readers.message_parts import Parts, call_of, read_parts
from transforms.readers.pairs import Pairs, Scope
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_FIELDS = ("id", "timestamp", "type", "content", "sessionId")
_CALL_FIELDS = ("id", "name", "args", "status", "timestamp", "result", "resultDisplay")
_SESSION_FIELDS = ("sessionId", "startTime", "lastUpdated", "messages", "summary", "type", "id", "timestamp")


class Messages:
    """The messages of one session, each as its last version says, drafted together.

    Args:
        collector: Where rows go.
        policy: For the size of what is held and the longest failure reason.
        about: The line, or the document, about the session.
    """

    def __init__(self, collector: Collector, policy: IngestPolicy, about: Mapping[str, object]) -> None:
        """Start with no message."""
        self._collector = collector
        self._policy = policy
        self._session_id = id_or_none(about.get("sessionId"), "sessionId")
        self._started_at = iso_time(about.get("startTime"), "startTime")
        self._about = scalars(about, _SESSION_FIELDS)
        self._summary = about.get("summary")
        self._held: dict[str, tuple[Mapping[str, object], int]] = {}
        self._known: set[str] = set()
        self._chars = 0
        self._turn = 0
        self._answered: set[str] = set()
        self._pairs = Pairs(collector.draft, collector.leave_out, policy)

    @property
    def is_full(self) -> bool:
        """Whether the messages held make a batch."""
        return len(self._held) >= self._policy.batch_rows or self._chars >= self._policy.batch_bytes

    def knows(self, message_id: object) -> bool:
        """Whether a message of that id has been added."""
        return isinstance(message_id, str) and message_id in self._known

    def update(self, about: Mapping[str, object]) -> None:
        """Take over what a line says anew about the session."""
        self._about.update(scalars(about, _SESSION_FIELDS))
        self._summary = about.get("summary", self._summary)

    def add(self, message: Mapping[str, object], number: int) -> None:
        """A message, or a later version of one that is held.

        Raises:
            JsonFault: It has no usable id.
        """
        own = id_or_none(message.get("id"), "id")
        if own is None:
            raise JsonFault(
                "unknown_record", "the record is neither a message with an id nor about a session"
            )
        if own in self._held:
            self._collector.leave_out("earlier_version")
            number = self._held[own][1]
        self._held[own] = (message, number)
        self._known.add(own)
        self._chars += sum(len(str(message.get(name) or "")) for name in ("content", "toolCalls"))

    def rewind_to(self, message_id: object) -> None:
        """Take back a message and all after it; all messages if it is not among them, as the program does."""
        is_known = isinstance(message_id, str) and message_id in self._held
        count = 0
        while self._held:
            own, _ = self._held.popitem()
            count += 1
            if is_known and own == message_id:
                break
        self._collector.leave_out("abandoned_branch", count)

    def finish(self) -> None:
        """Draft the messages held."""
        held, self._held, self._chars = self._held, {}, 0
        for own, (message, number) in held.items():
            try:
                self._draft_message(own, message, number)
            except JsonFault as fault:
                self._collector.refuse(fault, message, number)
        self._pairs.finish()

    def _draft(self, **fields: object) -> None:
        self._collector.draft(**self._next(fields))

    def _draft_message(self, own: str, message: Mapping[str, object], number: int) -> None:
        kind = text_or_none(message.get("type"), "type")
        role = ROLES.get(kind or "", kind)
        parts = Parts()
        read_parts(message.get("content"), parts)
        thoughts = message.get("thoughts")
        parts.thinking += len(thoughts) if isinstance(thoughts, list) else 0
        self._collector.leave_out("thinking", parts.thinking)
        calls = message.get("toolCalls") or []
        if not isinstance(calls, list):
            raise JsonFault("bad_field_type", f"toolCalls is {type_name(calls)}, not a list")
        extra = {"other_parts": parts.other_types, "level": kind if role == "system" else None}
        scope = self._scope(message, number, extra)
        words, injected = split_words(parts.text, message.get("displayContent"), role)
        if words.strip():
            notice = True if role == "system" else None
            self._draft(**scope, natural_id=own, role=role, content=words, is_injected=notice)
        if injected.strip():
            suffix = "/injected" if words.strip() else ""
            is_snapshot = injected.lstrip().startswith(SNAPSHOT)
            fields = {"kind": "summary" if is_snapshot else None, "role": role, "is_injected": True}
            self._draft(**scope, natural_id=f"{own}{suffix}", content=injected, **fields)
        for position, call in enumerate(calls):
            more = scalars(call, _CALL_FIELDS) if isinstance(call, dict) else {}
            self._draft_call(call, self._scope(message, number, {**more, **extra}), own, position)
        self._take_parts(parts, scope, own, has_calls=bool(calls))
        is_silent = not (words.strip() or injected.strip() or calls or parts.calls or parts.results)
        if is_silent and not parts.thinking:
            self._collector.leave_out("no_text_part" if parts.other_types else "empty_message")

    def _scope(self, message: Mapping[str, object], number: int, extra: Mapping[str, object]) -> Scope:
        time = iso_time(message.get("timestamp"), "timestamp")
        about = {**self._about, "summary": self._summary, **scalars(message, _FIELDS)}
        return {
            "session_id": self._session_id,
            "event_at": time if time is not None else self._started_at,
            "source_line": number,
            "metadata": metadata_of({**about, **extra}),
        }

    def _take_parts(self, parts: Parts, scope: Scope, own: str, *, has_calls: bool) -> None:
        """Calls and results in the content: those that ``toolCalls`` does not hold already."""
        for position, call in enumerate([] if has_calls else parts.calls):
            self._pairs.take_call(call, self._next(scope), f"{own}/call/{position}")
        for position, result in enumerate(parts.results):
            if result.call_id is not None and result.call_id in self._answered:
                self._collector.leave_out("repeated")
                continue
            text, is_error = opened(result)
            given = Result(result.call_id, result.name, text, is_error)
            self._pairs.take_result(given, self._next(scope), f"{own}/result/{position}")

    def _next(self, scope: Scope) -> Scope:
        self._turn += 1
        return scope | {"turn_index": self._turn - 1}

    def _draft_call(self, item: object, scope: Scope, own: str, position: int) -> None:
        """One call with its result, as one action."""
        try:
            call = call_of(item)
            fields = item if isinstance(item, dict) else {}
            self._answered.add(call.call_id or "")
            status = str(fields.get("status") or "").lower()
            result = _result(fields.get("result"), fields.get("resultDisplay"), status)
            time = iso_time(fields.get("timestamp"), "timestamp")
            drafted = action_fields(call, result, self._policy)
            if status == "cancelled":
                drafted["failure_reason"] = "cancelled"
            self._draft(
                **{**scope, "event_at": time if time is not None else scope["event_at"]},
                natural_id=call.call_id if call.call_id is not None else f"{own}/call/{position}",
                parent_id=own,
                **drafted,
            )
        except JsonFault as fault:
            line = scope["source_line"]
            self._collector.refuse(fault, item, line if isinstance(line, int) else 1)


def _result(value: object, display: object, status: str) -> Result | None:
    """The result of a call in a session: function responses, with the status of the call."""
    parts = Parts()
    read_parts(value, parts)
    given = [opened(result) for result in parts.results]
    texts = [text for text, _ in given if text.strip()] or [parts.text]
    if not texts[0].strip() and isinstance(display, str):
        texts = [display]
    text = "\n".join(texts)
    if not status and not text.strip():
        return None
    told = {"success": False, "error": True, "cancelled": True}.get(status)
    if told is None and any(is_error for _, is_error in given):
        told = True
    return Result(None, None, text, told)
