"""What stands in a session's file: its name, rows as they landed, changes of the task state, the summary.

One JSON object a line. Rows are the very lines that landed, each under its own person's key where the lake
is encrypted; changes and summaries are sealed under the key of the session's user, else of its agent. Ids
stand in the first line as they are, as they do everywhere in a lake.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from lake.lake import Lake
from lake.online.working_file import PREFIX, SUFFIX
from lake.rights.subjects import salt, subject_hasher
from lake.rights.watched import Place, place_of
from transforms.errors import LakeError, UsageError
from transforms.schemas import EPISODES
from transforms.working.rows import Row, row_of
from transforms.working.state import Change, change_of
from transforms.working.summary import Summary, summary_of

VERSION = 1
ROW = b'{"' + EPISODES.name.encode() + b'":'
NAME = b'{"working":'
_SUMMARY = b'{"summary":'
WHOLE = (b'{"change":', _SUMMARY, b'{"sealed":')
"""What lines begin with that are about the session as a whole."""
_salts: dict[Place, bytes] = {}
_ODD = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class SessionName:
    """Which session. Sessions of two users or agents may bear one id; theirs are two.

    Args:
        tenant: Customer.
        agent: Agent.
        session: Conversation or run.
        user: Person; None for a session of nobody in particular, whose rows may be anybody's.
    """

    tenant: str
    agent: str
    session: str
    user: str | None = None

    def __post_init__(self) -> None:
        parts = {"tenant": self.tenant, "agent": self.agent, "session_id": self.session, "user": self.user}
        for name, part in parts.items():
            if not isinstance(part, str) and (name != "user" or part is not None):
                raise UsageError(f"{name} is {type(part).__name__}, not text", "Pass ids as str.")
            if part == "":
                raise UsageError(f"{name} is empty", "Name it.")
            if _ODD.search(part or ""):
                raise UsageError(f"{name} holds a control character", "Pass the id as rows are landed with.")

    @property
    def owner(self) -> str:
        """Whose key seals what is nobody's row."""
        return f"agent:{self.agent}" if self.user is None else f"user:{self.user}"

    @property
    def scope(self) -> tuple[str, str | None, str, str]:
        """Tenant, user, agent and session, as rows have them."""
        return self.tenant, self.user, self.agent, self.session

    def columns(self) -> dict[str, str]:
        """Scope columns of its rows."""
        found = {"tenant_id": self.tenant, "agent_id": self.agent, "session_id": self.session}
        return found if self.user is None else {**found, "user_id": self.user}

    def key(self, lake: Lake) -> str:
        """Where its file lies; the name says nothing without the lake's salt."""
        where = place_of(lake)
        if where not in _salts:
            _salts[where] = salt(lake)
        parts = ("working", self.tenant, self.user or "", self.agent, self.session)
        hashed = subject_hasher(_salts[where])(parts)
        return f"{PREFIX}/{lake.bucket(self.tenant):03d}/{hashed}{SUFFIX}"


@dataclass
class Log:
    """What stands in a file.

    Attributes:
        name: Whose it is.
        opened_at: When.
        closed_at: Rows up to then are no longer in the window; None where it was never closed.
        rows: In the order they came.
        lines: Of each row, as it stands.
        changes: Of the task state, in the order they were made.
        summary: Of what left the window.
        covered: Ids of rows that the summary stands for.
        people: Users of rows that are or were in it.
    """

    name: SessionName
    opened_at: datetime
    closed_at: datetime | None = None
    rows: list[Row] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    covered: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)


def header(name: SessionName, at: datetime, closed_at: datetime | None = None) -> bytes:
    """The first line of a file."""
    told = {
        "version": VERSION,
        "tenant_id": name.tenant,
        "user_id": name.user,
        "agent_id": name.agent,
        "session_id": name.session,
        "opened_at": at,
        "closed_at": closed_at,
    }
    return _line({"working": told})


def pulled() -> bytes:
    """The line that says that earlier rows are here, as of this start of the machine.

    Rows are synced where they land, not here: what a power cut took out of this file is fetched again.
    """
    return _line({"pulled": _start_of_machine()})


@cache
def _start_of_machine() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # no Linux: fetched once
        return ""


def row_line(row: dict[str, Any]) -> bytes:
    """The line of a row, as landing writes it."""
    return _line({EPISODES.name: row})


def change_line(lake: Lake, name: SessionName, change: Change) -> bytes:
    """The line of a change of the task state."""
    return _sealed(lake, name, {"change": change.as_dict()})


