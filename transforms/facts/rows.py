"""Rows of facts from the fold: what each fact rests on, counted and shown at its best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from transforms import ids
from transforms.declarations import INSTANT, SENSITIVITIES, TEXTS
from transforms.derived import CLAIM_SOURCES, FACTS
from transforms.facts.fold import CONFIRMED_BY_STRONGER, NEGATED, NEW, RETRACTED, RULES, SUPERSEDED, Fold
from transforms.facts.ordering import Ints, labels, sort_order
from transforms.facts.slots import FOR_EVER, NOTHING, Slots
from transforms.policy import Policy
from transforms.predicates import PREDICATES

COLUMNS = [name for name in FACTS.names if name not in ("revision", "is_removed")]
_OPENING = ("tenant_id", "tenant_bucket", "owner", "user_id", "subject_key", "predicate", "aspect")
_SHOWN = ("fact", "subject", "object", "object_key", "span_start", "span_end")
_TOOL = CLAIM_SOURCES.index("tool_result")


@dataclass(frozen=True)
class Lineage:
    """Facts in the order of their table, and the claims they rest on: fact after fact, in fold order.

    Attributes:
        fact_id: Id of each fact.
        opened: Of each fact, position of the claim that opened it.
        place: Of each position, the fact that it opened, a row of ``opened``; else ``NOTHING``.
        at: Position of each claim.
        fact: Fact of each claim, a row of ``opened``.
        starts: First claim of each fact in ``at``.
        sessions: Of each claim, sessions of its fact up to it.
    """

    fact_id: pl.Series
    opened: Ints
    place: Ints
    at: Ints
    fact: Ints
    starts: Ints
    sessions: Ints

    def last(self) -> Ints:
        """Place in ``at`` of each fact's last claim."""
        return np.append(self.starts[1:], len(self.at)) - 1

    def ids(self, positions: Ints) -> pl.Series:
        """Ids of facts that are named by the position of the claim that opened them; null for none."""
        return self.fact_id.gather(_or_null(np.where(positions == NOTHING, NOTHING, self.place[positions])))


def lineage(claims: pl.DataFrame, slots: Slots, fold: Fold) -> Lineage:
    """Name the facts and gather the claims of each."""
    held = np.flatnonzero(fold.rests != NOTHING)
    opened = held[fold.rests[held] == held]
    row = slots.row[opened]
    named = ids.row_ids(claims.select("tenant_id", "claim_id")[row], "tenant_id", "claim_id")
    numbers = [slots.unit[row], _micros(claims, "valid_from")[row]]
    order = sort_order(numbers, named.to_frame("fact_id"))
    opened = opened[order]
    place = np.full(len(fold.rests), NOTHING)
    place[opened] = np.arange(len(opened))
    fact = place[fold.rests[held]]
    by_fact = np.argsort(fact, kind="stable")
    at, fact = held[by_fact], fact[by_fact]
    starts = np.flatnonzero(np.diff(fact, prepend=NOTHING))
    sessions = _running_sessions(fact, starts, slots.session[at])
    return Lineage(named.gather(order), opened, place, at, fact, starts, sessions)


def _running_sessions(fact: Ints, starts: Ints, session: Ints) -> Ints:
    """Distinct sessions of each fact up to each claim."""
    is_new = np.zeros(len(fact), np.bool_)
    is_new[starts] = True
    several = np.flatnonzero(~is_new | np.append(~is_new[1:], False))
    pairs = fact[several] * (session.max(initial=0) + 1) + session[several]
    is_new[several] = False
    is_new[several[np.unique(pairs, return_index=True)[1]]] = True
    running = np.cumsum(is_new)
    return running - (running[starts] - 1)[fact]


