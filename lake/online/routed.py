"""A search with its route: how its question is to be read, by the facts of the scopes it sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lake.online.asked import Asked
from lake.online.fact_shelf import Facts
from lake.scope import Filters
from transforms.fact_keys import FactKeys, Hit
from transforms.routing import Route, route


def routed(asked: Asked, held: Sequence[Facts]) -> Asked:
    """The search with its route, unless it has one or routing is switched off.

    Args:
        asked: The search.
        held: Facts of each of its scopes. Those that it may not see play no part, nor does what is
            reached through one of them.
    """
    policy = asked.policy.routing
    if asked.route is not None or not policy.is_enabled:
        return asked
    known = held[0].keys if len(held) == 1 else _together(held)
    found = route(asked.text, asked.filters.as_of, zone=asked.zone, known=known, policy=policy)
    if found.facts:
        found = _allowed(found, held, asked.filters)
    return replace(asked, route=found)


def _together(held: Sequence[Facts]) -> FactKeys | None:
    facts = [fact for one in held for fact in one.keys.facts]
    facts.sort(key=lambda fact: (-fact.event_us, fact.id))
    return FactKeys(facts) if facts else None


def _allowed(found: Route, held: Sequence[Facts], filters: Filters) -> Route:
    rows = {name: row for one in held for name, row in one.by_id.items()}
    shown = {hit.id for hit in found.facts if filters.serves(rows[hit.id])}
    seen = {name for name in (hit.through for hit in found.facts) if not name or filters.serves(rows[name])}
    facts: tuple[Hit, ...] = tuple(h for h in found.facts if h.id in shown and h.through in seen)
    if len(facts) == len(found.facts):
        return found
    if facts:
        return replace(found, facts=facts)
    return Route(ranges=found.ranges, is_filter=found.is_filter, sessions=found.sessions)