def summary_line(
    lake: Lake, name: SessionName, summary: Summary, covered: Sequence[str], people: Sequence[str]
) -> bytes:
    """The line of a summary; it takes the place of any before it."""
    told = {**summary.as_dict(), "covered": list(covered), "people": list(people)}
    return _sealed(lake, name, {"summary": told})


def _sealed(lake: Lake, name: SessionName, record: dict[str, Any]) -> bytes:
    if lake.encryption is None:
        return _line(record)
    from lake.crypto.objects import seal_object  # only where a lake is encrypted

    data = seal_object(lake, name.key(lake), orjson.dumps(record), tenant=name.tenant, owner=name.owner)
    return _line({"sealed": base64.b64encode(data).decode()})


def _line(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def holds(lines: bytes, row_id: str) -> bool:
    """Whether a row is among a file's lines, or summed up there; its id in somebody's words does not count.

    Inside a text the quotes around it would be escaped.
    """
    name = b'"' + row_id.encode() + b'"'
    if name not in lines:
        return False
    if b'"episode_id":' + name in lines:
        return True
    return any(name in line for line in lines.splitlines() if line.startswith(_SUMMARY))


def name_of(lines: bytes, key: str) -> SessionName:
    """Whose file it is, from its first line alone.

    Raises:
        LakeError: It is damaged.
    """
    try:
        told = orjson.loads(lines[: lines.index(b"\n")])["working"]
        return SessionName(told["tenant_id"], told["agent_id"], told["session_id"], told["user_id"])
    except (ValueError, KeyError, TypeError, UsageError) as error:
        raise _damaged(key) from error


def parsed(lake: Lake, key: str, lines: bytes) -> Log:
    """What stands in a file that is not empty. What was sealed by a destroyed key is not in it.

    Raises:
        LakeError: It is damaged, or the lake is encrypted and its keys are not there or not the right ones.
    """
    first, _, rest = lines.partition(b"\n")
    try:
        told = orjson.loads(first)["working"]
        log = Log(
            name_of(lines, key),
            datetime.fromisoformat(told["opened_at"]),
            None if told["closed_at"] is None else datetime.fromisoformat(told["closed_at"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(key) from error
    return extended(lake, key, log, rest)


def extended(lake: Lake, key: str, log: Log, lines: bytes) -> Log:
    """What stands in a file after further lines; the log before stays as it was.

    Raises:
        LakeError: As ``parsed``.
    """
    more = lines.splitlines()
    made = replace(
        log,
        rows=list(log.rows),
        lines=list(log.lines),
        changes=list(log.changes),
        covered=set(log.covered),
        people=set(log.people),
    )
    try:
        _read_rows(lake, made, [line for line in more if line.startswith(ROW)])
        for line in more:
            if not line.startswith(ROW):
                _take(made, _opened(lake, key, orjson.loads(line)))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise _damaged(key) from error
    return made


def _read_rows(lake: Lake, log: Log, lines: list[bytes]) -> None:
    if not lines:
        return
    if lake.encryption is None:
        raws = [orjson.loads(line)[EPISODES.name] for line in lines]
    else:
        from lake.landed_lines import records_of  # only where a lake is encrypted: it needs a frame

        raws = [row for _, row in records_of(lines, lake)]
    for raw, line in zip(raws, lines, strict=True):
        if raw["content"] is not None:  # else its key was destroyed
            log.rows.append(row_of(raw))
            log.lines.append(line + b"\n")
            log.people.update([raw["user_id"]] if raw["user_id"] else [])


def _opened(lake: Lake, key: str, record: dict[str, Any]) -> dict[str, Any]:
    if "sealed" not in record:
        return record
    from lake.crypto.objects import open_object  # only where a lake is encrypted

    data = open_object(lake, key, base64.b64decode(record["sealed"], validate=True))
    return {} if data is None else dict(orjson.loads(data))


def _take(log: Log, record: dict[str, Any]) -> None:
    if "change" in record:
        log.changes.append(change_of(record["change"]))
    elif "summary" in record:
        told = record["summary"]
        log.summary = summary_of(told)
        log.covered = set(told["covered"])
        log.people.update(told["people"])


def _damaged(key: str) -> LakeError:
    return LakeError(
        f"{key} is damaged",
        "Restore it from a backup, or remove it: the session's rows are in the lake, its task state is lost.",
    )


def utc(at: datetime | None) -> datetime:
    """An instant in UTC; now where None."""
    return datetime.now(UTC) if at is None else at.astimezone(UTC)
