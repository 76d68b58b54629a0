"""A window as the messages of a chat: what an OpenAI-style endpoint takes as it is.

Such an endpoint wants the results of an assistant's calls right behind them, one for each, and no result
without its call. So results move up to their calls; a call that was never answered, because its turn went
on without it, is answered ``no result``; a result whose call is in no window gets a bare call before it. A
call at the end that is being worked on stands unanswered: its result is what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transforms.working.rows import Row
from transforms.working.turns import answers

NO_RESULT = "no result"
Message = dict[str, Any]
_ROLES = {"user": "user", "assistant": "assistant", "system": "system"}
"""Words of anybody else are shown as a user's."""


def messages(rows: Sequence[Row]) -> list[Message]:
    """Messages of a window, each row in one of them.

    Args:
        rows: By time.

    Returns:
        ``role`` and ``content``, and ``tool_calls`` or ``tool_call_id`` where they belong.
    """
    result_of = {call: result for result, call in answers(rows).items()}
    answered = set(result_of.values())
    told: list[Message] = []
    place = 0
    while place < len(rows):
        row = rows[place]
        if row.is_call:
            calls = range(place, _calls_end(rows, place))
            is_waiting = all(after in answered for after in range(calls.stop, len(rows)))
            told += _calls(rows, calls, result_of, is_waiting=is_waiting)
            place = calls.stop
            continue
        if row.is_result:
            told += [] if place in answered else _orphan(row)
        else:
            told.append({"role": _ROLES.get(row.role or "", "user"), "content": row.content})
        place += 1
    return told


def _calls_end(rows: Sequence[Row], place: int) -> int:
    """Behind the last of several calls that were made together; an id that comes again begins others."""
    names: set[str] = set()
    while place < len(rows) and rows[place].is_call and _name(rows[place]) not in names:
        names.add(_name(rows[place]))
        place += 1
    return place


def _name(row: Row) -> str:
    return row.link or f"call_{row.id[:24]}"


def _calls(
    rows: Sequence[Row], places: range, result_of: dict[int, int], *, is_waiting: bool
) -> list[Message]:
    """Calls made together as one message, and their results; where they are the last, some may be awaited."""
    names = {place: _name(rows[place]) for place in places}
    told: list[Message] = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_call(names[p], rows[p].tool_name, rows[p].arguments) for p in places],
        }
    ]
    for place in places:
        if rows[place].is_answered:
            told.append(_result(names[place], rows[place].content))
        elif place in result_of:
            told.append(_result(names[place], rows[result_of[place]].content))
        elif not is_waiting:
            told.append(_result(names[place], NO_RESULT))
    return told


def _call(name: str, tool: str | None, arguments: str | None) -> Message:
    function = {"name": tool or "unknown", "arguments": arguments or "{}"}
    return {"id": name, "type": "function", "function": function}


def _result(name: str, content: str) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": content}


def _orphan(row: Row) -> list[Message]:
    name = f"call_{row.id[:24]}"
    call = {"role": "assistant", "content": None, "tool_calls": [_call(name, row.tool_name, None)]}
    return [call, _result(name, row.content)]
