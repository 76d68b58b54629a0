"""Times of questions: a table of what each means, what is none, and laws."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.time_expressions import MOST_CHARS, time_ranges

AS_OF = datetime(2026, 6, 17, 10, 30, tzinfo=UTC)
"""A Wednesday."""
ZONES = st.sampled_from(
    [UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/Los_Angeles"), ZoneInfo("Asia/Kolkata")]
)
INSTANTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
TABLE = """
last Monday                             2026-06-15  2026-06-16
last Wednesday                          2026-06-10  2026-06-11
next Friday                             2026-06-19  2026-06-20
last June                               2025-06-01  2025-07-01
this June                               2026-06-01  2026-07-01
next June                               2027-06-01  2027-07-01
in June                                 2026-06-01  2026-07-01
in July                                 2025-07-01  2025-08-01
in July 2024                            2024-07-01  2024-08-01
July of last year                       2025-07-01  2025-08-01
on 29 February                          2024-02-29  2024-03-01
3rd of May 2026                         2026-05-03  2026-05-04
Sunday, 3 May 2026                      2026-05-03  2026-05-04
2026/05/03                              2026-05-03  2026-05-04
3.5.2026                                2026-05-03  2026-05-04
5/23/2026                               2026-05-23  2026-05-24
23/5/2026                               2026-05-23  2026-05-24
May 28 to June 2                        2026-05-28  2026-06-03
1-5 May                                 2026-05-01  2026-05-06
from 28 December to 3 January           2025-12-28  2026-01-04
from May to July 2024                   2024-05-01  2024-08-01
from 2019 to 2021                       2019-01-01  2022-01-01
between Monday and Wednesday            2026-06-15  2026-06-18
mid-May                                 2026-05-11  2026-05-22
the first half of September 2022        2022-09-01  2022-09-16
the last week of May                    2026-05-25  2026-06-01
the first weekend of May 2026           2026-05-02  2026-05-04
two weeks before 11 August 2023         2023-07-24  2023-07-31
the week before 3 August 2023           2023-07-27  2023-08-03
the Sunday before 25 October 2022       2022-10-23  2022-10-24
the week after 3 May 2026               2026-05-04  2026-05-11
a few days ago                          2026-06-12  2026-06-16
a couple of weeks ago                   2026-05-25  2026-06-15
the past two months                     2026-04-17  2026-06-18
last night                              2026-06-16T18:00  2026-06-17T06:00
an hour ago                             2026-06-17T08:30  2026-06-17T10:30
winter 2023                             2022-12-01  2023-03-01
H2 2025                                 2025-07-01  2026-01-01
2025 Q4                                 2025-10-01  2026-01-01
by 10 July 2022                         -           2022-07-11
as of December 2023                     -           2024-01-01
before May 2026                         -           2026-05-01
since 2026-05-03T10:00+02:00            2026-05-03T08:00  -
after last week                         2026-06-15  -
seit Montag                             2026-06-15  -
bis Freitag                             -           2026-06-13
nach dem 3. Mai                         2026-05-04  -
letzten Montag                          2026-06-15  2026-06-16
vor drei Tagen                          2026-06-14  2026-06-15
lundi dernier                           2026-06-15  2026-06-16
depuis lundi                            2026-06-15  -
entre le 1 et le 5 mai                  2026-05-01  2026-05-06
el lunes pasado                         2026-06-15  2026-06-16
los últimos 10 días                     2026-06-07  2026-06-18
desde el 3 de mayo                      2026-05-03  -
上周一                                   2026-06-08  2026-06-09
最近10天                                 2026-06-07  2026-06-18
三天前                                   2026-06-14  2026-06-15
5月3日                                   2026-05-03  2026-05-04
先月                                     2026-05-01  2026-06-01
3日前                                    2026-06-14  2026-06-15
""".strip().splitlines()
NONE = """
May I ask you something?
the second of them
we march on
on Mondays
every Monday
before the trip
since the move
June and April came
he may 5 times
in a minute
I have 5 days
see you next to the door
see "last week" in the log
see `2026-05-03` in the code
on 31 February
in the month of rain
1234-56-78
99/99/9999
last but not least
the sun is up
""".strip().splitlines()


@pytest.mark.parametrize("line", TABLE)
def test_what_a_time_means(line: str) -> None:
    *words, since, until = line.split()
    [found] = time_ranges(" ".join(words), AS_OF)
    assert (_told(found.since), _told(found.until)) == (since, until)


def _told(instant: datetime | None) -> str:
    return "-" if instant is None else instant.strftime("%Y-%m-%dT%H:%M").replace("T00:00", "")


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_time(text: str) -> None:
    assert time_ranges(text, AS_OF) == []


def test_two_times_are_two_and_the_characters_of_each_are_told() -> None:
    text = "was it in May or on 3 March 2025?"
    found = time_ranges(text, AS_OF)
    assert [text[one.first : one.last] for one in found] == ["in May", "on 3 March 2025"]


def test_what_is_to_come_is_looked_for_ahead() -> None:
    [found] = time_ranges("what is planned for 3 May?", AS_OF)
    assert _told(found.since) == "2027-05-03"


def test_a_day_with_a_missing_hour_is_whole() -> None:
    zone = ZoneInfo("Europe/Berlin")
    [found] = time_ranges("on 2026-03-29", AS_OF, zone)
    assert found.since is not None
    assert found.until is not None
    assert found.until - found.since == timedelta(hours=23)


def test_an_instant_without_zone_is_refused() -> None:
    with pytest.raises(UsageError):
        time_ranges("yesterday", AS_OF.replace(tzinfo=None))


@given(st.text(), INSTANTS, ZONES)
def test_no_text_breaks_it(text: str, as_of: datetime, zone: ZoneInfo) -> None:
    _check(text, as_of, zone)


WORDS = st.sampled_from(
    ["9999", "0", "-", "~", "30 February", *sorted({w for line in (*TABLE, *NONE) for w in line.split()})]
)


@given(st.lists(WORDS, max_size=10), INSTANTS, ZONES)
def test_no_mixture_of_words_of_time_breaks_it(words: list[str], as_of: datetime, zone: ZoneInfo) -> None:
    _check(" ".join(words), as_of, zone)


def _check(text: str, as_of: datetime, zone: ZoneInfo) -> None:
    last = 0
    for found in time_ranges(text, as_of, zone):
        assert found.since is not None or found.until is not None
        if found.since is not None and found.until is not None:
            assert found.since < found.until
        assert last <= found.first < found.last <= len(text)
        last = found.last


@given(st.dates(date(1901, 1, 1), date(2099, 12, 31)), ZONES)
def test_an_iso_date_is_its_day(day: date, zone: ZoneInfo) -> None:
    for told in (
        day.isoformat(),
        f"{day:%d.%m.%Y}",
        f"{day.day} {day:%B} {day.year}",
        f"{day:%B} {day.day}, {day.year}",
    ):
        [found] = time_ranges(f"what happened on {told}?", AS_OF, zone)
        assert found.since is not None
        assert found.until is not None
        assert found.since.astimezone(zone).replace(tzinfo=None) == datetime(day.year, day.month, day.day)
        assert (found.until - timedelta(microseconds=1)).astimezone(zone).date() == day


@given(st.integers(1, 400), INSTANTS)
def test_days_ago_against_counting_on_a_calendar(count: int, as_of: datetime) -> None:
    [found] = time_ranges(f"{count} days ago", as_of)
    day = as_of.date()
    for _ in range(count):
        day -= timedelta(days=1)
    assert found.since == datetime(day.year, day.month, day.day, tzinfo=UTC)


@given(st.integers(1, 60), INSTANTS)
def test_weeks_ago_start_on_a_monday_and_hold_that_day(count: int, as_of: datetime) -> None:
    [found] = time_ranges(f"{count} weeks ago", as_of)
    assert found.since is not None
    assert found.until is not None
    assert found.since.weekday() == 0
    assert found.until - found.since == timedelta(days=7)
    assert found.since <= as_of - timedelta(weeks=count) < found.until


@given(INSTANTS, ZONES)
def test_spans_that_follow_one_another_touch(as_of: datetime, zone: ZoneInfo) -> None:
    for unit in ("week", "month", "quarter", "year"):
        [past], [now], [ahead] = (
            time_ranges(f"{which} {unit}", as_of, zone) for which in ("last", "this", "next")
        )
        assert past.until == now.since
        assert now.until == ahead.since
        assert now.since is not None
        assert now.until is not None
        assert now.since <= as_of < now.until


def test_a_long_text_is_read_at_its_start_only() -> None:
    assert time_ranges("x " * MOST_CHARS + "yesterday", AS_OF) == []
