"""The decision log: what became of each claim, with the figures behind it and no content."""

from __future__ import annotations

import numpy as np
import polars as pl

from transforms.declarations import INSTANT
from transforms.derived import DECISIONS
from transforms.facts.fold import MERGED, RETRACTED, RULES, WEAKER_SOURCE, Fold
from transforms.facts.ordering import Floats, Ints, head, paired, sort_order
from transforms.facts.rows import Lineage
from transforms.facts.slots import NOTHING, Slots

COLUMNS = [name for name in DECISIONS.names if name not in ("revision", "is_removed")]
_STEPS = 10_000
"""Figures are rounded to this part of 1."""
_NO_INSTANT = np.iinfo(np.int64).min


def decisions(claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage) -> pl.DataFrame:
    """Rows of ``schemas.DECISIONS``, one a claim, but for the columns of revisions.

    Args:
        claims: ``schemas.CLAIMS`` with ``similarity``, null where no vector was compared.
        slots: The same in fold order.
        fold: What became of them.
        held: ``lineage`` of the fold.
    """
    recorded = claims["recorded_at"].to_physical().to_numpy()[slots.row]
    decided = np.maximum(recorded, np.maximum(_at(recorded, fold.result), _at(recorded, fold.other)))
    kept, retired = _one_each(slots, fold, held, claims.height)
    order = sort_order([slots.owner, head(claims["claim_id"])], claims.select("claim_id"))
    kept = kept[order]
    rules = pl.DataFrame(RULES, schema=["operation", "reason"], orient="row")
    made = claims.select("tenant_id", "tenant_bucket", "owner", "user_id", "agent_id", item_id="claim_id")
    return (
        made[order]
        .with_columns(
            rules[fold.rule[kept]],
            item_kind=pl.lit("claim"),
            result_id=held.ids(fold.result[kept]),
            other_id=held.ids(fold.other[kept]),
            evidence=_evidence(claims, slots, fold, held, kept, None if retired is None else retired[order]),
            decided_at=pl.Series(decided[kept]).cast(INSTANT),
        )
        .select(pl.col(name).cast(DECISIONS.polars[name]) for name in COLUMNS)
    )


def _at(values: Ints, position: Ints) -> Ints:
    """Value at each position, the smallest number where there is none."""
    return np.where(position == NOTHING, _NO_INSTANT, values[position])


def _one_each(slots: Slots, fold: Fold, held: Lineage, claims: int) -> tuple[Ints, Ints | None]:
    """Of each claim its position, and how many facts it retired where claims met several slots."""
    at = np.arange(len(slots.row))
    if len(at) == claims:
        kept = np.empty_like(at)
        kept[slots.row] = at
        return kept, None
    merit = np.select([fold.rule == RETRACTED, fold.rule == WEAKER_SOURCE], [0, 1], 2)
    names = {"result": held.ids(fold.result), "other": held.ids(fold.other)}
    copies = pl.DataFrame({"row": slots.row, "merit": merit, **names, "at": at})
    one = copies.sort("row", "merit", "result", "other", "at").group_by("row", maintain_order=True)
    best = one.agg(pl.col("at").first(), retired=(pl.col("merit") == 0).sum())
    return best["at"].to_numpy(), best["retired"].to_numpy()


def _evidence(
    claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage, kept: Ints, retired: Ints | None
) -> pl.Series:
    """JSON of the figures that a decision had: one without a figure does not name it."""
    sessions = fold.waiting.copy()
    sessions[held.at] = held.sessions
    similarity = claims["similarity"].to_numpy()[slots.row[kept]]
    figures = [
        _steps(slots.confidence[kept]),
        sessions[kept],
        _steps(np.where(fold.rule[kept] == MERGED, similarity, np.nan)),
        _steps(fold.standing[kept]),
        np.zeros(len(kept), np.int64) if retired is None else retired,
    ]
    alike = np.zeros(len(kept), np.int64)
    for figure in figures:
        alike = paired(alike, figure)
    firsts = np.zeros(alike.max(initial=NOTHING) + 1, np.int64)
    firsts[alike] = np.arange(len(kept))
    shown = [_shown(*row) for row in np.column_stack(figures)[firsts].tolist()]
    return pl.Series(shown, dtype=pl.String).gather(pl.Series(alike))


def _steps(values: Floats) -> Ints:
    """Shares in steps from 1 on, 0 for NaN: there are few, so that each set of figures is written once."""
    steps: Ints = np.where(np.isnan(values), 0, np.rint(np.nan_to_num(values) * _STEPS) + 1).astype(np.int64)
    return steps


def _shown(confidence: int, sessions: int, similarity: int, standing: int, retired: int) -> str:
    parts = [f'"confidence": {(confidence - 1) / _STEPS}']
    parts += [f'"sessions": {sessions}'] if sessions else []
    parts += [f'"similarity": {(similarity - 1) / _STEPS}'] if similarity else []
    parts += [f'"standing_confidence": {(standing - 1) / _STEPS}'] if standing else []
    parts += [f'"retired": {retired}'] if retired > 1 else []
    return "{" + ", ".join(parts) + "}"
