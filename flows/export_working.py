"""Working memory of a person or an agent, as an export shows it."""

from __future__ import annotations

from typing import Any

import polars as pl

from lake.lake import Lake
from lake.online import working_file, working_log
from lake.online.working_file import PREFIX
from lake.online.working_log import Log, SessionName
from transforms.declarations import INSTANT, TEXTS, Column
from transforms.subjects import Subject
from transforms.working.state import LISTS, SINGLE, folded

WORKING_TOLD = "One open session: the state of its task, and what stands for rows that left its window."
WORKING = (
    Column("session_id", pl.String, "Conversation or run"),
    Column("agent_id", pl.String, "Agent"),
    Column("user_id", pl.String, "Person", is_nullable=True),
    Column("opened_at", INSTANT, "When it was opened"),
    *(Column(name, pl.String, f"State of the task: {name}", is_nullable=True) for name in SINGLE),
    *(Column(name, TEXTS, f"State of the task: {name}") for name in LISTS),
    Column("summary", pl.String, "Of rows that left the window; the rows themselves are under landed"),
    Column("updated_at", INSTANT, "Last change of the state", is_nullable=True),
)
_ALL = 1_000_000
"""Entries of a list: every one that is kept."""


def working_rows(lake: Lake, subject: Subject) -> pl.DataFrame:
    """Sessions of a user, or of an agent without a user; a session of nobody in particular is no person's.

    Args:
        lake: Where.
        subject: A user or an agent, or a session of one of them.

    Returns:
        Columns of ``WORKING``, by session.
    """
    found = []
    for entry in lake.storage.entries(f"{PREFIX}/{lake.bucket(subject.tenant):03d}"):
        lines = working_file.read(lake, entry.key)
        if lines and _is_of(subject, working_log.name_of(lines, entry.key)):
            found.append(_told(working_log.parsed(lake, entry.key, lines)))
    frame = pl.DataFrame(found, schema={column.name: column.dtype for column in WORKING})
    return frame.sort("session_id", "agent_id")


def _is_of(subject: Subject, name: SessionName) -> bool:
    if subject.user is None and name.user is not None:
        return False
    wanted = subject.columns()
    held: dict[str, str] = name.columns()
    return all(held.get(column) == value for column, value in wanted.items())


def _told(log: Log) -> dict[str, Any]:
    state = folded(log.changes, _ALL)
    return {
        "session_id": log.name.session,
        "agent_id": log.name.agent,
        "user_id": log.name.user,
        "opened_at": log.opened_at,
        **{name: getattr(state, name) for name in SINGLE},
        **{name: list(getattr(state, name)) for name in LISTS},
        "summary": log.summary.text,
        "updated_at": state.updated_at,
    }
