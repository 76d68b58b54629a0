"""What has landed of a conversation as JSON and back: ids, digests and places, and no text anybody said."""

from __future__ import annotations

from collections import Counter
from typing import Any

from transforms.policy import IngestPolicy
from transforms.readers.blocks import Call
from transforms.readers.trace_calls import Action
from transforms.readers.trace_landed import Conversation, Landed, Seen

_USER, _OWNED = 1, 2
_BARE, _UNANSWERED = 1, 2


def told(conversation: Conversation) -> dict[str, Any]:
    """A conversation of which no call waits, as JSON takes it."""
    entries = conversation.entries
    places = {id(entry): place for place, entry in enumerate(entries)}
    named = {entry.natural_id: place for place, entry in enumerate(entries)}
    spans: dict[str, int] = {}
    counts: Counter[str] = Counter()
    rows = [_entry(conversation.session_id, entry, named, spans, counts) for entry in entries]
    return {
        "session": conversation.session_id,
        "entries": rows,
        "spans": list(spans),
        "last": _place(conversation.last_id, named),
        "blanks": dict(conversation.blanks),
        "answers": sorted(conversation.answers),
        "own": {name: places[id(entry)] for name, entry in conversation.owned_by.items()},
        "called": {name: [places[id(e)] for e in found] for name, found in conversation.called_by.items()},
        "traces": {name: [t.start, t.is_asked, t.is_answered] for name, t in conversation.traces.items()},
    }


def _place(natural_id: str | None, named: dict[str, int]) -> int:
    return -1 if natural_id is None else named.get(natural_id, -1)


def _entry(
    session_id: str, entry: Landed, named: dict[str, int], spans: dict[str, int], counts: Counter[str]
) -> list[Any]:
    """Key, natural id (null: made of the key), place of the parent, place of the span, flags, and a call."""
    is_plain = entry.natural_id == f"{session_id}/{entry.key}/{counts[entry.key]}"
    counts[entry.key] += 1
    flags = _USER * entry.is_user + _OWNED * (entry.own_id is not None)
    found = [
        entry.key,
        None if is_plain else entry.natural_id.removeprefix(f"{session_id}/"),
        _place(entry.parent_id, named),
        spans.setdefault(entry.span_id, len(spans)),
        flags,
    ]
    action = entry.action
    if action is not None:
        found += [
            action.tool,
            action.call.call_id,
            _BARE * action.is_bare + _UNANSWERED * action.is_unanswered,
        ]
    return found


def conversation_of(record: dict[str, Any], policy: IngestPolicy) -> Conversation:
    """The conversation that ``told`` tells."""
    session_id, spans = record["session"], record["spans"]
    found = Conversation(session_id, policy)
    for key, natural, _, span, flags, *call in record["entries"]:
        natural_id = found.next_id(key) if natural is None else f"{session_id}/{natural}"
        action = None
        if call:
            tool, call_id, ended = call
            action = Action(Call(call_id, "", None), None, {}, tool=tool)
            action.is_bare, action.is_unanswered = bool(ended & _BARE), bool(ended & _UNANSWERED)
        own_id = "" if flags & _OWNED else None  # that it has one is all that is asked of it
        entry = Landed(key, natural_id, None, spans[span], bool(flags & _USER), own_id, action)
        found.remember(entry)
    for entry, (_, _, parent, *_) in zip(found.entries, record["entries"], strict=True):
        entry.parent_id = found.entries[parent].natural_id if parent >= 0 else None
    found.last_id = found.entries[record["last"]].natural_id if record["last"] >= 0 else None
    found.blanks, found.answers = Counter(record["blanks"]), set(record["answers"])
    found.owned_by = {name: found.entries[place] for name, place in record["own"].items()}
    found.called_by = {
        name: [found.entries[place] for place in places] for name, places in record["called"].items()
    }
    found.traces = {name: Seen(*seen) for name, seen in record["traces"].items()}
    return found
