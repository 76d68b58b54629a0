"""Where a session may be cut: between turns, and never between a tool call and its result.

A turn is a user's message and everything up to the next one. A call and its result, and whatever stands
between them, are one span; a call without a result waits for it until its turn ends. Spans may run over
turns, where a result came late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transforms.working.rows import Row


@dataclass(frozen=True)
class Cut:
    """Where a window begins.

    Attributes:
        start: Place of its first row.
        head: Place of an earlier user's message that is shown before it, because the turn that is cut
            began with it; None where the window begins with a turn.
    """

    start: int
    head: int | None = None

    def shown(self, rows: Sequence[Row]) -> list[Row]:
        """Rows of the window."""
        return [*([] if self.head is None else [rows[self.head]]), *rows[self.start :]]

    def whole_turns(self, rows: Sequence[Row]) -> list[Row]:
        """Rows before it of turns that are all before it."""
        return list(rows[: self.start if self.head is None else self.head])

    def left(self, rows: Sequence[Row]) -> list[Row]:
        """Rows before it."""
        return [row for place, row in enumerate(rows[: self.start]) if place != self.head]


def answers(rows: Sequence[Row]) -> dict[int, int]:
    """Place of each result whose call is here, and the place of that call; a call has one result.

    A result that names its call belongs to the last such call before it that has none. One that names
    none belongs to the first call of its turn that names none and has none.
    """
    waiting: dict[str | None, list[int]] = {}
    found: dict[int, int] = {}
    for place, row in enumerate(rows):
        if row.is_opening:
            waiting.pop(None, None)
        if row.is_call and not row.is_answered:
            waiting.setdefault(row.link, []).append(place)
        elif row.is_result and (calls := waiting.get(row.link)):
            found[place] = calls.pop(0 if row.link is None else -1)
    return found


def cuttable(rows: Sequence[Row]) -> list[bool]:
    """Whether a window may begin at each place; the first always may."""
    held = [0] * (len(rows) + 1)
    pairs = [(call, result) for result, call in answers(rows).items()]
    done = {call for call, _ in pairs}
    turn_ends = _turn_ends(rows)
    pairs += [
        (place, turn_ends[place])
        for place, row in enumerate(rows)
        if row.is_call and not row.is_answered and place not in done
    ]
    for call, last in pairs:
        held[call + 1] += 1
        held[last + 1] -= 1
    free, depth = [], 0
    for change in held[: len(rows)]:
        depth += change
        free.append(depth == 0)
    return free


def _turn_ends(rows: Sequence[Row]) -> list[int]:
    """Place of the last row of each row's turn."""
    ends, last = [0] * len(rows), len(rows) - 1
    for place in range(len(rows) - 1, -1, -1):
        ends[place] = last
        if rows[place].is_opening:
            last = place - 1
    return ends


def cut(rows: Sequence[Row], max_rows: int, max_tokens: int) -> Cut:
    """The longest window of whole turns within the limits.

    Where the newest turn alone is over them, its oldest rows go, too, at a place where it may be cut, and
    its opening message stays. What may not be cut stays whole, whatever the limits.

    Args:
        rows: By time.
        max_rows: Most rows.
        max_tokens: Most tokens, as ``Row.tokens`` counts.
    """
    free = cuttable(rows)
    fits = _fitting(rows, max_rows, max_tokens)
    turns = [place for place, row in enumerate(rows) if free[place] and (place == 0 or row.is_opening)]
    for place in turns:
        if fits[place]:
            return Cut(place)
    last = turns[-1] if turns else 0
    inner = [place for place in range(last + 1, len(rows)) if free[place]]
    for place in inner:
        head = _opening(rows, last, place)
        own = 0 if head is None else rows[head].tokens
        count = len(rows) - place + (head is not None)
        if count <= max_rows and sum(row.tokens for row in rows[place:]) + own <= max_tokens:
            return Cut(place, head)
    return Cut(inner[-1], _opening(rows, last, inner[-1])) if inner else Cut(last)


def _opening(rows: Sequence[Row], first: int, start: int) -> int | None:
    """Place of the last opening message before a window, of those from the first on."""
    return next((place for place in range(start - 1, first - 1, -1) if rows[place].is_opening), None)


def groups(rows: Sequence[Row], least: int) -> list[list[Row]]:
    """Rows in groups of whole turns of at least so many rows; what makes no group yet is in none.

    Rows that are added behind change no group, so what is made of groups does not depend on when.
    """
    found: list[list[Row]] = []
    held: list[Row] = []
    for row in rows:
        if row.is_opening and len(held) >= least:
            found.append(held)
            held = []
        held.append(row)
    return [*found, held] if len(held) >= least else found


def _fitting(rows: Sequence[Row], max_rows: int, max_tokens: int) -> list[bool]:
    """Whether the rows from each place on are within the limits."""
    fits, tokens = [False] * len(rows), 0
    for place in range(len(rows) - 1, -1, -1):
        tokens += rows[place].tokens
        fits[place] = len(rows) - place <= max_rows and tokens <= max_tokens
    return fits
