"""Claims as arrays in the order in which they are folded, slot after slot.

A slot is where claims meet. For a single-valued predicate it is the subject, predicate and aspect of one
owner, so that one object stands at a time; for a multi-valued one it is that and the object, whichever
the polarity, so that objects stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from transforms.derived import CLAIM_SOURCES
from transforms.facts.ordering import Bits, Floats, Ints, codes, dense, labels, paired, sort_order
from transforms.predicates import SINGLE_VALUED

FOR_EVER = np.iinfo(np.int64).max
"""Stands for no end, among microseconds since 1970."""
NOTHING = -1
"""Stands for no position, no object."""
INFERRED = CLAIM_SOURCES.index("inferred")
BASE = ("tenant_id", "owner", "subject_key", "predicate", "aspect")
_TIES = ("episode_id", "span_start", "span_end", "claim_id")


@dataclass(frozen=True)
class Slots:
    """Claims in fold order: an array a column, all of one length, but for ``starts`` and ``is_single``.

    Attributes:
        row: Row of the claim in the frame it came from; a retraction of all objects of a multi-valued
            predicate stands once in each slot it meets.
        starts: First position of each slot, and the number of positions at the end.
        is_single: Of each slot, whether its predicate is single-valued.
        slot: Slot of the claim.
        is_retract: Whether it retracts.
        group: Code of its object group; ``NOTHING`` where it names no object.
        key: Code of its object key.
        is_negative: Its polarity.
        rank: Position of its source in ``CLAIM_SOURCES``: a greater one is stronger.
        confidence: 0 to 1.
        event_at: Microseconds since 1970.
        until: End it states, microseconds; ``FOR_EVER`` for none.
        session: Code of its session; of its episode where it has none.
        line: Of inferred assertions, a code of slot, object and polarity; else ``NOTHING``.
        line_count: How many such codes there are.
        previous: Of inferred assertions, position of the one before of the same line and session.
        owner: Of each row of the frame, a number in the order of tenant and owner.
        unit: The same of tenant, owner, subject and predicate.
    """

    row: Ints
    starts: Ints
    is_single: Bits
    slot: Ints
    is_retract: Bits
    group: Ints
    key: Ints
    is_negative: Bits
    rank: Ints
    confidence: Floats
    event_at: Ints
    until: Ints
    session: Ints
    line: Ints
    line_count: int
    previous: Ints
    owner: Ints
    unit: Ints


def slots(claims: pl.DataFrame) -> Slots:
    """Order claims for the fold.

    Inside a slot: by event, then the stronger source first, then as the text of one episode says it
    (a correction stands behind what it corrects), then by id. This is a total order.

    Args:
        claims: ``schemas.CLAIMS`` with ``object_group``, text; not empty.
    """
    parts = [codes(claims[name]) for name in BASE]
    owner = paired(parts[0], parts[1])
    unit = paired(paired(owner, parts[2]), parts[3])
    group, key = labels(claims["object_group"]), labels(claims["object_key"])
    is_named = (claims["object_key"] != "").to_numpy()
    is_retract = (claims["operation"] == "retract").to_numpy()
    is_single = claims["predicate"].is_in(list(SINGLE_VALUED)).to_numpy()
    row, slot = _in_slots(paired(unit, parts[4]), group, is_single, is_retract & ~is_named)
    ranks = {source: rank for rank, source in enumerate(CLAIM_SOURCES)}
    rank = claims["source"].replace_strict(ranks, return_dtype=pl.Int64).to_numpy()
    ties = claims.select(pl.Series("weakness", -rank), *_TIES)
    order = sort_order([slot, _micros(claims, "event_at")[row]], ties, row)
    row, slot = row[order], slot[order]
    starts = np.append(np.flatnonzero(np.diff(slot, prepend=-1)), len(slot))
    ranked = rank[row]
    is_negative = (claims["polarity"] == "negative").to_numpy()[row]
    session = _sessions(claims)[row]
    named = np.where(is_named, group, NOTHING)[row]
    line, line_count = _lines(slot, named, is_negative, (ranked == INFERRED) & ~is_retract[row])
    return Slots(
        row=row,
        starts=starts,
        is_single=is_single[row[starts[:-1]]],
        slot=slot,
        is_retract=is_retract[row],
        group=named,
        key=key[row],
        is_negative=is_negative,
        rank=ranked,
        confidence=claims["confidence"].to_numpy()[row],
        event_at=_micros(claims, "event_at")[row],
        until=_micros(claims, "valid_until")[row],
        session=session,
        line=line,
        line_count=line_count,
        previous=_previous(line, session),
        owner=owner,
        unit=unit,
    )


def _micros(claims: pl.DataFrame, name: str) -> Ints:
    return claims[name].to_physical().fill_null(FOR_EVER).to_numpy()


def _sessions(claims: pl.DataFrame) -> Ints:
    """A number for each session, and for each episode that has none."""
    session = labels(claims["session_id"])
    has_none = session == NOTHING
    if not has_none.any():
        return session
    sessions = session.copy()
    sessions[has_none] = session.max() + 1 + labels(claims["episode_id"].filter(pl.Series(has_none)))
    return sessions


def _in_slots(base: Ints, group: Ints, is_single: Bits, is_for_all: Bits) -> tuple[Ints, Ints]:
    """Row and slot of each claim, those that retract all objects once for each slot they meet."""
    slot = paired(base, np.where(is_single, 0, group + 1))
    rows = np.arange(len(base))
    spread = is_for_all & ~is_single
    if not spread.any():
        return rows, dense(slot)
    met = pl.DataFrame({"base": base[~spread], "slot": slot[~spread]}).unique()
    all_of = pl.DataFrame({"row": rows[spread], "base": base[spread], "own": slot[spread]})
    copies = all_of.join(met, on="base", how="left", maintain_order="left").with_columns(
        pl.coalesce("slot", "own")
    )
    row = np.concatenate([rows[~spread], copies["row"].to_numpy()])
    where = np.concatenate([slot[~spread], copies["slot"].to_numpy()])
    return row, dense(where)


def _lines(slot: Ints, group: Ints, is_negative: Bits, is_wanted: Bits) -> tuple[Ints, int]:
    line = np.full(len(slot), NOTHING)
    held = 2 * (group[is_wanted] - NOTHING) + is_negative[is_wanted]
    made = dense(slot[is_wanted] * (held.max(initial=0) + 1) + held)
    line[is_wanted] = made
    return line, int(made.max(initial=NOTHING)) + 1


def _previous(line: Ints, session: Ints) -> Ints:
    """Position before of the same line and session, ``NOTHING`` for none or where there is no line."""
    previous = np.full(len(line), NOTHING)
    held = np.flatnonzero(line != NOTHING)
    if len(held) == 0:
        return previous
    pairs = line[held] * (session.max() + 1) + session[held]
    order = np.argsort(pairs, kind="stable")
    same = np.diff(pairs[order]) == 0
    previous[held[order[1:][same]]] = held[order[:-1][same]]
    return previous
