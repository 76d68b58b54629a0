"""The fold of claims into facts: what becomes of each claim, slot by slot, all slots at once.

The i-th claims of all slots are one step, so a step is a few array operations however many slots there
are, and each claim is touched once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transforms.facts.ordering import Bits, Floats, Ints
from transforms.facts.slots import FOR_EVER, INFERRED, NOTHING, Slots

RULES = (
    ("ADD", "new"),
    ("NOOP", "confirmed"),
    ("NOOP", "merged"),
    ("NOOP", "weaker_confirmation"),
    ("NOOP", "supports"),
    ("NOOP", "awaits_support"),
    ("NOOP", "weaker_source"),
    ("NOOP", "less_confident"),
    ("NOOP", "negates_nothing"),
    ("NOOP", "nothing_to_retract"),
    ("UPDATE", "superseded"),
    ("UPDATE", "confirmed_by_stronger"),
    ("DELETE", "negated"),
    ("DELETE", "retracted"),
)
"""Every operation with its reason; a decision is a position in this list."""
REASONS = tuple(reason for _, reason in RULES)
(
    NEW, CONFIRMED, MERGED, WEAKER_CONFIRMATION, SUPPORTS, AWAITS_SUPPORT, WEAKER_SOURCE, LESS_CONFIDENT,
    NEGATES_NOTHING, NOTHING_TO_RETRACT, SUPERSEDED, CONFIRMED_BY_STRONGER, NEGATED, RETRACTED,
) = range(len(RULES))  # fmt: skip


@dataclass(frozen=True)
class Fold:
    """What became of claims, by position; a fact is named by the position of the claim that opened it.

    Attributes:
        rule: Decision, a position in ``RULES``.
        result: Fact it ended in; of a deletion the fact deleted; else ``NOTHING``.
        other: Fact that it superseded, or that stood against it; else ``NOTHING``.
        rests: Fact whose lineage it is of; else ``NOTHING``.
        standing: Best confidence of ``other``, NaN for none.
        waiting: Sessions that said so while it waited; 0 where it did not.
        closed_by: Of a fact, position of the claim that superseded or deleted it, else ``NOTHING``.
        stated: Of a fact, the end that its claims state, microseconds; ``FOR_EVER`` for none.
        window: Of a claim that others waited for, first position they may stand at.
    """

    rule: Ints
    result: Ints
    other: Ints
    rests: Ints
    standing: Floats
    waiting: Ints
    closed_by: Ints
    stated: Ints
    window: Ints


class _State:
    """What stands in each slot, longest slots first."""

    def __init__(self, starts: Ints) -> None:
        count = len(starts)
        self.fact = np.full(count, NOTHING)
        self.group = np.full(count, NOTHING)
        self.key = np.full(count, NOTHING)
        self.is_negative = np.zeros(count, np.bool_)
        self.rank = np.zeros(count, np.int64)
        self.best = np.zeros(count, np.float32)
        self.until = np.full(count, FOR_EVER)
        self.since = starts.copy()
        """First position after the last change: what waits is counted from here."""


class _Waiting:
    """Inferred claims that wait, of each line."""

    def __init__(self, count: int) -> None:
        self.last = np.full(count, NOTHING)
        self.sessions = np.zeros(count, np.int64)
        self.best = np.zeros(count, np.float32)


def fold(slots: Slots, min_sessions: int) -> Fold:
    """Decide on every claim.

    Args:
        slots: Claims in fold order.
        min_sessions: Sessions an inferred claim needs.
    """
    count = len(slots.row)
    held = [np.full(count, NOTHING) for _ in range(6)]
    rule, result, other, rests, closed_by, window = held
    done = Fold(
        rule=rule,
        result=result,
        other=other,
        rests=rests,
        standing=np.full(count, np.nan, np.float32),
        waiting=np.zeros(count, np.int64),
        closed_by=closed_by,
        stated=np.full(count, FOR_EVER),
        window=window,
    )
    lengths = np.diff(slots.starts)
    longest_first = np.argsort(-lengths, kind="stable")
    starts, is_single = slots.starts[:-1][longest_first], slots.is_single[longest_first]
    state, waiting = _State(starts), _Waiting(slots.line_count)
    active = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max(initial=0)), side="left")
    for step, width in enumerate(active):
        _step(slots, done, state, waiting, starts[:width] + step, is_single[:width], min_sessions)
    _join_supports(slots, done)
    return done


def _step(
    slots: Slots, done: Fold, state: _State, waiting: _Waiting, at: Ints, is_single: Bits, min_sessions: int
) -> None:
    """Decide on one claim of each of the first slots, at positions ``at``."""
    width = len(at)
    fact, since = state.fact[:width], state.since[:width]
    is_over = (fact != NOTHING) & (state.until[:width] <= slots.event_at[at])
    fact[is_over], since[is_over] = NOTHING, at[is_over]
    rule, strength = _rules(slots, state, waiting, done, at, is_single, min_sessions)
    is_held = (rule == CONFIRMED) | (rule == MERGED)
    is_closed = (rule == NEGATED) | (rule == RETRACTED)
    is_opened = (rule == NEW) | (rule == SUPERSEDED) | (rule == CONFIRMED_BY_STRONGER)
    is_against = (rule == WEAKER_SOURCE) | (rule == LESS_CONFIDENT) | (is_opened & (rule != NEW))
    is_ended = is_closed | (is_opened & (rule != NEW))
    ended = np.where(is_held | is_closed | (rule == WEAKER_CONFIRMATION), fact, NOTHING)
    done.rule[at] = rule
    done.result[at] = np.where(is_opened, at, ended)
    done.other[at] = np.where(is_against, fact, NOTHING)
    done.standing[at] = np.where(is_against | is_closed, state.best[:width], np.nan)
    done.rests[at] = np.where(is_opened, at, np.where(is_held, fact, NOTHING))
    done.window[at] = since
    done.closed_by[fact[is_ended]] = at[is_ended]
    best, until = state.best[:width], state.until[:width]
    best[is_held] = np.maximum(best, strength)[is_held]
    says_end = is_held & (slots.until[at] != FOR_EVER)
    until[says_end] = slots.until[at[says_end]]
    fact[is_closed] = NOTHING
    moved = is_opened | is_closed | slots.is_retract[at]
    since[moved] = at[moved] + 1
    _open(slots, state, at, is_opened, strength)
    done.stated[fact[is_held | is_opened]] = until[is_held | is_opened]


def _open(slots: Slots, state: _State, at: Ints, is_opened: Bits, strength: Floats) -> None:
    """Let the claims at these positions stand in their slots."""
    where, by = np.flatnonzero(is_opened), at[is_opened]
    state.fact[where] = by
    state.group[where] = slots.group[by]
    state.key[where] = slots.key[by]
    state.is_negative[where] = slots.is_negative[by]
    state.rank[where] = slots.rank[by]
    state.best[where] = strength[where]
    state.until[where] = slots.until[by]


def _rules(
    slots: Slots, state: _State, waiting: _Waiting, done: Fold, at: Ints, is_single: Bits, min_sessions: int
) -> tuple[Ints, Floats]:
    """Decision on each claim, and its confidence: the best of those that waited, where some did."""
    width = len(at)
    group, is_negative, rank = slots.group[at], slots.is_negative[at], slots.rank[at]
    is_live = state.fact[:width] != NOTHING
    is_named = is_live & (group == state.group[:width])
    is_stronger, is_weaker = rank > state.rank[:width], is_live & (rank < state.rank[:width])
    is_retract = slots.is_retract[at]
    is_denial = ~is_retract & is_single & is_negative
    is_same = ~is_retract & ~is_denial & is_named & (is_negative == state.is_negative[:width])
    rule = np.full(width, NEW)
    rule[is_live] = SUPERSEDED
    rule[is_denial] = np.where(is_named, NEGATED, NEGATES_NOTHING)[is_denial]
    strength = slots.confidence[at].copy()
    is_tried = ~is_retract & ~is_same & (rule != NEGATES_NOTHING)
    is_counted = is_tried & ~is_weaker & (rank == INFERRED)
    waits = _wait(slots, state, waiting, done, at, is_counted, strength, min_sessions)
    is_rival = is_live & (rank == state.rank[:width])
    rule[is_tried & is_rival & (strength < state.best[:width])] = LESS_CONFIDENT
    rule[waits] = AWAITS_SUPPORT
    rule[is_tried & is_weaker] = WEAKER_SOURCE
    is_merged = slots.key[at] != state.key[:width]
    repeated = np.where(is_merged, MERGED, CONFIRMED)
    repeated[is_stronger], repeated[is_weaker] = CONFIRMED_BY_STRONGER, WEAKER_CONFIRMATION
    rule[is_same] = repeated[is_same]
    is_hit = is_named | (is_live & (group == NOTHING))
    taken = np.where(is_hit, np.where(is_weaker, WEAKER_SOURCE, RETRACTED), NOTHING_TO_RETRACT)
    rule[is_retract] = taken[is_retract]
    return rule, strength


def _wait(
    slots: Slots,
    state: _State,
    waiting: _Waiting,
    done: Fold,
    at: Ints,
    is_wanted: Bits,
    strength: Floats,
    min_sessions: int,
) -> Ints:
    """Count the inferred claims in; the slots where they are too few. ``strength`` takes the best of them."""
    where = np.flatnonzero(is_wanted)
    by, since = at[where], state.since[where]
    line = slots.line[by]
    is_begun = waiting.last[line] >= since
    sessions = np.where(is_begun, waiting.sessions[line], 0) + (slots.previous[by] < since)
    best = np.where(is_begun, np.maximum(waiting.best[line], strength[where]), strength[where])
    waiting.last[line], waiting.sessions[line], waiting.best[line] = by, sessions, best
    strength[where] = best
    done.waiting[by] = sessions
    return where[sessions < min_sessions]


def _join_supports(slots: Slots, done: Fold) -> None:
    """Claims that waited join the first decision that their line then led to."""
    led = (done.rule == NEW) | (done.rule == SUPERSEDED) | (done.rule == NEGATED)
    leaders = np.flatnonzero(led & (slots.line != NOTHING))
    waited = np.flatnonzero((done.waiting > 0) & ~led)
    if len(leaders) == 0 or len(waited) == 0:
        return
    count = len(slots.row)
    places = slots.line[leaders] * count + leaders
    order = np.argsort(places)
    found = np.searchsorted(places[order], slots.line[waited] * count + waited)
    is_found = found < len(order)
    waited, leader = waited[is_found], leaders[order[found[is_found]]]
    joins = (slots.line[leader] == slots.line[waited]) & (done.window[leader] <= waited)
    waited, leader = waited[joins], leader[joins]
    done.rule[waited] = SUPPORTS
    done.result[waited] = done.result[leader]
    done.rests[waited] = done.rests[leader]
    done.other[waited], done.standing[waited] = NOTHING, np.nan
