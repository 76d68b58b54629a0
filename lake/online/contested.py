"""Facts that a question names, and what was said since a night last read: the newer word stands first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lake.online.asked import Asked
from transforms.changed_facts import Said, changed_by, readings
from transforms.fact_keys import Fact, Hit
from transforms.predicates import SINGLE_VALUED
from transforms.route_effects import Effect
from transforms.scope_columns import ROLES, Positions, ScopeColumns
from transforms.search_terms import QUESTION

Floats = NDArray[np.float64]
Payloads = Callable[[Positions], list[dict[str, Any]]]
MOST_READ = 20
"""Most relevant newer messages that are read a fact, about a millisecond each."""


@dataclass(frozen=True)
class _Rows:
    """The rows of a search, as far as facts are compared with them.

    Attributes:
        columns: Scoring columns.
        ranks: Relevance before the route.
        payloads: Rows at positions.
        newest: Positions of the messages that no night has read.
    """

    columns: ScopeColumns
    ranks: Floats
    payloads: Payloads
    newest: Positions


def contested(
    asked: Asked, columns: ScopeColumns, ranks: Floats, routed: Effect, payloads: Payloads
) -> Effect:
    """The route's effect, with facts that a newer message replaces behind that message.

    A fact is what the last night made of what was said by then; a night has judged all that is published.
    A message since then that says another value of its key (``changed_facts``) gets the fact's least
    relevance besides its own, as two grounds for one row: ``1 - (1 - own)(1 - least)``. The fact keeps at
    most ``routing.source_share`` of that, like the episodes it rests on: it is history.

    Args:
        asked: The search, its route read.
        columns: Of the rows.
        ranks: Their relevance before the route; below 0 for rows that are left out.
        routed: What the route does to them.
        payloads: Reads rows by position; of few.
    """
    facts = () if asked.route is None or routed.is_newest_first else asked.route.facts
    newest = _unread(columns, ranks) if facts else np.zeros(0, np.int64)
    if not len(newest):
        return routed
    rows = _Rows(columns, ranks, payloads, newest)
    for hit in facts:
        if hit.fact is not None:
            routed = _after(asked, rows, hit, hit.fact, routed)
    return routed


def _unread(columns: ScopeColumns, ranks: Floats) -> Positions:
    """Positions of people's own messages that are not published yet."""
    mask = columns.is_fresh & ~columns.is_derived & (columns.role == ROLES.index("user")) & (ranks >= 0)
    return np.flatnonzero(mask)


def _after(asked: Asked, rows: _Rows, hit: Hit, fact: Fact, routed: Effect) -> Effect:
    """The effect once one fact was compared with what is newer."""
    columns, policy = rows.columns, asked.policy.routing
    own = np.flatnonzero(columns.ids == hit.id.encode())
    names = np.array([name.encode() for name in hit.sources], columns.ids.dtype)
    sources = np.flatnonzero(np.isin(columns.ids, names))
    known = np.concatenate([own, sources])
    if not len(known):
        return routed
    newer = rows.newest[columns.event_us[rows.newest] > fact.event_us]
    newer = newer[_is_same_person(columns, newer, known)]
    newer = newer[np.argsort(-rows.ranks[newer], kind="stable")[:MOST_READ]]
    changed = _changed(asked, rows, fact, sources, newer)
    if not len(changed):
        return routed
    least = policy.exact_relevance * hit.strength
    reached = 1.0 - (1.0 - np.clip(routed.on(rows.ranks)[changed], 0.0, 1.0)) * (1.0 - least)
    lifted = np.zeros(len(columns)) if routed.lifted is None else routed.lifted.copy()
    lifted[changed] = np.maximum(lifted[changed], reached)
    share = np.ones(len(columns)) if routed.share is None else routed.share.copy()
    most = policy.source_share * float(reached.max())
    lifted[own] = np.minimum(lifted[own], most)
    above = own[rows.ranks[own] > 0]
    share[above] = np.minimum(share[above], most / rows.ranks[above])
    return replace(routed, lifted=lifted, share=share)


def _is_same_person(columns: ScopeColumns, newer: Positions, known: Positions) -> NDArray[np.bool_]:
    """Which rows are of the person, and where names are known of the speaker, that a fact is of."""
    speakers = columns.speaker[known]
    named = speakers[speakers >= 0]
    mask: NDArray[np.bool_] = columns.user[newer] == columns.user[known[0]]
    if len(named):
        mask &= np.isin(columns.speaker[newer], [-1, *named.tolist()])
    return mask


def _changed(asked: Asked, rows: _Rows, fact: Fact, sources: Positions, newer: Positions) -> Positions:
    """Positions of the newer messages that hold instead of a fact."""
    longest = asked.policy.claims.max_statement_chars
    said = [_said(row, longest) for row in rows.payloads(newer)] if len(newer) else []
    changed = changed_by(fact, said, asked.filters.as_of)
    if changed or not said or _can_be_read(rows, fact, sources, longest):
        return newer[np.array(changed, np.int64)]
    return _as_relevant(asked, rows, fact, sources, newer)


def _can_be_read(rows: _Rows, fact: Fact, sources: Positions, longest: int) -> bool:
    """Whether the rules read the words that a fact rests on: then they are judges of newer ones, too."""
    told = rows.payloads(sources) if len(sources) else []
    return not told or any(readings(fact.predicate, _said(row, longest)) for row in told)


def _as_relevant(asked: Asked, rows: _Rows, fact: Fact, sources: Positions, newer: Positions) -> Positions:
    """Of newer messages in words that no rule knows, those that answer as well as what the fact rests on."""
    if fact.predicate not in SINGLE_VALUED:
        return newer[:0]
    least = asked.policy.routing.answers_ratio * float(rows.ranks[sources].max())
    asks = np.array([QUESTION in _terms(rows.columns, place) for place in newer.tolist()], np.bool_)
    return newer[(rows.ranks[newer] >= least) & (rows.ranks[newer] > 0) & ~asks]


def _terms(columns: ScopeColumns, place: int) -> NDArray[np.uint32]:
    return columns.terms[columns.starts[place] : columns.starts[place + 1]]


def _said(row: dict[str, Any], longest: int) -> Said:
    """A row as a message; one that is too long for the rules says nothing to them."""
    text = str(row["text"])
    return Said(
        text if len(text) <= longest else "", datetime.fromtimestamp(row["event_at"] / 1_000_000, UTC)
    )