def facts(claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage, policy: Policy) -> pl.DataFrame:
    """Rows of ``schemas.FACTS``, but for the columns of revisions.

    Args:
        claims: ``schemas.CLAIMS``.
        slots: The same in fold order.
        fold: What became of them.
        held: ``lineage`` of the fold.
        policy: Sections facts and claims.
    """
    if len(held.opened) == 0:
        return FACTS.empty().select(COLUMNS)
    opened = slots.row[held.opened]
    opening = claims.select(*_OPENING, "polarity", "recorded_at")[opened]
    shown = claims.select(*_SHOWN, span_episode_id="episode_id")[
        slots.row[held.at[_best(claims, slots, held)]]
    ]
    made = opening.with_columns(
        shown,
        fact_id=held.fact_id,
        kind=pl.col("predicate").replace_strict(
            {p.name: p.kind for p in PREDICATES}, default="fact", return_dtype=pl.String
        ),
        support=np.diff(np.append(held.starts, len(held.at))),
        is_pinned=pl.lit(False),
        retention_tier=pl.lit(policy.facts.retention_tier),
        **_confidence(slots, held, policy),
        **_privacy(claims, slots, held),
        **_sources(claims, slots, held),
        **_times(claims, slots, fold, held),
        **_links(fold, held),
    )
    return made.select(pl.col(name).cast(FACTS.polars[name]) for name in COLUMNS)


def _micros(claims: pl.DataFrame, name: str) -> Ints:
    return claims[name].to_physical().to_numpy()


def _best(claims: pl.DataFrame, slots: Slots, held: Lineage) -> Ints:
    """Place in ``held.at`` of the phrasing to show: most confident, then longest object, then latest."""
    best = held.starts.copy()
    several = np.flatnonzero((held.starts != held.last())[held.fact])
    at = held.at[several]
    length = claims["object"].gather(slots.row[at]).str.len_chars().to_numpy()
    order = several[np.lexsort((at, length, slots.confidence[at], held.fact[several]))]
    # Of each fact the last in this order: written last, it stays.
    best[held.fact[order]] = order
    return best


def _confidence(slots: Slots, held: Lineage, policy: Policy) -> dict[str, pl.Series]:
    """Confidence, source and session_count of each fact."""
    given = slots.confidence[held.at].astype(np.float64)
    best, least = np.maximum.reduceat(given, held.starts), np.minimum.reduceat(given, held.starts)
    sessions = held.sessions[held.last()]
    raised = 1 - (1 - best) * (1 - policy.facts.confirm_gain) ** (sessions - 1)
    rank = slots.rank[held.opened]
    is_consolidated = (rank == _TOOL) & (sessions >= policy.facts.min_sessions)
    cap = np.where(rank == _TOOL, policy.claims.max_tool_confidence, 1.0)
    rank = np.where(is_consolidated, CLAIM_SOURCES.index("consolidated"), rank)
    return {
        "confidence": pl.Series(np.minimum(np.where(is_consolidated, least, raised), cap)),
        "source": pl.Series(CLAIM_SOURCES, dtype=pl.String).gather(rank),
        "session_count": pl.Series(sessions),
    }


def _privacy(claims: pl.DataFrame, slots: Slots, held: Lineage) -> dict[str, pl.Series]:
    """Importance, trust, sensitivity, expiry and agent of each fact, by all it rests on."""
    row = slots.row[held.at]
    levels = claims["sensitivity"].cast(pl.Enum(SENSITIVITIES)).to_physical()
    due = claims["expires_at"].to_physical().fill_null(FOR_EVER).to_numpy()[row]
    agents = labels(claims["agent_id"])[row]
    is_common = np.minimum.reduceat(agents, held.starts) == np.maximum.reduceat(agents, held.starts)
    agent_id = claims["agent_id"].gather(slots.row[held.opened])
    return {
        "importance": pl.Series(np.maximum.reduceat(claims["importance"].to_numpy()[row], held.starts)),
        "trust": pl.Series(np.minimum.reduceat(claims["trust"].to_numpy()[row], held.starts)),
        "sensitivity": pl.Series(SENSITIVITIES, dtype=pl.String).gather(
            np.maximum.reduceat(levels.to_numpy()[row], held.starts)
        ),
        "expires_at": _instants(np.maximum.reduceat(due, held.starts)),
        "agent_id": pl.select(pl.when(pl.lit(pl.Series(is_common))).then(pl.lit(agent_id))).to_series(),
    }


def _instants(micros: Ints) -> pl.Series:
    """Instants, null where there is no end."""
    series = pl.Series(micros)
    return series.set(series == FOR_EVER, None).cast(INSTANT)


