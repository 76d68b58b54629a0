"""What a route does to the rows of a scope: which are left out, which lose weight, which are lifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from transforms.policy_recall import RoutingPolicy
from transforms.routing import Route, Sessions
from transforms.scope_columns import ScopeColumns
from transforms.time_expressions import TimeRange

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_US = 86_400_000_000
_MINUTE_US = 60_000_000


@dataclass(frozen=True)
class Effect:
    """Of a route on n rows.

    Attributes:
        kept: Which rows are not left out; None: all.
        share: What each row keeps of its relevance, 0 to 1; None: all of it.
        lifted: Least relevance of each row, 0 to 1; None: of none.
        is_newest_first: Whether time gives the order.
        is_waived: Whether rows were to be left out, but none would have stayed.
    """

    kept: Mask | None = None
    share: Floats | None = None
    lifted: Floats | None = None
    is_newest_first: bool = False
    is_waived: bool = False

    def on(self, relevance: Floats) -> Floats:
        """Relevance of the rows under the route."""
        shared = relevance if self.share is None else relevance * self.share
        return shared if self.lifted is None else np.maximum(shared, self.lifted)

    def told(self, positions: NDArray[np.int64]) -> list[dict[str, float]]:
        """Of some rows, what was done to their relevance: ``share`` below 1, ``least`` above 0."""
        if self.share is None and self.lifted is None:
            return []
        found: list[dict[str, float]] = [{} for _ in positions]
        for name, values, idle in (("share", self.share, 1.0), ("least", self.lifted, 0.0)):
            if values is not None:
                for row, value in zip(found, values[positions].tolist(), strict=True):
                    if value != idle:
                        row[name] = value
        return found


def effect(route: Route, columns: ScopeColumns, policy: RoutingPolicy, now_us: int) -> Effect:
    """What a route does to rows.

    Args:
        route: How the question is answered.
        columns: Of the rows, by session and time.
        policy: Shares and limits.
        now_us: When it is asked, microseconds since 1970: a session that is still open is not the last one.
    """
    lifted = _lifted(route, columns, policy)
    kept = _window(route, columns, policy, now_us)
    if kept is None:
        return Effect(lifted=lifted, is_newest_first=route.is_newest_first)
    if route.is_filter and kept.any():
        return Effect(kept, None, lifted, route.is_newest_first)
    share = shares(route.ranges, columns.event_us, policy) if route.ranges else None
    return Effect(None, share, lifted, route.is_newest_first, route.is_filter)


def _window(route: Route, columns: ScopeColumns, policy: RoutingPolicy, now_us: int) -> Mask | None:
    """Rows that lie in what the route names; None where it names no time."""
    if route.sessions is not None:
        return in_sessions(route.sessions, columns, now_us - int(policy.open_minutes * _MINUTE_US))
    return inside(route.ranges, columns.event_us) if route.ranges else None


def inside(ranges: Sequence[TimeRange], event_us: NDArray[np.int64]) -> Mask:
    """Which events lie in any of the ranges."""
    mask = np.zeros(len(event_us), np.bool_)
    for one in ranges:
        first, last = _bounds(one)
        mask |= (event_us >= first) & (event_us < last)
    return mask


def _bounds(one: TimeRange) -> tuple[int, int]:
    limits = np.iinfo(np.int64)
    return (
        int(limits.min) if one.since is None else _micros(one.since),
        int(limits.max) if one.until is None else _micros(one.until),
    )


def _micros(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def shares(ranges: Sequence[TimeRange], event_us: NDArray[np.int64], policy: RoutingPolicy) -> Floats:
    """What rows keep of their relevance where a range is preferred.

    1 inside; outside it falls towards ``1 - range_share``, half of the way in ``told_after_days`` after the
    range or ``told_before_days`` before it: what happens is told later, and planned earlier.
    """
    best = np.zeros(len(event_us))
    for one in ranges:
        first, last = _bounds(one)
        ahead = (first - event_us.astype(np.float64)) / _DAY_US
        behind = (event_us.astype(np.float64) - last) / _DAY_US
        after = _halving(behind, policy.told_after_days)
        before = _halving(ahead, policy.told_before_days)
        near = np.where(event_us < first, before, np.where(event_us >= last, after, 1.0))
        best = np.maximum(best, near)
    found: Floats = 1.0 - policy.range_share * (1.0 - best)
    return found


def _halving(days: Floats, half: float) -> Floats:
    if half <= 0:
        return np.zeros(len(days))
    faded: Floats = 0.5 ** (np.clip(days, 0.0, 1_000 * half) / half)  # a tiny half must not overflow
    return faded


def in_sessions(sessions: Sessions, columns: ScopeColumns, open_since_us: int) -> Mask:
    """Rows of the sessions named, in the order of the sessions' last events.

    A session with an event after ``open_since_us`` is the one that is going on, not the last one, unless
    it is the only one.
    """
    codes = columns.session.astype(np.int64)
    mask: Mask = np.isin(codes, last_sessions(sessions, codes, columns.event_us, open_since_us))
    return mask


def last_sessions(
    sessions: Sessions, codes: NDArray[np.int64], event_us: NDArray[np.int64], open_since_us: int
) -> NDArray[np.int64]:
    """Codes of the sessions named.

    Args:
        sessions: Which.
        codes: Session of each row, in any order; below 0 for none.
        event_us: Event of each row.
        open_since_us: As for ``in_sessions``.
    """
    held = np.flatnonzero(codes >= 0)
    order = held[np.lexsort((event_us[held], codes[held]))]
    ends = order[np.append(codes[order][1:] != codes[order][:-1], True)] if len(order) else order
    ends = ends[np.lexsort((codes[ends], -event_us[ends]))]
    found = codes[ends]
    if sessions.back < 0:
        return found[::-1][: sessions.count]
    if len(found) > 1 and event_us[ends[0]] > open_since_us:
        found = found[1:]
    return found[sessions.back - 1 : sessions.back - 1 + sessions.count]


def _lifted(route: Route, columns: ScopeColumns, policy: RoutingPolicy) -> Floats | None:
    """Least relevance of the facts that the question names, and of the episodes they rest on."""
    if not route.facts:
        return None
    least: dict[bytes, float] = {}
    for hit in route.facts:
        wanted = policy.exact_relevance * hit.strength
        least[hit.id.encode()] = max(wanted, least.get(hit.id.encode(), 0.0))
        for source in hit.sources:
            name = source.encode()
            least[name] = max(wanted * policy.source_share, least.get(name, 0.0))
    names = np.array(sorted(least), columns.ids.dtype)
    places = np.flatnonzero(np.isin(columns.ids, names))
    lifted = np.zeros(len(columns))
    lifted[places] = [least[columns.ids[place]] for place in places.tolist()]
    return lifted
