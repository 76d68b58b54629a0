"""The state of a task: what is wanted, done, tried, noted and still to be decided.

It is kept as changes in the order they were made, so that two processes that work on one session lose
nothing of each other's: of a single value the last one stands, to lists is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

SINGLE = ("goal", "current_action", "last_tool_result")
LISTS = ("sub_tasks", "completed", "errors", "notes", "pending_decisions")
FIELDS = (*SINGLE, *LISTS)


@dataclass(frozen=True)
class TaskState:
    """The state of a session's task.

    Attributes:
        goal: What is wanted.
        sub_tasks: The plan, done parts of it among them.
        completed: What is done.
        current_action: What is being done.
        last_tool_result: What a tool said last.
        errors: What went wrong, oldest first.
        notes: What is worth keeping, oldest first.
        pending_decisions: What waits for somebody's word.
        updated_at: Of the last change; None where there was none.
    """

    goal: str | None = None
    sub_tasks: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()
    current_action: str | None = None
    last_tool_result: str | None = None
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pending_decisions: tuple[str, ...] = ()
    updated_at: datetime | None = None

    @property
    def open_tasks(self) -> tuple[str, ...]:
        """Parts of the plan that are not done."""
        return tuple(task for task in self.sub_tasks if task not in self.completed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in it."""
        return not any(getattr(self, name) for name in FIELDS)

    def with_result(self, text: str) -> TaskState:
        """The state with what a tool said last."""
        return replace(self, last_tool_result=text)

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        told = {name: getattr(self, name) for name in SINGLE}
        told |= {name: list(getattr(self, name)) for name in LISTS}
        at = self.updated_at
        return {**told, "updated_at": None if at is None else at.isoformat()}


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        at: When.
        set: New values, by field; None and empty lists clear.
        add: Texts added to lists, by field; one that is there already moves to the end.
        drop: Texts taken out of lists, by field.
    """

    at: datetime
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, list[str]] = field(default_factory=dict)
    drop: Mapping[str, list[str]] = field(default_factory=dict)

    def texts(self) -> list[str]:
        """Every text that it brings in."""
        values = [*self.set.values(), *self.add.values()]
        return [text for value in values for text in ([value] if isinstance(value, str) else value or ())]

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        parts = {"set": self.set, "add": self.add, "drop": self.drop}
        return {"at": self.at.isoformat(), **{name: dict(part) for name, part in parts.items() if part}}


def change_of(told: Mapping[str, Any]) -> Change:
    """A change from what ``as_dict`` gave.

    Raises:
        ValueError: It is none.
    """
    parts = {name: told.get(name, {}) for name in ("set", "add", "drop")}
    if not all(isinstance(part, dict) and set(part) <= set(FIELDS) for part in parts.values()):
        raise ValueError("a change of an unknown field")
    return Change(datetime.fromisoformat(told["at"]).astimezone(UTC), **parts)


def folded(changes: Iterable[Change], most: int) -> TaskState:
    """The state after some changes.

    Args:
        changes: In the order they were made.
        most: Newest texts that are kept of a list.
    """
    state = TaskState()
    for change in changes:
        values: dict[str, Any] = {name: change.set[name] for name in SINGLE if name in change.set}
        for name in LISTS:
            held = list(change.set[name] or ()) if name in change.set else list(getattr(state, name))
            gone, more = change.drop.get(name, ()), change.add.get(name, ())
            kept = [text for text in held if text not in gone and text not in more]
            values[name] = tuple(dict.fromkeys([*kept, *more]))[-most:]
        state = replace(state, **values, updated_at=change.at)
    return state


def whole(state: TaskState) -> Change:
    """The one change that makes a state, of its own time.

    Raises:
        ValueError: Nothing was ever changed.
    """
    if state.updated_at is None:
        raise ValueError("a state without changes")
    values: dict[str, Any] = {name: getattr(state, name) for name in SINGLE}
    values |= {name: list(getattr(state, name)) for name in LISTS}
    return Change(state.updated_at, set=values)
