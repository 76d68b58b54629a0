"""What past attempts suggest for a task at hand: a hint, another approach, a procedure, or nothing.

A success is a hint. A failure for a reason that lasts says *try a different approach*, with what worked
instead where that is known. A failure that passes by itself, such as a time-out, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from transforms.rendering import FAILED_NOTE, WORKED_NOTE, is_transient, steer

HintKind = Literal["hint", "different_approach", "procedure"]
MOST_TEXT_CHARS = 400
"""Of a past turn that is quoted: a hint is read beside the task, not in place of it."""


@dataclass(frozen=True)
class Hint:
    """One thing that past work suggests.

    Attributes:
        kind: hint: this worked. different_approach: this failed, and why. procedure: what works by the count.
        text: What it says.
        why: How it is known, in words.
        id: Of the attempt, skill or episode it comes from; ``Recall.explain`` takes it.
        source_refs: Episodes it rests on.
        score: 0 to 1: how alike the task at hand is, weighed by what is known of the outcome.
        event_at: When it was last so.
    """

    kind: HintKind
    text: str
    why: str
    id: str
    source_refs: list[str]
    score: float
    event_at: datetime

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {**self.__dict__, "event_at": self.event_at.isoformat()}


Row = Mapping[str, Any]


def hints(found: Iterable[tuple[Row, float]], attempts: Mapping[str, Row], *, most: int) -> list[Hint]:
    """What rows like a task suggest, the most alike first, of each kind and attempt once.

    Args:
        found: Memories (``event_at`` as datetime) and how alike each is, 0 to 1.
        attempts: ``schemas.ATTEMPTS`` by the id of each episode they rest on.
        most: Most hints.
    """
    made: dict[str, Hint] = {}
    for row, score in found:
        hint = _of_skill(row, score) if row["tier"] == "procedural" else _of_past(row, score, attempts)
        if hint is not None and (hint.id not in made or made[hint.id].score < hint.score):
            made[hint.id] = hint
    told: dict[tuple[str, str], Hint] = {}
    for hint in sorted(made.values(), key=lambda h: (-h.score, -h.event_at.timestamp(), h.id)):
        told.setdefault((hint.kind, hint.text), hint)
    return list(told.values())[:most]


def _of_skill(row: Row, score: float) -> Hint | None:
    """A procedure that works by the count, or the lesson of failures; habits steer nothing."""
    if row["kind"] == "procedure":
        return _hint("procedure", row["text"], "a way that worked before, by the count", row, score)
    if row["kind"] == "lesson":
        return _hint("different_approach", row["text"], f"{FAILED_NOTE}: learnt from failures", row, score)
    return None


def _hint(kind: HintKind, text: str, why: str, row: Row, score: float) -> Hint:
    return Hint(kind, text, why, row["memory_id"], list(row["source_refs"]), score, row["event_at"])


def _of_past(row: Row, score: float, attempts: Mapping[str, Row]) -> Hint | None:
    """The attempt that an episode was part of; without one, the outcome that it tells itself."""
    if row["source_refs"] != [row["memory_id"]]:
        return None
    attempt = attempts.get(row["memory_id"])
    if attempt is not None:
        return _of_attempt(attempt, row, score)
    note = steer(row["outcome"], row["failure_reason"])
    if note is None:
        return None
    kind: HintKind = "hint" if note == WORKED_NOTE else "different_approach"
    text = _cut(row["text"]) if kind == "hint" else _failed(_cut(row["text"]), row["failure_reason"], None)
    return _hint(kind, text, note, row, score)


def _of_attempt(attempt: Row, row: Row, score: float) -> Hint | None:
    if attempt["is_transient"] or is_transient(attempt["failure_reason"]):
        return None
    tools = " → ".join(attempt["tool_sequence"])
    what = (
        attempt["task_type"]
        if not tools or tools == attempt["task_type"]
        else f"{attempt['task_type']}: {tools}"
    )
    kind: HintKind
    if attempt["outcome"] == "success":
        kind, text, why = "hint", f"{what} worked", WORKED_NOTE
    elif attempt["outcome"] == "failure":
        kind, why = "different_approach", FAILED_NOTE
        text = _failed(f"{what} failed", attempt["failure_reason"], attempt["fix"])
    else:
        return None
    said = _cut(row["text"])
    if row["kind"] == "conversation" and said:
        why = f"{why}; for: {said}"
    weighed = score if attempt["reward"] is None else score * (0.5 + 0.5 * _clearness(attempt))
    return Hint(
        kind, text, why, attempt["attempt_id"], list(attempt["source_refs"]), weighed, attempt["event_at"]
    )


def _clearness(attempt: Row) -> float:
    """How sure the outcome is: feedback against it moves the reward towards the middle."""
    return min(1.0, 2 * abs(float(attempt["reward"]) - 0.5))


def _failed(what: str, reason: str | None, fix: str | None) -> str:
    told = f"{what}: {reason.strip()}" if reason and reason.strip() not in what else what
    return f"{told}; what worked: {fix}" if fix else told


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= MOST_TEXT_CHARS else f"{plain[: MOST_TEXT_CHARS - 1]}…"


def by_episode(attempts: Sequence[Row]) -> dict[str, Row]:
    """Attempts by the id of each episode they rest on; of two, the later."""
    ordered = sorted(attempts, key=lambda row: (row["event_at"], row["attempt_id"]))
    return {episode: row for row in ordered for episode in row["source_refs"]}
