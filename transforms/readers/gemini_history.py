"""Contents of a Gemini CLI checkpoint -> drafts."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result
from transforms.readers.gemini_parts import ROLES, opened, split_words
from transforms.readers.message_parts import Parts, read_parts
from transforms.readers.pairs import Pairs, Scope
from transforms.readers.parts import metadata_of
from transforms.readers.text import JsonFault, text_or_none, type_name


class History:
    """The contents of a checkpoint: calls and results stand in messages of their own.

    Args:
        collector: Where rows go.
        policy: For the longest failure reason.
        session_id: Session of the rows.
        number: Line or item of the source.
    """

    def __init__(self, collector: Collector, policy: IngestPolicy, session_id: str, number: int) -> None:
        """Start with nothing waiting."""
        self._collector = collector
        self._session_id = session_id
        self._number = number
        self._pairs = Pairs(self._draft, collector.leave_out, policy)
        self._open: defaultdict[str | None, deque[str]] = defaultdict(deque)
        self._turn = 0

    def _draft(self, **fields: object) -> None:
        """A row; ids of calls are unique in their session only."""
        own = fields.get("natural_id")
        named = own if own is None or str(own).startswith(self._session_id) else f"{self._session_id}/{own}"
        self._collector.draft(**{**fields, "natural_id": named})

    def _next(self, scope: Scope) -> Scope:
        self._turn += 1
        return scope | {"turn_index": self._turn - 1}

    def read(self, content: object, index: int) -> None:
        """Read one content.

        Raises:
            JsonFault: It cannot be read.
        """
        if not isinstance(content, dict):
            raise JsonFault("bad_field_type", f"a content is {type_name(content)}, not an object")
        parts = Parts()
        read_parts(content.get("parts"), parts)
        kind = text_or_none(content.get("role"), "role")
        role = ROLES.get(kind or "", kind)
        scope: Scope = {
            "session_id": self._session_id,
            "source_line": self._number,
            "metadata": metadata_of({"other_parts": parts.other_types}),
        }
        self._collector.leave_out("thinking", parts.thinking)
        words, injected = split_words(parts.text, None, role)
        own = f"{self._session_id}/{index}"
        for text, suffix, is_injected in (
            (words, "", None),
            (injected, "/injected" if words.strip() else "", True),
        ):
            if text.strip():
                self._draft(
                    **self._next(scope),
                    natural_id=f"{own}{suffix}",
                    role=role,
                    content=text,
                    is_injected=is_injected,
                )
        for position, call in enumerate(parts.calls):
            self._take_call(call, self._next(scope), f"{own}/call/{position}")
        for position, result in enumerate(parts.results):
            self._take_result(result, self._next(scope), f"{own}/result/{position}")
        is_empty = not (words.strip() or injected.strip() or parts.calls or parts.results or parts.thinking)
        if is_empty:
            self._collector.leave_out("no_text_part" if parts.other_types else "empty_message")

    def _take_call(self, call: Call, scope: Scope, spare: str) -> None:
        """A call; without an id it waits under the place where it stands."""
        call_id = call.call_id
        if call_id is None:
            call_id = spare
            self._open[call.name].append(spare)
        self._pairs.take_call(Call(call_id, call.name, call.arguments), scope, spare)

    def _take_result(self, result: Result, scope: Scope, own: str) -> None:
        """A result; without an id it answers the first call of its name that has none either."""
        call_id = result.call_id
        if call_id is None and self._open[result.name]:
            call_id = self._open[result.name].popleft()
        text, is_error = opened(result)
        self._pairs.take_result(Result(call_id, result.name, text, is_error), scope, own)

    def finish(self) -> None:
        """Draft what still waits."""
        self._pairs.finish()


def opening(history: Sequence[object]) -> list[object]:
    """The contents of a checkpoint up to the first words of the user: the same when it grows."""
    for index, content in enumerate(history):
        try:
            parts = Parts()
            fields = content if isinstance(content, dict) else {}
            read_parts(fields.get("parts"), parts)
        except JsonFault:
            continue
        if fields.get("role") == "user" and split_words(parts.text, None, "user")[0].strip():
            return list(history[: index + 1])
    return list(history)
