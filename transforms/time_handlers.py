"""What each expression of a time means: from a match to a span of the local calendar."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from transforms.time_spans import (
    Clock,
    Span,
    ago,
    days,
    hours,
    lasting,
    month,
    named,
    nearest_day,
    nearest_month,
    nearest_weekday,
    period,
    quarter,
    year_of,
)
from transforms.time_vocabulary import (
    COUNTS,
    DAYS,
    MONTH_NAMES,
    ORDINAL_NUMBERS,
    PERIODS,
    QUARTERS,
    SEASONS,
    UNITS,
    VAGUE,
    WEEKDAYS,
)

Made = Span | None
WHICH = {
    "last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "letzten": -1,
    "letztes": -1, "letzter": -1, "letzte": -1, "vorigen": -1, "diesen": 0, "dieses": 0, "nächsten": 1,
    "dernier": -1, "dernière": -1, "pasado": -1, "pasada": -1, "prochain": 1, "próximo": 1,
}  # fmt: skip
_AMBIGUOUS = frozenset({"may", "march", "mar", "sept", "mai", "mars", "ago", "dec", "jan"})
"""Months whose names are other words too."""


def number_of(text: str) -> int:
    """A day of the month, in figures or as an ordinal."""
    return ORDINAL_NUMBERS.get(text.lower()) or int(text)


def iso_span(m: re.Match[str], _clock: Clock) -> Span:
    """A day, or a minute of it, in ISO 8601."""
    start = datetime(int(m["y"]), int(m["m"]), int(m["d"]))
    if not m["h"]:
        return days(start)
    start = start.replace(hour=int(m["h"]), minute=int(m["min"]), second=int(m["s"] or 0))
    if m["z"]:
        sign = -1 if m["z"][0] == "-" else 1
        offset = (
            timedelta() if m["z"] in "Zz" else timedelta(hours=int(m["z"][1:3]), minutes=int(m["z"][-2:]))
        )
        start = start.replace(tzinfo=timezone(sign * offset)).astimezone(UTC)
    return start, start + timedelta(minutes=1)


def ymd_span(m: re.Match[str], _clock: Clock) -> Span:
    """A day in figures."""
    return days(datetime(int(m["y"]), int(m["m"]), int(m["d"])))


def slashed_span(m: re.Match[str], _clock: Clock) -> Made:
    """3/5/2026: which is the month is not said, unless one of both can be none."""
    one, two, year = int(m["one"]), int(m["two"]), int(m["y"])
    if one > 12 or one == two:
        return days(datetime(year, two, one))
    return days(datetime(year, one, two)) if two > 12 else None


def two_days_span(m: re.Match[str], clock: Clock) -> Span:
    """Days of a month from one to another."""
    number = MONTH_NAMES[m["month"].lower()]
    one, two = sorted((number_of(m["day"]), int(m["day2"])))
    end = datetime(int(m["year"]), number, two) if m["year"] else nearest_day(number, two, clock)[0]
    return end.replace(day=one), end + timedelta(days=1)


def day_of_month_span(m: re.Match[str], clock: Clock) -> Span:
    """A day of a month, of the year named or the nearest."""
    number, day = MONTH_NAMES[m["month"].lower()], number_of(m["day"])
    return days(datetime(int(m["year"]), number, day)) if m["year"] else nearest_day(number, day, clock)


def month_day_span(m: re.Match[str], clock: Clock) -> Made:
    """The same; ``may 5`` in small letters is none."""
    is_plain = m["month"].lower() in _AMBIGUOUS and m["month"].islower() and not (m["at"] or m["year"])
    return None if is_plain else day_of_month_span(m, clock)


def rolling_span(m: re.Match[str], clock: Clock) -> Span:
    """The last so many units."""
    word = m["count"].lower() if "count" in m.re.groupindex else "1"
    count = COUNTS.get(word) or int(word)
    return lasting(count + 2 * (word in VAGUE), UNITS[m["unit"].lower()], clock)


def ago_span(m: re.Match[str], clock: Clock) -> Span:
    """So many units ago."""
    word = m["count"].lower()
    return ago(COUNTS.get(word) or int(word), UNITS[m["unit"].lower()], word in VAGUE, clock)


def phrase_span(m: re.Match[str], clock: Clock) -> Span:
    """A day or a calendar span by its name."""
    phrase = " ".join((m["phrase"] or m["han"]).lower().split())
    if phrase in DAYS:
        ahead, first, last = DAYS[phrase]
        return hours(clock.today + timedelta(days=ahead), first, last)
    return period(*PERIODS[phrase], clock)


def named_span(m: re.Match[str], clock: Clock) -> Span:
    """The last, this or next weekday, month or season."""
    which = WHICH[m["which"].lower()]
    groups = m.groupdict()
    if groups.get("weekday"):
        return named(which, WEEKDAYS[m["weekday"].lower()], "weekday", clock)
    if groups.get("month"):
        return named(which, MONTH_NAMES[m["month"].lower()], "month", clock)
    return named(which, SEASONS[m["season"].lower()], "season", clock)


def han_weekday_span(m: re.Match[str], clock: Clock) -> Span:
    """A weekday of the last, this or the next week."""
    day = WEEKDAYS[m["weekday"]]
    if not m["han"]:
        return nearest_weekday(day, clock)
    step = {"上": -1, "先": -1, "下": 1}.get(m["han"][0], 0)
    return days(period("week", step, clock)[0] + timedelta(days=day))


def quarter_span(m: re.Match[str], clock: Clock) -> Span:
    """A quarter of the year named, or the nearest."""
    groups = m.groupdict()
    word = (groups["quarter"] or groups.get("quarter2") or "").lower()
    number = QUARTERS.get(word) or int(word)
    year = groups.get("year") or groups.get("y")
    if groups.get("whichyear"):
        return quarter(clock.today.year + WHICH[m["whichyear"].lower()], number)
    return quarter(int(year), number) if year else nearest_month(3 * number - 2, 3, clock)


def half_span(m: re.Match[str], _clock: Clock) -> Span:
    """A half of a year."""
    is_second = (m["half"] or m["words"]).lower() in ("2", "second")
    start, end = year_of(int(m["year"]))
    middle = start.replace(month=7)
    return (middle, end) if is_second else (start, middle)


def month_of_year_span(m: re.Match[str], clock: Clock) -> Span:
    """A month of a year."""
    number = MONTH_NAMES[m["month"].lower()]
    if m["year"]:
        return month(int(m["year"]), number)
    return month(clock.today.year + WHICH[m["whichyear"].lower()], number)


def bare_month_span(m: re.Match[str], clock: Clock) -> Span:
    """The nearest month of that name."""
    return nearest_month(MONTH_NAMES[m["month"].lower()], 1, clock)


def season_span(m: re.Match[str], clock: Clock) -> Span:
    """A season of the year named, or the nearest; a winter is of the year it ends in."""
    first = SEASONS[m["season"].lower()]
    if not m["year"]:
        return nearest_month(first, 3, clock)
    start = month(int(m["year"]) - (first == 12), first)[0]
    return start, nearest_month(first, 3, Clock(start.replace(tzinfo=UTC), UTC))[1]


def weekday_span(m: re.Match[str], clock: Clock) -> Span:
    """The nearest weekday of that name."""
    return nearest_weekday(WEEKDAYS[m["weekday"].lower()], clock)
