"""What a route does to rows, against plain loops over small tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.fact_keys import Hit
from transforms.policy_recall import RoutingPolicy
from transforms.route_effects import effect, in_sessions, inside, last_sessions, shares
from transforms.routing import Route, Sessions
from transforms.schemas import MEMORIES
from transforms.scope_columns import ScopeColumns
from transforms.scoring_record import columns_of
from transforms.time_expressions import TimeRange

DAY = timedelta(days=1)
START = datetime(2026, 5, 1, tzinfo=UTC)
MAY = TimeRange(START, START + 31 * DAY, 0, 0)
POLICY = RoutingPolicy(range_share=0.5, told_after_days=4, told_before_days=2, open_minutes=10)


def micros(*days: float) -> np.ndarray:
    return np.array([int((START.timestamp() + day * 86_400) * 1e6) for day in days], np.int64)


def rows(*told: tuple[str, str | None, float]) -> ScopeColumns:
    """Columns of rows: id, session, day of May."""
    plain = {c.name: [None if c.is_nullable else _plain(c.dtype)] * len(told) for c in MEMORIES.columns}
    instants = pl.Series(micros(*(day for _, _, day in told))).cast(MEMORIES.polars["event_at"])
    frame = pl.DataFrame(plain, schema=MEMORIES.polars).with_columns(
        memory_id=pl.Series([name for name, _, _ in told], dtype=pl.String),
        session_id=pl.Series([session for _, session, _ in told], dtype=pl.String),
        kind=pl.lit("conversation"),
        tier=pl.lit("episodic"),
        sensitivity=pl.lit("normal"),
        event_at=instants,
        last_accessed_at=instants,
    )
    columns = columns_of(frame, np.zeros((len(told), 2), np.float32), is_fresh=False)
    return columns.take(columns.sorted_rows())


def _plain(dtype: object) -> object:
    if dtype == pl.String:
        return ""
    return [] if isinstance(dtype, pl.List) else START if isinstance(dtype, pl.Datetime) else 0


def named(columns: ScopeColumns, mask: np.ndarray) -> set[str]:
    return {name.decode() for name in columns.ids[mask].tolist()}


def test_a_preferred_range_fades_to_both_sides() -> None:
    #          before far, 2 before, in, last instant, 4 after, 8 after, far after
    events = micros(-400, -2, 0, 30.99, 35, 39, 400)
    expected = [0.5, 0.75, 1.0, 1.0, 0.75, 0.625, 0.5]
    assert shares([MAY], events, POLICY) == pytest.approx(expected, abs=1e-3)


def test_an_open_range_has_one_side() -> None:
    since = TimeRange(START, None, 0, 0)
    until = TimeRange(None, START, 0, 0)
    assert inside([since], micros(-1, 0, 900)).tolist() == [False, True, True]
    assert inside([until], micros(-900, 0, 1)).tolist() == [True, False, False]
    assert shares([until], micros(-900), POLICY).tolist() == [1.0]


@given(st.lists(st.floats(-500, 500), max_size=20), st.floats(0, 1), st.floats(0, 50), st.floats(0, 50))
def test_shares_lie_between_what_is_kept_and_one_and_no_row_inside_loses(
    days: list[float], share: float, after: float, before: float
) -> None:
    policy = RoutingPolicy(range_share=share, told_after_days=after, told_before_days=before)
    events = micros(*days)
    found = shares([MAY], events, policy)
    assert ((found >= 1 - share - 1e-12) & (found <= 1)).all()
    assert (found[inside([MAY], events)] == 1).all()


TALKS = rows(
    ("a1", "one", 1),
    ("a2", "one", 9),
    ("b1", "two", 3),
    ("b2", "two", 4),
    ("c1", "three", 6),
    ("d", None, 20),
)


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        (Sessions(1, 1), {"a1", "a2"}),  # its last row is the latest, though it began first
        (Sessions(2, 1), {"c1"}),
        (Sessions(3, 1), {"b1", "b2"}),
        (Sessions(4, 1), set()),
        (Sessions(1, 2), {"a1", "a2", "c1"}),
        (Sessions(-1, 1), {"b1", "b2"}),
    ],
)
def test_sessions_are_counted_by_their_last_event(sessions: Sessions, expected: set[str]) -> None:
    assert named(TALKS, in_sessions(sessions, TALKS, int(micros(30)[0]))) == expected


def test_a_session_that_is_going_on_is_not_the_last_one_unless_it_is_alone() -> None:
    now = int(micros(9)[0]) + 60_000_000
    found = effect(Route(sessions=Sessions(), is_filter=True), TALKS, POLICY, now)
    assert found.kept is not None
    assert named(TALKS, found.kept) == {"c1"}
    alone = rows(("a1", "one", 1))
    found = effect(Route(sessions=Sessions(), is_filter=True), alone, POLICY, int(micros(1)[0]))
    assert found.kept is not None
    assert found.kept.all()


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 30)), max_size=25),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 40),
)
def test_last_sessions_against_a_plain_loop(
    talks: list[tuple[int, int]], back: int, count: int, open_since: int
) -> None:
    ends: dict[int, int] = {}
    for code, at in talks:
        if code >= 0:
            ends[code] = max(at, ends.get(code, -1))
    ordered = sorted(ends, key=lambda code: (-ends[code], code))
    if len(ordered) > 1 and ends[ordered[0]] > open_since:
        ordered = ordered[1:]
    codes = np.array([code for code, _ in talks], np.int64)
    events = np.array([at for _, at in talks], np.int64)
    found = last_sessions(Sessions(back, count), codes, events, open_since)
    assert found.tolist() == ordered[back - 1 : back - 1 + count]


def test_a_filter_that_would_leave_nothing_only_prefers_and_says_so() -> None:
    route = Route(ranges=(TimeRange(START + 60 * DAY, None, 0, 0),), is_filter=True)
    found = effect(route, TALKS, POLICY, 0)
    assert found.kept is None
    assert found.is_waived
    assert found.share is not None
    found = effect(Route(ranges=(MAY,), is_filter=True), TALKS, POLICY, 0)
    assert found.kept is not None
    assert not found.is_waived


def test_named_facts_and_what_they_rest_on_are_lifted_and_nothing_is_lowered_by_it() -> None:
    route = Route(facts=(Hit("c1", 0.5, "aspect", sources=("a1",)),))
    policy = RoutingPolicy(exact_relevance=0.8, source_share=0.5)
    found = effect(route, TALKS, policy, 0)
    relevance = np.linspace(0.1, 0.9, len(TALKS))
    after = dict(zip((n.decode() for n in TALKS.ids.tolist()), found.on(relevance).tolist(), strict=True))
    before = dict(zip((n.decode() for n in TALKS.ids.tolist()), relevance.tolist(), strict=True))
    assert after["c1"] == max(0.4, before["c1"])
    assert after["a1"] == max(0.2, before["a1"])
    assert all(after[name] == before[name] for name in ("a2", "b1", "b2", "d"))
    told = found.told(np.arange(len(TALKS)))
    assert sum("least" in row for row in told) == 2


def test_a_route_that_asks_for_nothing_does_nothing() -> None:
    relevance = np.linspace(0, 1, len(TALKS))
    found = effect(Route(), TALKS, POLICY, 0)
    assert found.on(relevance) is relevance
    assert found.told(np.arange(3)) == []
