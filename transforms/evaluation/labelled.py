"""A labelled set: episodes to be landed, and questions whose answers are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from transforms.errors import UsageError
from transforms.evaluation.metrics import RELEVANT

LEAD = timedelta(days=1)
"""A question without an instant of its own is asked so long after the last episode of its scope."""


@dataclass(frozen=True)
class Question:
    """One question and what answers it.

    Attributes:
        name: Its id in the set.
        query: What is asked.
        category: Kind of question, by which results are shown apart.
        group: The conversation or person it is about: what whole clusters are drawn by.
        part: A split that is shown apart, such as the half that was tuned on; empty: none.
        scope: ``tenant`` and some of ``user``, ``agent``, ``session``, as ``Recall.search`` takes them.
        relevant: Ids of the episodes that answer it. Empty: nothing does, and saying so is right.
        as_of: When it is asked.
    """

    name: str
    query: str
    category: str
    group: str
    part: str
    scope: dict[str, str]
    relevant: tuple[str, ...]
    as_of: datetime


@dataclass(frozen=True)
class LabelledSet:
    """Episodes and questions of one file.

    Attributes:
        name: ``locomo`` or ``rows``.
        rows: Episodes in the row shape that ``lake.landing.append`` takes; each has ``id``,
            ``tenant_id`` and ``event_at`` (datetime), and ids are unique.
        questions: In the file's order.
        remarks: Counts of what was mended or left out, by what it is.
    """

    name: str
    rows: list[dict[str, Any]]
    questions: list[Question]
    remarks: dict[str, int] = field(default_factory=dict)

    @property
    def answerable(self) -> list[int]:
        """Positions of the questions that something answers."""
        return [i for i, question in enumerate(self.questions) if question.relevant]

    @property
    def unanswerable(self) -> list[int]:
        """Positions of the questions that nothing answers."""
        return [i for i, question in enumerate(self.questions) if not question.relevant]

    def sessions(self) -> dict[str, str]:
        """Session of each row by its id; a row without one is a session of its own."""
        return {row["id"]: row.get("session_id") or row["id"] for row in self.rows}

    def relevant(self, *, by_session: bool = False) -> pl.DataFrame:
        """``metrics.RELEVANT``: items are ids of episodes, or of the sessions they lie in."""
        sessions = self.sessions() if by_session else {}
        pairs = [
            (i, sessions.get(name, name))
            for i, question in enumerate(self.questions)
            for name in question.relevant
        ]
        return pl.DataFrame(pairs, schema=RELEVANT, orient="row").unique(maintain_order=True)


def parse_numbers(text: str) -> tuple[int, ...]:
    """``6-10`` or ``1,3,5-7`` as ascending numbers.

    Raises:
        UsageError: It is something else.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 12:
            raise UsageError(f"{text} is no list of numbers", "Write 6-10, or 1,3,5-7.")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= 100_000:
            raise UsageError(f"{part.strip()} is no range from 1 up", "Write 6-10, or 1,3,5-7.")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))
