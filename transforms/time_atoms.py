"""Single times of a text, without since, until or between: each a span of the local calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from transforms.time_handlers import Made, number_of
from transforms.time_rules import RULES
from transforms.time_spans import Clock, Span, around, days


@dataclass(frozen=True)
class Atom:
    """One time.

    Attributes:
        span: Start and first instant after it.
        first: First character.
        last: One past the last.
        is_yearless: Whether the year was chosen, not named.
        is_relative: Whether it counts from the instant of the question.
    """

    span: Span
    first: int
    last: int
    is_yearless: bool = False
    is_relative: bool = False


def atoms(text: str, clock: Clock) -> list[Atom]:
    """The times of a text in its order; where two overlap, the one of the earlier rule.

    Args:
        text: With blanks in the place of quotations.
        clock: When it is asked.
    """
    found: list[Atom] = []
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            first, last = match.span("all") if "all" in rule.pattern.groupindex else match.span()
            if any(first < f.last and f.first < last for f in found):
                continue
            try:
                span = rule.make(match, clock)
            except (ValueError, OverflowError):
                continue
            if span is not None and (span[0].tzinfo is not span[1].tzinfo or span[0] < span[1]):
                is_yearless = "year" in rule.pattern.groupindex and not match["year"]
                found.append(Atom(span, first, last, is_yearless, rule.is_relative))
    found.sort(key=lambda atom: atom.first)
    return _parts(text, _weekdays_of_weeks(text, found))


_BESIDE = re.compile(r"\s*,?\s*(?:of|on|in|der|den|am)?\s*(?:the)?\s*", re.IGNORECASE)


def _weekdays_of_weeks(text: str, found: list[Atom]) -> list[Atom]:
    """Monday last week, last week on Monday, Sunday 3 May: one time, not two."""
    made: list[Atom] = []
    for atom in found:
        is_beside = bool(made) and _BESIDE.fullmatch(text[made[-1].last : atom.first])
        one = _as_one(made[-1], atom) if is_beside else None
        if one is None:
            made.append(atom)
        else:
            made[-1] = one
    return made


def _as_one(first: Atom, second: Atom) -> Atom | None:
    """A day of the week and the week or the date that it belongs to; null where they are two times."""
    if first.span[0].tzinfo or second.span[0].tzinfo:
        return None
    lengths = [(atom.span[1] - atom.span[0]).days for atom in (first, second)]
    if sorted(lengths) == [1, 7] and first.is_relative and second.is_relative:
        day, week = (first, second) if lengths[0] == 1 else (second, first)
        start = week.span[0] + timedelta(days=day.span[0].weekday())
        return replace(week, span=days(start), first=first.first, last=second.last)
    if lengths == [1, 1] and first.is_relative and not second.is_relative:
        return replace(second, first=first.first)
    return None


_PART = re.compile(
    r"(?<!\w)(?:the\s+)?(?:(?P<start>early|beginning of|start of|anfang|début|principios de)"
    r"|(?P<middle>mid|middle of|mitte|mi|mediados de)|(?P<end>late|end of|ende|fin|finales de)"
    r"|(?P<half>first|second)\s+half\s+of|(?P<nth>first|second|third|fourth|last)\s+(?P<unit>week|weekend)\s+(?:of|in)"
    r"|(?P<week>week|weekend)\s+of)(?:\s+(?:the\s+)?|-)$",
    re.IGNORECASE,
)


def _parts(text: str, found: list[Atom]) -> list[Atom]:
    """Early May, the second week of November, the week of 3 May."""
    made: list[Atom] = []
    for atom in found:
        match = _PART.search(text, max(0, atom.first - 40), atom.first)
        span = _part(match, atom.span) if match and atom.span[0].tzinfo is None else None
        if match is None or span is None:
            made.append(atom)
            continue
        while made and made[-1].last > match.start():  # the last week of May is not last week
            made.pop()
        made.append(replace(atom, span=span, first=match.start()))
    return made


def _part(m: re.Match[str], span: Span) -> Made:
    """The part of a span of weeks or longer; null where it is too short to have one."""
    start, end = span
    length = (end - start).days
    if m["week"]:
        return around(start, "weekend" if m["week"].lower() == "weekend" else "week") if length <= 7 else None
    if length < 7:
        return None
    third, half = timedelta(days=max(1, length // 3)), timedelta(days=length // 2)
    if m["nth"]:
        return _nth_week(m["nth"].lower(), m["unit"].lower(), span)
    parts = {
        "start": (start, start + third),
        "middle": (start + third, end - third),
        "end": (end - third, end),
        "first": (start, start + half),
        "second": (start + half, end),
    }
    return parts[m["half"].lower() if m["half"] else next(n for n in ("start", "middle", "end") if m[n])]


def _nth_week(nth: str, unit: str, span: Span) -> Span:
    """The nth week of a month counts days from its first; the nth weekend counts its Saturdays."""
    start, end = span
    if unit == "week":
        return (
            (end - timedelta(days=7), end)
            if nth == "last"
            else days(start + timedelta(days=7 * (number_of(nth) - 1)), 7)
        )
    saturday = start + timedelta(days=(5 - start.weekday()) % 7)
    if nth == "last":
        last = end - timedelta(days=1)
        return days(last - timedelta(days=(last.weekday() - 5) % 7), 2)
    return days(saturday + timedelta(days=7 * (number_of(nth) - 1)), 2)
