"""From the rows of a search's sources to its answer: masks, relevance, factors, order, repeats, payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lake.candidates import Candidates, Floats, Pool, Ranked
from lake.online.asked import Asked
from lake.online.contested import contested
from lake.online.digested import behind_turns
from lake.online.refused import refused, served
from lake.online.reranking import reordered
from lake.online.views import Source, View
from transforms import scoring
from transforms.diversity import diversified
from transforms.factors import BLIND_ROUTES
from transforms.relevance import Relevance, question, relevance
from transforms.route_effects import Effect, effect
from transforms.scope_columns import KINDS, OUTCOME_CODES, TIERS, Positions, ScopeColumns, united

_AWAY = -1.0
"""Relevance of a row that is left out."""


@dataclass(frozen=True)
class _Part:
    """What is served of one source: which rows, their columns, and the relevance of all of its rows."""

    number: int
    kept: Positions
    columns: ScopeColumns
    found: Relevance


@dataclass(frozen=True)
class _Gathered:
    """Served rows of all sources.

    Attributes:
        columns: Sorted, each memory once.
        source: Number of the source of each row.
        place: Its position there.
        relevance: Of each row, like ``cosine`` and ``words`` (``transforms.relevance.Relevance``).
    """

    columns: ScopeColumns
    source: NDArray[np.int64]
    place: Positions
    relevance: Floats
    cosine: Floats
    words: Floats


def ranked(asked: Asked, sources: Sequence[Source]) -> Ranked:
    """Rank the rows of sources, and read what is shown of the best.

    Args:
        asked: The search.
        sources: The published ones before the fresh ones: of a memory that lies in two, the first wins.

    Raises:
        Gone: The index went away meanwhile.
    """
    gathered = _gathered(asked, sources)
    if gathered is None:
        return _nothing(asked)
    cosine, words = gathered.cosine, gathered.words
    payloads = partial(_rows, gathered, sources)
    routed = _routed(asked, gathered.columns)
    away = np.zeros(len(cosine), np.bool_) if routed.kept is None else ~routed.kept
    ranks = np.where(away, _AWAY, gathered.relevance)
    ranks, reranked = reordered(asked, ranks, payloads)
    routed = contested(asked, gathered.columns, ranks, routed, payloads)
    ranks = np.where(away, _AWAY, routed.on(ranks))
    is_about = _answers(gathered.columns.is_derived, ranks, asked)
    routed, ranks = behind_turns(asked, gathered.columns, routed, ranks, payloads)
    while True:
        pool = _pool(asked, gathered, ranks, away, routed, is_about, {"cosine": cosine, "words": words})
        wanted = pool.order if asked.limit is None else pool.kept()[: asked.limit]
        rows = _rows(gathered, sources, pool.positions[wanted])
        bad = [
            int(p)
            for p, row in zip(pool.positions[wanted], rows, strict=True)
            if not asked.filters.serves(row)
        ]
        if not bad:
            done = _answer(asked, gathered, pool, wanted, rows, cosine, words)
            routes = routed.told(pool.positions[wanted])
            waived = routed.is_waived
            return replace(done, reranked=reranked, route=asked.route, routes=routes, is_waived=waived)
        away[bad] = True  # by a tombstone of that memory, or of what it rests on


def _gathered(asked: Asked, sources: Sequence[Source]) -> _Gathered | None:
    """Served rows of the sources, each with its relevance among the rows of its own source."""
    wanted = question(asked.text, asked.vector)
    parts: list[_Part] = []
    for number, source in enumerate(sources):
        mask = served(source.columns, asked.filters)
        mask &= ~_refused(asked, source)
        if not mask.any():
            continue
        found = relevance(
            wanted, source.columns, asked.policy.recall, prepared=source.prepared, usual=source.usual
        )
        parts.append(_Part(number, np.flatnonzero(mask), source.columns.where(mask), found))
    if not parts:
        return None
    columns, order = united([part.columns for part in parts])
    return _Gathered(
        columns,
        *(
            np.concatenate([values(part) for part in parts])[order]
            for values in (
                lambda part: np.full(len(part.kept), part.number),
                lambda part: part.kept,
                lambda part: part.found.relevance[part.kept],
                lambda part: part.found.cosine[part.kept],
                lambda part: part.found.words[part.kept],
            )
        ),
    )


def _refused(asked: Asked, source: Source) -> NDArray[np.bool_]:
    """Rows whose owners are not to be served; fresh ones were left out when they were read."""
    tombstones = asked.filters.tombstones
    if not tombstones or not isinstance(source, View):
        return np.zeros(len(source.columns), np.bool_)
    held = source.refused.get("tombstones")
    if held is None or held[0] is not tombstones:
        held = tombstones, refused(source.columns, source.scope.tenant, tombstones)
        source.refused["tombstones"] = held
    mask: NDArray[np.bool_] = held[1]
    return mask


def _routed(asked: Asked, columns: ScopeColumns) -> Effect:
    """What the search's route does to the rows."""
    if asked.route is None:
        return Effect()
    return effect(asked.route, columns, asked.policy.routing, asked.filters.now_us)


