r"""Reads the hand-written sessions of ``scripts/``.

A session starts with ``= id tenant user agent start [key=value …]``; ``title=`` takes the rest of the
line. Each further line is one turn, ``MARK{option=value,…}: text``. ``\n`` in a text is a line break,
``{{NAME}}`` a value of ``fakes``, ``#`` a comment. Marks:

=====  ======================================================================================
U A    user, assistant
T F    tool call that worked, that failed: ``tool {arguments as JSON} => result ## reason``
O N    outcome, summary
X      answer that the user had made again (abandoned branch of a ChatGPT export)
S M K  system reminder, summary line and sidechain of a coding-agent transcript
=====  ======================================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from samples.fakes import FAKES

TURN = re.compile(r"^([UATFONXSMK])(?:\{([^}]*)\})?: (.*)$")
CALL = re.compile(r"^(\w+) (\{.*\}) => (.*?)(?: ## (.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Turn:
    """One line of a script: an id, who, what and when."""

    turn_id: str
    mark: str
    text: str
    event_at: datetime
    options: dict[str, str]
    tool_name: str | None = None
    tool_arguments: dict[str, Any] | None = None
    failure_reason: str | None = None


@dataclass(frozen=True)
class Session:
    """One conversation of one user with one agent; ``form`` says in which file it lands."""

    session_id: str
    tenant_id: str
    user_id: str
    agent_id: str
    started_at: datetime
    options: dict[str, str]
    turns: list[Turn] = field(default_factory=list)

    @property
    def form(self) -> str:
        """Where the session lands: ``jsonl`` unless the header names another form."""
        return self.options.get("file", "jsonl")


def _session(header: str) -> Session:
    head, _, title = header.partition(" title=")
    session_id, tenant, user, agent, start, *rest = head.split()
    options = dict(item.split("=", 1) for item in rest)
    if title:
        options["title"] = title
    return Session(session_id, tenant, user, agent, datetime.fromisoformat(start), options)


def _fill(text: str) -> str:
    """The text with the fake values in their places."""
    for name, value in FAKES.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _prose(text: str) -> str:
    return _fill(text).replace("\\n", "\n")


def _turn(session: Session, line: str) -> Turn:
    match = TURN.match(line)
    if match is None:
        raise ValueError(f"session {session.session_id}: not a turn: {line[:40]}")
    mark, raw_options, text = match.groups()
    options = dict(item.split("=", 1) for item in (raw_options or "").split(",") if item)
    number = len(session.turns) + 1
    turn_id = options.get("id", f"{session.session_id}-{number:02d}")
    event_at = session.started_at + timedelta(seconds=_offset_seconds(number))
    if mark not in "TF":
        return Turn(turn_id, mark, _prose(text), event_at, options)
    call = CALL.match(text)
    if call is None:
        raise ValueError(f"session {session.session_id}: not a tool call: {text[:40]}")
    tool, arguments, result, reason = call.groups()
    parsed = json.loads(_fill(arguments))
    return Turn(turn_id, mark, _prose(result), event_at, options, tool, parsed, reason)


def _offset_seconds(number: int) -> int:
    """Seconds from the start of the session to turn ``number``: uneven steps of 38 to 92 s."""
    return sum(38 + (17 * step) % 55 for step in range(1, number))


def parse(lines: Iterable[str]) -> Iterator[Session]:
    """Sessions of one script, in its order.

    Raises:
        ValueError: A line is neither header, turn, comment nor blank.
    """
    session: Session | None = None
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("= "):
            if session is not None:
                yield session
            session = _session(line[2:])
        elif session is None:
            raise ValueError(f"a turn stands before the first session: {line[:40]}")
        else:
            session.turns.append(_turn(session, line))
    if session is not None:
        yield session
