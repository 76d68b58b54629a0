"""Times that texts name, on days where calendars go wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.claims.times import add_months, moments, validity

WEDNESDAY = "2026-05-13T10:00"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(text: str, anchor: str = WEDNESDAY, *, is_past: bool = True) -> list[tuple[str, str, str]]:
    found = moments(text, at(anchor), is_past=is_past)
    return [(m.start.date().isoformat(), m.end.date().isoformat(), m.relation) for m in found]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("yesterday", "2026-05-12", "2026-05-13"),
        ("the day before yesterday", "2026-05-11", "2026-05-12"),
        ("today", "2026-05-13", "2026-05-14"),
        ("tomorrow", "2026-05-14", "2026-05-15"),
        ("last week", "2026-05-04", "2026-05-11"),
        ("this week", "2026-05-11", "2026-05-18"),
        ("next week", "2026-05-18", "2026-05-25"),
        ("last weekend", "2026-05-09", "2026-05-11"),
        ("last month", "2026-04-01", "2026-05-01"),
        ("next quarter", "2026-07-01", "2026-10-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last Friday", "2026-05-08", "2026-05-09"),
        ("last Wednesday", "2026-05-06", "2026-05-07"),
        ("next Wednesday", "2026-05-20", "2026-05-21"),
        ("this Friday", "2026-05-15", "2026-05-16"),
        ("last March", "2026-03-01", "2026-04-01"),
        ("last May", "2025-05-01", "2025-06-01"),
        ("next May", "2027-05-01", "2027-06-01"),
        ("in May next year", "2027-05-01", "2027-06-01"),
        ("two years ago", "2024-05-13", "2024-05-14"),
        ("a week ago", "2026-05-06", "2026-05-07"),
        ("a couple of weeks ago", "2026-04-29", "2026-04-30"),
        ("three days from now", "2026-05-16", "2026-05-17"),
        ("in 2019", "2019-01-01", "2020-01-01"),
        ("on 3 March 2024", "2024-03-03", "2024-03-04"),
        ("on March 3rd, 2024", "2024-03-03", "2024-03-04"),
        ("on the 3rd of March", "2026-03-03", "2026-03-04"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("at the end of the month", "2026-05-31", "2026-06-01"),
        ("by 30 June", "2026-06-30", "2026-07-01"),
    ],
)
def test_a_time(text: str, start: str, end: str) -> None:
    assert days(text) == [(start, end, "at")]


@pytest.mark.parametrize(
    ("text", "start", "relation"),
    [
        ("since March", "2026-03-01", "since"),
        ("since November", "2025-11-01", "since"),
        ("since 2020", "2020-01-01", "since"),
        ("since Monday", "2026-05-11", "since"),
        ("for five years", "2021-05-13", "since"),
        ("from June", "2026-06-01", "since"),
        ("from March", "2027-03-01", "since"),
        ("starting next week", "2026-05-18", "since"),
        ("until Friday", "2026-05-15", "until"),
        ("until June", "2026-06-01", "until"),
        ("until the end of May", "2026-05-31", "until"),
        ("until 17 July", "2026-07-17", "until"),
        ("till the end of the year", "2026-12-31", "until"),
        ("seit März", "2026-03-01", "since"),
        ("depuis mars", "2026-03-01", "since"),
        ("desde 2020", "2020-01-01", "since"),
    ],
)
def test_since_and_until(text: str, start: str, relation: str) -> None:
    assert [(s, r) for s, _, r in days(text)] == [(start, relation)]


@pytest.mark.parametrize(
    ("text", "anchor", "start"),
    [
        ("last month", "2026-03-31T12:00", "2026-02-01"),
        ("a month ago", "2026-03-31T12:00", "2026-02-28"),
        ("a month ago", "2024-03-31T12:00", "2024-02-29"),
        ("a year ago", "2024-02-29T12:00", "2023-02-28"),
        ("four years ago", "2024-02-29T12:00", "2020-02-29"),
        ("since 29 February", "2026-05-13T12:00", "2024-02-29"),
        ("last week", "2026-01-01T00:00", "2025-12-22"),
        ("yesterday", "2026-01-01T00:00", "2025-12-31"),
        ("yesterday", "2024-03-01T23:59", "2024-02-29"),
        ("last month", "2026-01-15T12:00", "2025-12-01"),
        ("last quarter", "2026-02-01T12:00", "2025-10-01"),
        ("next month", "2025-12-31T23:59", "2026-01-01"),
        ("since December", "2026-01-02T12:00", "2025-12-01"),
        ("until 2 January", "2025-12-31T12:00", "2026-01-02"),
        ("last Sunday", "2026-05-10T12:00", "2026-05-03"),
        ("the end of the month", "2024-02-10T12:00", "2024-02-29"),
        ("next week", "2026-12-31T12:00", "2027-01-04"),
    ],
)
def test_months_and_years_that_end(text: str, anchor: str, start: str) -> None:
    assert [s for s, _, _ in days(text, anchor)] == [start]


@pytest.mark.parametrize(
    "text",
    ["I may go", "they march", "in the second place", "30 February", "9999 years ago", "the week",
     "sun and sea", "room 2019", "12 people", "", "on 31 April 2026"],
)  # fmt: skip
def test_no_time(text: str) -> None:
    assert days(text) == []


def test_a_span_of_text_is_told() -> None:
    [found] = moments("I moved here last week, at last", at(WEDNESDAY))
    assert "I moved here last week, at last"[found.first : found.last] == "last week"


def test_validity() -> None:
    found = moments("from 1 June until 17 July", at(WEDNESDAY))
    assert validity(found) == (at("2026-06-01T00:00"), at("2026-07-18T00:00"))
    assert validity(moments("until June", at(WEDNESDAY))) == (None, at("2026-06-01T00:00"))
    assert validity([]) == (None, None)


INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda d: d.replace(tzinfo=UTC))


@given(INSTANTS, st.integers(-500, 500))
def test_months_are_added_on_the_calendar(instant: datetime, months: int) -> None:
    later = add_months(instant, months)
    assert (later.year * 12 + later.month) - (instant.year * 12 + instant.month) == months
    assert later.day == instant.day or (later.day < instant.day and (later + timedelta(days=1)).day == 1)


NAMES = st.sampled_from(["last", "this", "next"]), st.sampled_from(["week", "month", "year", "Friday", "May"])


@given(INSTANTS, *NAMES)
def test_last_this_and_next_stand_in_order(instant: datetime, which: str, span: str) -> None:
    [found] = moments(f"{which} {span}", instant)
    assert found.start < found.end
    if which == "last":
        assert found.start < instant
    if which == "next":
        assert found.end > instant
