"""The state of a session's task, as its agent changes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lake.landing import Refused
from lake.online.working_state import checked
from transforms.working.state import Change


@dataclass(frozen=True)
class Added:
    """What became of a row.

    Attributes:
        id: Of its episode; None where it was refused.
        refused: Why; None where it landed. Nothing is kept of it in the session.
    """

    id: str | None
    refused: Refused | None = None


class Task(ABC):
    """Changes of a task. Each is on disk when it returns None; else it says why nothing of it was kept."""

    _clock: Callable[[], datetime]

    @abstractmethod
    def _change(self, change: Change) -> Refused | None:
        """Make a change, and have it on disk."""

    def update(self, **values: str | Sequence[str] | None) -> Refused | None:
        """Change fields of the task state.

        Args:
            **values: ``goal``, ``current_action`` and ``last_tool_result``, text; ``sub_tasks``,
                ``completed``, ``errors``, ``notes`` and ``pending_decisions``, lists of it. None or an
                empty list clears.

        Returns:
            None; else why nothing was kept.

        Raises:
            UsageError: No such field, or a value of another type.
        """
        return self._change(Change(self._clock(), set=checked(values)))

    def plan(self, *sub_tasks: str) -> Refused | None:
        """Add parts of the task."""
        return self._append("sub_tasks", sub_tasks)

    def complete(self, sub_task: str) -> Refused | None:
        """Note that a part of the task is done."""
        return self._append("completed", [sub_task])

    def note(self, text: str) -> Refused | None:
        """Note something worth keeping."""
        return self._append("notes", [text])

    def error(self, text: str) -> Refused | None:
        """Note what went wrong."""
        return self._append("errors", [text])

    def ask(self, decision: str) -> Refused | None:
        """Note a decision that somebody else has to take."""
        return self._append("pending_decisions", [decision])

    def decide(self, decision: str) -> Refused | None:
        """Take a decision off the pending ones, word for word as it was asked."""
        drop = checked({"pending_decisions": [decision]})
        return self._change(Change(self._clock(), drop=drop))

    def _append(self, field: str, texts: Sequence[str]) -> Refused | None:
        return self._change(Change(self._clock(), add=checked({field: list(texts)})))
