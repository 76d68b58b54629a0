"""Rows of a scope too large to be held that its route asks for: a window of time, the newest, named facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lake.index import Generation
from lake.online.asked import Asked
from lake.online.views import Usual, View, reading, scored
from lake.scope import Scope, literal, predicate
from transforms.route_effects import last_sessions
from transforms.routing import Route, Sessions

Ints = NDArray[np.int64]

TOLD_LATER = 4
"""Half-lives after a range in which rows of it are looked for: a sixteenth is left by then."""


def widened(asked: Asked) -> Asked | None:
    """The search inside the times that its route names; None where it names none.

    Its filters only decide which candidates are fetched besides the others.
    """
    route = asked.route
    if route is None or not route.ranges:
        return None
    policy = asked.policy.routing
    before, after = (0.0, 0.0)
    if not route.is_filter:
        before, after = policy.told_before_days * TOLD_LATER, policy.told_after_days * TOLD_LATER
    since, until = _moved(route.since, -before), _moved(route.until, after)
    filters = replace(
        asked.filters, since=_later(since, asked.filters.since), until=_sooner(until, asked.filters.until)
    )
    return replace(asked, filters=filters)


def _moved(instant: datetime | None, days: float) -> datetime | None:
    try:
        return None if instant is None else instant + timedelta(days=days)
    except OverflowError:
        return instant


def _later(one: datetime | None, two: datetime | None) -> datetime | None:
    return max((i for i in (one, two) if i is not None), default=None)


def _sooner(one: datetime | None, two: datetime | None) -> datetime | None:
    return min((i for i in (one, two) if i is not None), default=None)


def views(generation: Generation, asked: Asked, scope: Scope, usual: Usual) -> Sequence[View]:
    """Rows that the route asks for whatever their similarity, at most ``asked.count`` of each table and wish.

    Raises:
        Gone: The generation cannot be read.
    """
    route = asked.route
    if route is None:
        return []
    found: list[View] = []
    for entry in generation.tables_of(scope):
        if route.sessions is not None or route.is_newest_first:
            found += reading(_newest, generation, entry.name, asked, scope, route, usual)
        if route.facts:
            names = sorted({n for hit in route.facts for n in (hit.id, *hit.sources)})
            where = f"{predicate(scope, asked.filters)} AND memory_id IN ({', '.join(map(literal, names))})"
            found += reading(_fetched, generation, entry.name, scope, where, usual)
    return found


def _newest(
    generation: Generation, table: str, asked: Asked, scope: Scope, route: Route, usual: Usual
) -> list[View]:
    """The newest rows of the window that a route names, of all rows where it names none."""
    where = predicate(scope, (widened(asked) or asked).filters)
    columns = ["user_id", "session_id", "event_at"]
    held = generation.dataset(table).scanner(columns=columns, filter=where, with_row_id=True).to_table()
    if not held.num_rows:
        return []
    events = held["event_at"].cast(pa.int64()).to_numpy()
    places, beside = np.arange(len(events)), np.zeros(0, np.int64)
    if route.sessions is not None:
        places, beside = _of_sessions(route.sessions, asked, _codes(held), events)
    newest = places[np.argsort(-events[places], kind="stable")[: asked.count]]
    rows = held["_rowid"].to_numpy()[np.concatenate([newest, beside])].tolist()
    return (
        _fetched(generation, table, scope, f"_rowid IN ({', '.join(map(str, rows))})", usual) if rows else []
    )


def _of_sessions(sessions: Sessions, asked: Asked, codes: Ints, events: Ints) -> tuple[Ints, Ints]:
    """Rows of the sessions named, and one of each later session, so that their order can be told again."""
    open_since = asked.filters.now_us - int(asked.policy.routing.open_minutes * 60_000_000)
    chosen = last_sessions(sessions, codes, events, open_since)
    is_chosen = np.isin(codes, chosen)
    places = np.flatnonzero(is_chosen)
    if sessions.back < 0 or not len(places):
        return places, np.zeros(0, np.int64)
    later = np.flatnonzero(~is_chosen & (codes >= 0) & (events > events[places].min()))
    order = later[np.lexsort((events[later], codes[later]))]
    last = order[np.append(codes[order][1:] != codes[order][:-1], True)] if len(order) else order
    return places, last


def _codes(held: pa.Table) -> Ints:
    """A number a person's session; -1 for rows without one."""
    users, sessions = (held[n].combine_chunks().dictionary_encode() for n in ("user_id", "session_id"))
    user = np.nan_to_num(users.indices.to_numpy(zero_copy_only=False).astype(np.float64), nan=-1).astype(
        np.int64
    )
    session = sessions.indices.to_numpy(zero_copy_only=False).astype(np.float64)
    codes = (user + 1) * (len(sessions.dictionary) + 1) + np.nan_to_num(session, nan=0).astype(np.int64)
    return np.where(np.isnan(session), -1, codes)


def _fetched(generation: Generation, table: str, scope: Scope, where: str, usual: Usual) -> list[View]:
    scanner: Any = generation.dataset(table).scanner(
        columns=list(generation.scored_columns()), filter=where, with_row_id=True
    )
    found = scanner.to_table()
    if not found.num_rows:
        return []
    columns = scored(found, generation.manifest.dimensions)
    order = columns.sorted_rows()
    return [
        View(columns.take(order), generation, table, found["_rowid"].to_numpy()[order], scope, usual=usual)
    ]