def _sources(claims: pl.DataFrame, slots: Slots, held: Lineage) -> dict[str, pl.Series]:
    """Episodes, sorted, and claims, by event, that each fact rests on."""
    row = slots.row[held.at]
    episodes = pl.DataFrame({"fact": held.fact, "id": claims["episode_id"].gather(row)})
    is_alone = (np.diff(np.append(held.starts, len(row))) == 1)[held.fact]
    several = episodes.filter(~is_alone).unique().sort("fact", "id")
    # Both parts are sorted by fact and share none.
    merged = episodes.filter(is_alone).merge_sorted(several, "fact")
    starts = np.searchsorted(merged["fact"].to_numpy(), np.arange(len(held.opened)))
    return {
        "claim_ids": _lists(claims["claim_id"].gather(row), held.starts),
        "source_refs": _lists(merged["id"], starts),
    }


def _lists(texts: pl.Series, starts: Ints) -> pl.Series:
    """Texts in lists that begin at ``starts``."""
    offsets = pa.array(np.append(starts, len(texts)), pa.int64())
    # Views of the texts, so that no text is copied.
    views = texts.to_arrow(compat_level=pl.CompatLevel.newest())
    return pl.Series(pa.LargeListArray.from_arrays(offsets, views), dtype=TEXTS)


def _times(claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage) -> dict[str, pl.Series]:
    """When each fact holds, was mentioned, and was retired.

    A fact ends where what came after it in its slot begins, not only where its successor does, and
    never before it began: so of one slot no two facts hold at one instant, however late or early what
    they rest on was said, became known or took effect.
    """
    valid, recorded = (_micros(claims, name)[slots.row] for name in ("valid_from", "recorded_at"))
    next_valid, next_recorded = _next(slots, fold, held, valid), _next(slots, fold, held, recorded)
    begins, known, stated = valid[held.opened], recorded[held.opened], fold.stated[held.opened]
    ends = np.maximum(begins, np.minimum(stated, next_valid))
    learned = np.maximum(np.maximum(known, ends), np.minimum(stated, next_recorded))
    is_retired = fold.closed_by[held.opened] != NOTHING
    return {
        "valid_from": _instants(begins),
        "valid_until": _instants(ends),
        "first_mentioned_at": _instants(slots.event_at[held.at[held.starts]]),
        "last_confirmed_at": _instants(slots.event_at[held.at[held.last()]]),
        "retired_at": _instants(np.where(is_retired, learned, FOR_EVER)),
    }


def _next(slots: Slots, fold: Fold, held: Lineage, instants: Ints) -> Ints:
    """Of each fact, the earliest instant of what opened or closed a fact of its slot after it."""
    is_decisive = np.zeros(len(RULES), np.bool_)
    is_decisive[[NEW, SUPERSEDED, CONFIRMED_BY_STRONGER, NEGATED, RETRACTED]] = True
    at = np.flatnonzero(is_decisive[fold.rule])
    least = instants[at].copy()
    slot = slots.slot[at]
    reach = 1
    # Doubling: after each round an entry is the least of twice as many from itself on.
    while reach < len(at) and (same := slot[:-reach] == slot[reach:]).any():
        least[:-reach] = np.where(same, np.minimum(least[:-reach], least[reach:]), least[:-reach])
        reach *= 2
    place = np.searchsorted(at, held.opened) + 1
    padded = np.append(least, FOR_EVER)
    has_next = np.append(slot, NOTHING)[place] == slots.slot[held.opened]
    return np.where(has_next, padded[place], FOR_EVER)


def _links(fold: Fold, held: Lineage) -> dict[str, pl.Series]:
    """Which fact each replaced and was replaced by, and why it was retired."""
    closer = fold.closed_by[held.opened]
    by_rule = np.where(closer == NOTHING, NOTHING, fold.rule[closer])
    is_replaced = (by_rule == SUPERSEDED) | (by_rule == CONFIRMED_BY_STRONGER)
    reason = np.select([is_replaced, by_rule == RETRACTED, by_rule == NEGATED], [0, 1, 2], NOTHING)
    reasons = pl.Series(["superseded", "retracted", "negated"], dtype=pl.String)
    return {
        "supersedes": held.ids(fold.other[held.opened]),
        "superseded_by": held.ids(np.where(is_replaced, closer, NOTHING)),
        "retired_reason": reasons.gather(_or_null(reason)),
    }


def _or_null(places: Ints) -> pl.Series:
    series = pl.Series(places, dtype=pl.Int64)
    return series.set(series == NOTHING, None)
