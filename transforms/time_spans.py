"""Spans of the calendar on a local clock: which day, week, month, quarter or year is meant.

Instants here are naive and local, except for spans of hours and minutes, which are aware: a clock that is
put forward or back has hours that are not there, or twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from transforms.claims.times import add_months
from transforms.time_vocabulary import Unit

Span = tuple[datetime, datetime]

_MOST = 1_200
"""More than so many units is no span of a life."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7, "weekend": 7}


@dataclass(frozen=True)
class Clock:
    """The instant of a question, and the zone that its days are counted in.

    Attributes:
        as_of: Aware.
        zone: Whose days.
        is_ahead: Whether the question speaks of what is to come, so that June is the next one.
    """

    as_of: datetime
    zone: tzinfo
    is_ahead: bool = False

    @property
    def today(self) -> datetime:
        """Local midnight."""
        local = self.as_of.astimezone(self.zone).replace(tzinfo=None)
        return local.replace(hour=0, minute=0, second=0, microsecond=0)

    def utc(self, instant: datetime) -> datetime:
        """An instant of a span in UTC."""
        local = instant if instant.tzinfo else instant.replace(tzinfo=self.zone)
        return local.astimezone(UTC)


def days(start: datetime, count: int = 1) -> Span:
    """So many days from a midnight on."""
    return start, start + timedelta(days=count)


def hours(midnight: datetime, first: int, last: int) -> Span:
    """Hours of a day."""
    return midnight + timedelta(hours=first), midnight + timedelta(hours=last)


def month(year: int, number: int) -> Span:
    """A month."""
    start = datetime(year, number, 1)
    return start, add_months(start, 1)


def year_of(year: int) -> Span:
    """A year."""
    start = datetime(year, 1, 1)
    return start, add_months(start, 12)


def quarter(year: int, number: int) -> Span:
    """A quarter, 1 to 4."""
    start = datetime(year, 3 * number - 2, 1)
    return start, add_months(start, 3)


def around(day: datetime, unit: Unit) -> Span:
    """The calendar span that holds a day; weeks start on Monday, and a weekend is that of its week."""
    start = day.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = start - timedelta(days=start.weekday())
    if unit == "week":
        return days(monday, 7)
    if unit == "weekend":
        return days(monday + timedelta(days=5), 2)
    if unit in _MONTHS:
        count = _MONTHS[unit]
        first = start.replace(day=1)
        first = add_months(first, -((first.month - 1) % count))
        return first, add_months(first, count)
    return days(start)


def moved(day: datetime, unit: Unit, count: int) -> datetime:
    """The same day so many units later or, below 0, earlier.

    Raises:
        ValueError: More units than a life has.
    """
    if abs(count) > _MOST:
        raise ValueError(f"{count} {unit}")
    if unit in _MONTHS:
        return add_months(day, count * _MONTHS[unit])
    return day + timedelta(days=count * _DAYS.get(unit, 1))


def period(unit: Unit, step: int, clock: Clock) -> Span:
    """The calendar span that is on, or so many before or after it."""
    start = around(clock.today, unit)[0]
    return around(moved(start, unit, step), unit)


def ago(count: int, unit: Unit, is_vague: bool, clock: Clock) -> Span:
    """So many units ago: the calendar span of that unit, and those beside it where the count is vague."""
    if unit in ("minute", "hour"):
        step = timedelta(**{f"{unit}s": 1})
        if count > _MOST:
            raise ValueError(f"{count} {unit}")
        return clock.as_of - (count + 1) * step, clock.as_of - (count - 1) * step + timedelta(microseconds=1)
    first = around(moved(clock.today, unit, -count - (is_vague and 1 + (count > 2))), unit)[0]
    return first, around(moved(clock.today, unit, min(0, -count + is_vague)), unit)[1]


def lasting(count: int, unit: Unit, clock: Clock) -> Span:
    """The last so many units, through today."""
    if unit in ("minute", "hour"):
        if count > _MOST:
            raise ValueError(f"{count} {unit}")
        return clock.as_of - timedelta(**{f"{unit}s": count}), clock.as_of + timedelta(minutes=1)
    return moved(clock.today, unit, -count), clock.today + timedelta(days=1)


def nearest_day(number: int, day: int, clock: Clock) -> Span:
    """A day of a month without a year: the nearest behind, or ahead.

    Raises:
        ValueError: There is no such day.
    """
    step = 1 if clock.is_ahead else -1
    for years in range(9):  # 29 February is found from anywhere
        try:
            start = datetime(clock.today.year + step * years, number, day)
        except ValueError:
            continue
        if step * (start - clock.today).days >= 0:
            return days(start)
    raise ValueError(f"{day}/{number}")


def nearest_month(number: int, count: int, clock: Clock) -> Span:
    """Months from that one on without a year: the nearest that has begun, or ahead, that has not ended."""
    for years in (1, 0, -1) if not clock.is_ahead else (0, 1):
        start = month(clock.today.year + years, number)[0]
        end = add_months(start, count)
        if (end > clock.today) if clock.is_ahead else (start <= clock.today):
            return start, end
    raise ValueError(str(number))


def nearest_weekday(number: int, clock: Clock) -> Span:
    """A weekday: today or the nearest behind, or ahead."""
    gap = (number - clock.today.weekday()) % 7
    return days(clock.today + timedelta(days=gap if clock.is_ahead else gap - 7 * (gap > 0)))


def named(which: int, number: int, length: str, clock: Clock) -> Span:
    """Last (-1), this (0) or next (1) weekday, month or season by name.

    The last one lies behind today, a month or a season whole; this one is the one that is on or nearest.
    """
    if length == "weekday":
        gap = number - clock.today.weekday()
        ahead = gap % 7 + (7 if gap % 7 == 0 else 0) if which > 0 else -((-gap - 1) % 7 + 1)
        if which == 0:
            ahead = gap  # of the week that is on
        return days(clock.today + timedelta(days=ahead))
    count = 3 if length == "season" else 1
    spans = [month(clock.today.year + years, number)[0] for years in (-2, -1, 0, 1, 2)]
    spans_ = [(start, add_months(start, count)) for start in spans]
    if which < 0:
        return [s for s in spans_ if s[1] <= clock.today][-1]
    if which > 0:
        return next(s for s in spans_ if s[0] > clock.today)
    return next(s for s in spans_ if s[1] > clock.today and s[0].year >= clock.today.year - 1)
