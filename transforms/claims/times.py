"""Times that a text names, as spans of the calendar, anchored on when it was said. UTC throughout."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from transforms.claims.time_words import COUNTS, FOR, HINT, MONTHS, ORDINALS, TIME, WEEKDAYS

Relation = Literal["at", "since", "until"]

_DAYLONG = timedelta(days=2)
_MOST_UNITS = 1_200
"""More than so many days, weeks, months or years is no span of a life."""
_AMBIGUOUS = ("may", "march", "mar", "mon", "sun", "sat", "wed", "am", "mai", "mars", "hier", "morgen")
"""Words that are also others: taken for a time only after a preposition or in a date."""


@dataclass(frozen=True)
class Moment:
    """A span of the calendar that a text names.

    Attributes:
        start: Its first instant.
        end: The first instant after it.
        relation: Whether the text says at, since or until it.
        first: First character of the expression, with its preposition.
        last: One past its last character.
    """

    start: datetime
    end: datetime
    relation: Relation
    first: int
    last: int


def moments(text: str, anchor: datetime, *, is_past: bool = True) -> list[Moment]:
    """The times that a text names.

    Args:
        text: One sentence or less.
        anchor: When it was said; aware.
        is_past: Whether a date without a year, and after no word that says so, lies behind the anchor.

    Returns:
        Moments in order of the text. What falls out of the calendar is left out.
    """
    if not HINT.search(text):
        return []
    found = []
    for match in TIME.finditer(text):
        relation: Relation = "since" if match["since"] else "until" if match["until"] else "at"
        if relation == "at" and not match["at"] and match.group().lower().strip() in _AMBIGUOUS:
            continue
        if match["bareyear"] and not (match["since"] or match["until"] or match["at"]):
            continue
        past = _is_behind(match, relation, is_past)
        try:
            span = _span(match, anchor, past)
        except (ValueError, OverflowError):
            continue
        if span:
            found.append(Moment(*span, relation, match.start(), match.end()))
    found += [m for m in _lasting(text, anchor) if all(m.last <= f.first or f.last <= m.first for f in found)]
    return sorted(found, key=lambda m: (m.first, m.last))


def _is_behind(match: re.Match[str], relation: Relation, is_past: bool) -> bool:
    """Whether a time without a year lies behind the anchor: since March, but not from June or by June."""
    if relation == "since":
        return match["since"].lower().startswith(_PAST)
    return relation == "at" and is_past and (match["at"] or "").lower() != "by"


_PAST = ("since", "ever since", "seit", "desde", "depuis")


def _lasting(text: str, anchor: datetime) -> list[Moment]:
    found = []
    for match in FOR.finditer(text):
        try:
            start = _midnight(_shifted(anchor, _count(match["count"]), match["unit"], back=True))
        except (ValueError, OverflowError):
            continue
        found.append(Moment(start, anchor, "since", match.start(), match.end()))
    return found


def _count(text: str) -> int:
    number = COUNTS.get(text.lower()) or int(text)
    if number > _MOST_UNITS:
        raise ValueError(text)
    return number


def _midnight(instant: datetime) -> datetime:
    return instant.replace(hour=0, minute=0, second=0, microsecond=0)


def add_months(instant: datetime, months: int) -> datetime:
    """The same day so many months later or, below 0, earlier; the month's last where it has no such day."""
    year, month = divmod(instant.year * 12 + instant.month - 1 + months, 12)
    day = min(instant.day, calendar.monthrange(year, month + 1)[1])
    return instant.replace(year=year, month=month + 1, day=day)