def _pool(
    asked: Asked,
    gathered: _Gathered,
    relevance: Floats,
    away: NDArray[np.bool_],
    routed: Effect,
    is_about: NDArray[np.bool_],
    measures: Mapping[str, Floats],
) -> Pool:
    """The most relevant rows with every factor, best first, and which of them repeat a better one."""
    columns, policy = gathered.columns, asked.policy
    relevance = np.where(away, _AWAY, relevance)
    key = np.where(away, -np.inf, columns.event_us) if routed.is_newest_first else relevance
    positions = _best(key, columns, min(asked.count, len(columns) - int(away.sum())))
    mine = _inputs(columns, relevance, positions)
    as_of = asked.filters.as_of
    asks = asked.route is None or asked.route.kind not in BLIND_ROUTES
    scores = scoring.score_columns(mine, policy=policy, as_of=as_of, weights=asked.weights, is_about=asks)
    ids = columns.ids[positions]
    events = columns.event_us[positions]
    if routed.is_newest_first:
        first = _first_shown(routed, scores["importance_factor"], events, asked.limit)
        order = np.lexsort((ids, -events, ~first))
    else:
        order = scoring.rank_positions(scores["score"], events, ids)
        order = order[is_about[positions][order]]
    sorted_positions = positions[order]
    vectors = columns.vectors.at(sorted_positions)
    vectors[columns.is_digest[sorted_positions]] = 0  # a summary repeats what it cites
    if not routed.is_newest_first:
        places = _varied(asked, scores["score"][order], vectors)
        order, sorted_positions, vectors = order[places], sorted_positions[places], vectors[places]
    hashes = [code or None for code in columns.content[sorted_positions].tolist()]
    originals = scoring.originals(
        hashes, vectors, threshold=policy.recall.duplicate_cosine, limit=asked.limit
    )
    near = scoring.closeness(mine["relevance"], policy.recall.closeness_power if asks else 0.0)
    mine |= {"event_us": events, "closeness": near}
    mine |= {name: values[positions] for name, values in measures.items()}
    return Pool(positions, ids, scores, order, originals, mine)


def _inputs(columns: ScopeColumns, relevance: Floats, positions: Positions) -> dict[str, Any]:
    """What the factors of some rows are made of (``scoring.score_columns``)."""
    return {
        "relevance": relevance[positions],
        "importance": columns.importance[positions].astype(np.float64),
        "access_count": columns.access_count[positions].astype(np.float64),
        "seen_us": columns.seen_us[positions],
        "kind": [KINDS[code] for code in columns.kind[positions].tolist()],
        "tier": [TIERS[code] for code in columns.tier[positions].tolist()],
        "outcome": [OUTCOME_CODES[code] for code in columns.outcome[positions].tolist()],
    }


def _first_shown(
    routed: Effect, importance: Floats, events: Positions, limit: int | None
) -> NDArray[np.bool_]:
    """Of a window of time with more rows than are wanted, those that matter most: not the last thanks."""
    first = np.ones(len(events), np.bool_)
    if routed.kept is not None and limit is not None and len(events) > limit:
        first[np.lexsort((-events, -importance))[limit:]] = False
    return first


def _varied(asked: Asked, scores: Floats, vectors: NDArray[np.float32]) -> Positions:
    """Places of rows, the first as many as are asked for being no more alike than they must."""
    recall = asked.policy.recall
    share, cosine = recall.diversity_share, recall.duplicate_cosine
    return diversified(scores, vectors, share=share, count=asked.limit, cosine=cosine)


def _best(relevance: Floats, columns: ScopeColumns, count: int) -> Positions:
    """Positions of the most relevant rows; of equal ones the newer, then by id. Ascending."""
    if count >= len(relevance):
        return np.arange(len(relevance))
    if count == 0:  # every one turned out to be refused
        return np.zeros(0, np.int64)
    cut = np.partition(relevance, len(relevance) - count)[len(relevance) - count]
    above = np.flatnonzero(relevance > cut)
    ties = np.flatnonzero(relevance == cut)
    if len(above) + len(ties) > count:
        order = np.lexsort((columns.ids[ties], -columns.event_us[ties]))
        ties = ties[order[: count - len(above)]]
    return np.sort(np.concatenate([above, ties]))


def _answers(is_derived: NDArray[np.bool_], relevance: Floats, asked: Asked) -> NDArray[np.bool_]:
    """Which rows are about the query.

    A fact keeps its recency and a skill its bonus for good, so one that has nothing to do with the query
    would rank above an old episode that answers it. Episodes are all let through: they fade.
    """
    least = asked.policy.recall.derived_floor_ratio * relevance.max(initial=0.0)
    mask: NDArray[np.bool_] = ~is_derived | (relevance >= least)
    return mask


def _rows(gathered: _Gathered, sources: Sequence[Source], positions: Positions) -> list[dict[str, Any]]:
    """Payload of rows, from the source of each."""
    found: list[dict[str, Any]] = [{}] * len(positions)
    owner, place = gathered.source[positions], gathered.place[positions]
    for number in np.unique(owner).tolist():
        mine = np.flatnonzero(owner == number)
        for at, row in zip(mine.tolist(), sources[number].rows(place[mine]), strict=True):
            found[at] = row
    return found


def _answer(
    asked: Asked,
    gathered: _Gathered,
    pool: Pool,
    wanted: Positions,
    rows: list[dict[str, Any]],
    cosine: Floats,
    words: Floats,
) -> Ranked:
    """The rows that were read, best first, beside all that were scored."""
    positions = pool.positions[wanted]
    found = Candidates(
        rows,
        gathered.columns.vectors.at(positions),
        cosine[positions].astype(np.float64),
        words[positions],
        gathered.columns.is_fresh[positions],
    )
    scores = {name: values[wanted] for name, values in pool.scores.items()}
    count = len(wanted)
    originals = np.arange(count) if asked.limit is not None else pool.originals
    return Ranked(found, scores, np.arange(count), originals, pool)


def _nothing(asked: Asked) -> Ranked:
    none, order = np.zeros(0), np.zeros(0, np.int64)
    found = Candidates([], np.zeros((0, len(asked.vector)), np.float32), none, none, np.zeros(0, np.bool_))
    scores = dict.fromkeys((*scoring.FACTORS, "score"), none)
    pool = Pool(order, np.zeros(0, "S32"), scores, order, order)
    return Ranked(found, scores, order, order, pool, route=asked.route)
