"""Times that a question names, as half-open ranges in UTC.

Not times: quoted text, ``May I``, ``the second``, ``march on``, every Monday, before the trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from transforms.errors import UsageError
from transforms.time_atoms import Atom, atoms
from transforms.time_spans import Clock, Span, around, days, moved
from transforms.time_vocabulary import (
    AFTER,
    BEFORE,
    COUNTS,
    SINCE,
    SINCE_AFTERWARDS,
    TO,
    UNITS,
    UNTIL,
    UNTIL_AFTERWARDS,
    WEEKDAYS,
    alternatives,
    has_hint,
)

MOST_CHARS = 2_000
"""A longer text is no question; its start is read."""
_QUOTED = re.compile(
    r'"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』'
    r"|(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)‘[^’\n]+’(?!\w)"
)
_AHEAD = re.compile(
    r"\b(?:will|going to|upcoming|planned|planning|plans?|scheduled?|next|wird|werde|geplant|prévu"
    r"|planeado)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\b(?:between|from|zwischen(?: dem)?|von|entre(?: le| el)?|de|del|du|desde(?: el)?)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_TO = re.compile(rf"\s*,?\s*{TO}\s*(?:the\s+)?", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|und|et|y|e)\b", re.IGNORECASE)
_THE = r"\s+(?:the\s+|dem\s+|der\s+|le\s+|la\s+|el\s+)?"
_PREFIX = re.compile(
    rf"(?<!\w)(?:(?P<since>{SINCE})|(?P<after>{AFTER})|(?P<before>{BEFORE})|(?P<until>{UNTIL})){_THE}$",
    re.IGNORECASE,
)
_SHIFT = re.compile(
    rf"(?<!\w)(?:(?P<count>\d{{1,3}}|{alternatives(COUNTS)}|the|last)\s+)?"
    rf"(?:(?P<unit>{alternatives(u for u in UNITS if u.isascii())})"
    rf"|(?P<weekday>{alternatives(w for w in WEEKDAYS if w.isascii() and len(w) > 5)}))"
    rf"\s+(?:(?P<before>before|prior to|preceding)|(?P<after>after|following)){_THE}$",
    re.IGNORECASE,
)
_ON = re.compile(
    r"(?<!\w)(?:on|in|at|during|for|from|between|am|im|vom|von(?: dem)?|zwischen(?: dem)?|en|le|el|au|du|del"
    r"|entre(?: le| el)?)\s+(?:the\s+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TimeRange:
    """A time that a text names.

    Attributes:
        since: First instant, UTC; null where it has no start.
        until: First instant after it, UTC; null where it has no end. One of both is there, and where
            both are, ``since`` is the earlier.
        first: First character of the expression, with its preposition.
        last: One past its last character.
        is_relative: Whether it counts from the instant of the question.
    """

    since: datetime | None
    until: datetime | None
    first: int
    last: int
    is_relative: bool = False


def time_ranges(text: str, as_of: datetime, zone: tzinfo = UTC) -> list[TimeRange]:
    """The times that a question names.

    Args:
        text: The question; of a long text the first ``MOST_CHARS`` characters are read.
        as_of: When it is asked; aware.
        zone: Whose days, weeks and months are meant. Weeks start on Monday.

    Returns:
        Ranges in order of the text, none overlapping another's characters. A time out of the
        calendar is left out.

    Raises:
        UsageError: The as-of has no time zone.
    """
    if as_of.tzinfo is None:
        raise UsageError("the as-of has no time zone", "Give it with an offset, such as +00:00.")
    plain = without_quotes(text[:MOST_CHARS])
    if not has_hint(plain):
        return []
    clock = Clock(as_of, zone, bool(_AHEAD.search(plain)))
    found = _shifted(plain, atoms(plain, clock))
    ranges, place = [], 0
    while place < len(found):
        pair = _joined(plain, found[place], found[place + 1]) if place + 1 < len(found) else None
        made = _guarded(lambda at=place, two=pair: two or _single(plain, found[at], clock), clock)  # type: ignore[misc]
        ranges += [made] if made else []
        place += 2 if pair else 1
    return ranges


@dataclass(frozen=True)
class _Local:
    since: datetime | None
    until: datetime | None
    first: int
    last: int
    is_relative: bool


def _guarded(make: Callable[[], _Local], clock: Clock) -> TimeRange | None:
    """The range in UTC; null where it leaves the calendar or is empty."""
    try:
        made = make()
        since = None if made.since is None else clock.utc(made.since)
        until = None if made.until is None else clock.utc(made.until)
    except (ValueError, OverflowError):
        return None
    if since is not None and until is not None and since >= until:
        return None
    return TimeRange(since, until, made.first, made.last, made.is_relative)


def without_quotes(text: str) -> str:
    """The text with blanks in the place of what it quotes, so that every character keeps its position."""
    return _QUOTED.sub(lambda match: " " * len(match.group()), text)


def _shifted(text: str, found: list[Atom]) -> list[Atom]:
    """Atoms such as *two weeks before 3 May* in the place of *3 May*."""
    made: list[Atom] = []
    for atom in found:
        match = _SHIFT.search(text, max(0, atom.first - 60), atom.first)
        while made and match and made[-1].last > match.start():
            made.pop()
        try:
            made.append(_beside(match, atom) if match else atom)
        except (ValueError, OverflowError):
            made.append(atom)
    return made


def _beside(match: re.Match[str], atom: Atom) -> Atom:
    sign = -1 if match["before"] else 1
    edge = atom.span[0] if sign < 0 else atom.span[1] - timedelta(days=1)
    if match["weekday"]:
        day = edge + timedelta(days=sign)
        day += timedelta(days=sign * ((sign * (WEEKDAYS[match["weekday"].lower()] - day.weekday())) % 7))
        span: Span = days(day)
    else:
        unit = UNITS[match["unit"].lower()]
        word = (match["count"] or "the").lower()
        if word in ("the", "last") and unit not in ("weekend", "minute", "hour"):
            span = (moved(edge, unit, -1), edge) if sign < 0 else (atom.span[1], moved(atom.span[1], unit, 1))
        else:
            count = 1 if word in ("the", "last") else COUNTS.get(word) or int(word)
            span = around(moved(edge, unit, sign * count), unit)
    return replace(atom, span=span, first=match.start(), is_yearless=False)


def _joined(text: str, one: Atom, two: Atom) -> _Local | None:
    """From one to two, where the text says so."""
    gap = text[one.last : two.first]
    if not _TO.fullmatch(gap):
        return None
    before = _BETWEEN.search(text, max(0, one.first - 24), one.first)
    if before is None and (_AND.match(gap) or one.is_relative):
        return None
    since, until = one.span[0], two.span[1]
    if one.is_yearless and since.tzinfo is None:
        try:
            while since >= until:
                since = since.replace(year=since.year - 1)
            while since.replace(year=since.year + 1) < two.span[0]:
                since = since.replace(year=since.year + 1)
        except ValueError:
            return None
    elif since.tzinfo == until.tzinfo and since >= until:
        since, until = two.span[0], one.span[1]
    first = before.start() if before else one.first
    return _Local(since, until, first, two.last, one.is_relative or two.is_relative)


def _single(text: str, atom: Atom, clock: Clock) -> _Local:
    """The range of one atom with what stands around it: since, after, before, until."""
    since, until = atom.span
    first, last = atom.first, atom.last
    match = _PREFIX.search(text, max(0, first - 32), first)
    tail = text[last : last + 2]
    if match:
        first = match.start()
        if match["since"] or match["after"]:
            since, until = (since if match["since"] else until), None  # type: ignore[assignment]
        else:
            since, until = None, (atom.span[0] if match["before"] else until)  # type: ignore[assignment]
    elif tail.startswith(SINCE_AFTERWARDS):
        until, last = None, last + 1  # type: ignore[assignment]
    elif tail.startswith(UNTIL_AFTERWARDS):
        since, until, last = None, since, last + 1  # type: ignore[assignment]
    else:
        on = _ON.search(text, max(0, first - 16), first)
        first = on.start() if on else first
    return _Local(since, until, first, last, atom.is_relative)