def _shifted(anchor: datetime, count: int, unit: str, *, back: bool) -> datetime:
    sign = -1 if back else 1
    unit = unit.lower().rstrip("s")
    if unit in ("month", "year"):
        return add_months(anchor, sign * count * (12 if unit == "year" else 1))
    return anchor + timedelta(days=sign * count * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _days(start: datetime, days: int) -> tuple[datetime, datetime]:
    return start, start + timedelta(days=days)


def _month(year: int, month: int, anchor: datetime) -> tuple[datetime, datetime]:
    start = _midnight(anchor).replace(year=year, month=month, day=1)
    return start, add_months(start, 1)


def _year(year: int, anchor: datetime) -> tuple[datetime, datetime]:
    start = _midnight(anchor).replace(year=year, month=1, day=1)
    return start, add_months(start, 12)


def _span(m: re.Match[str], anchor: datetime, past: bool) -> tuple[datetime, datetime] | None:
    """Start and end of the expression; null where it names none."""
    today = _midnight(anchor)
    if m["iso"] or m["day"] or m["day2"] or m["name"] or m["weekday"]:
        return _one_day(m, today, past)
    if m["count"] or m["count2"]:
        count, unit = m["count"] or m["count2"], m["unit"] or m["unit2"]
        return _days(_midnight(_shifted(anchor, _count(count), unit, back=bool(m["count"]))), 1)
    if m["span2"] and not m["close"]:
        return None
    if m["which"] or m["span2"]:
        span = _relative((m["which"] or "this").lower(), (m["span"] or m["span2"]).lower(), today)
    elif m["month3"]:
        span = _named_month(m, today, past)
    else:
        span = _year(int(m["bareyear"]), today)
    return _closing(span) if m["close"] else span


def _one_day(m: re.Match[str], today: datetime, past: bool) -> tuple[datetime, datetime]:
    """An expression that names a day."""
    if m["iso"]:
        year, month, day = map(int, m["iso"].split("-"))
        return _days(today.replace(year=year, month=month, day=day), 1)
    if m["name"]:
        return _days(today + timedelta(days=_NAMES[m["name"].lower()]), 1)
    if m["weekday"]:
        return _weekday(WEEKDAYS[m["weekday"].lower()], today, past)
    month, day = MONTHS[(m["month"] or m["month2"]).lower()], _day(m["day"] or m["day2"])
    return _date(m["year"] or m["year2"], month, day, today, past)


def _day(text: str) -> int:
    return ORDINALS.get(text.lower()) or int(text)


_NAMES = {
    "the day before yesterday": -2, "yesterday": -1, "gestern": -1, "ayer": -1, "hier": -1, "today": 0,
    "tonight": 0, "this morning": 0, "heute": 0, "tomorrow": 1, "morgen": 1, "mañana": 1,
    "the day after tomorrow": 2,
}  # fmt: skip


def _closing(span: tuple[datetime, datetime]) -> tuple[datetime, datetime]:
    """The last day of a span."""
    return span[1] - timedelta(days=1), span[1]


def _date(year: str | None, month: int, day: int, today: datetime, past: bool) -> tuple[datetime, datetime]:
    """A day of a month: of the year named, else the nearest one behind or ahead."""
    if year:
        return _days(today.replace(year=int(year), month=month, day=day), 1)
    for step in range(9):
        # Up to eight years, so that 29 February is found from anywhere.
        at = today.year - step if past else today.year + step
        if day > calendar.monthrange(at, month)[1]:
            continue
        start = today.replace(year=at, month=month, day=day)
        if (past and start <= today) or (not past and start >= today):
            return _days(start, 1)
    raise ValueError(f"{day}/{month}")


def _named_month(m: re.Match[str], today: datetime, past: bool) -> tuple[datetime, datetime]:
    month = MONTHS[m["month3"].lower()]
    if m["year3"]:
        return _month(int(m["year3"]), month, today)
    if m["whichyear"]:
        return _month(today.year + {"last": -1, "this": 0, "next": 1}[m["whichyear"].lower()], month, today)
    if past:
        return _month(today.year - (month > today.month), month, today)
    return _month(today.year + (month < today.month), month, today)


def _weekday(day: int, today: datetime, past: bool) -> tuple[datetime, datetime]:
    if past:
        return _days(today - timedelta(days=(today.weekday() - day) % 7), 1)
    return _days(today + timedelta(days=(day - today.weekday()) % 7), 1)


def _relative(which: str, span: str, today: datetime) -> tuple[datetime, datetime]:
    """Last, this or next week, weekend, month, quarter, year, weekday or month by name."""
    step = {"last": -1, "this": 0, "next": 1}[which]
    if span in WEEKDAYS:
        gap = WEEKDAYS[span] - today.weekday()
        ahead = (gap - step) % 7 + step if step >= 0 else -((-gap - 1) % 7 + 1)
        return _days(today + timedelta(days=ahead), 1)
    if span in MONTHS:
        month = MONTHS[span]
        if step < 0:
            return _month(today.year - (month >= today.month), month, today)
        is_over = month < today.month or (step > 0 and month == today.month)
        return _month(today.year + is_over, month, today)
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    quarter = add_months(first, -((first.month - 1) % 3) + 3 * step)
    spans = {
        "week": _days(monday + timedelta(days=7 * step), 7),
        "weekend": _days(monday + timedelta(days=5 + 7 * step), 2),
        "month": (add_months(first, step), add_months(first, step + 1)),
        "quarter": (quarter, add_months(quarter, 3)),
        "year": _year(today.year + step, today),
    }
    return spans[span]


_RANGE = re.compile(r"\b(?:from|between) (?=\S)([^,.;]{1,24}?) (?:to|and|till|until|through) ", re.IGNORECASE)


def end_of(text: str, anchor: datetime) -> datetime | None:
    """When a plan ends that names its end: away until 20 October, on leave from 6 to 17 July.

    Args:
        text: The plan.
        anchor: When it was said; aware.

    Returns:
        The first instant after it; null where it names none, or one not after ``anchor``.
    """
    _, until = validity(moments(_RANGE.sub(r"until ", text), anchor, is_past=False))
    return until if until is not None and until > anchor else None


def validity(found: list[Moment]) -> tuple[datetime | None, datetime | None]:
    """Since and until when a claim holds whose sentence names these times; null where it does not say."""
    since = [m.start for m in found if m.relation != "until"]
    # Until Friday holds through Friday; until June ends as June starts.
    until = [m.end if m.end - m.start <= _DAYLONG else m.start for m in found if m.relation == "until"]
    return (since[0] if since else None), (until[0] if until else None)
