"""The decision log: what became of each claim, with the figures behind it and no content."""

from __future__ import annotations

import numpy as np
import polars as pl

from transforms.declarations import INSTANT
from transforms.derived import DECISIONS
from transforms.facts.fold import MERGED, RETRACTED, RULES, WEAKER_SOURCE, Fold
from transforms.facts.rows import Lineage, named
from transforms.facts.slots import NOTHING, Floats, Ints, Slots

COLUMNS = [name for name in DECISIONS.names if name not in ("revision", "is_removed")]
_STEPS = 10_000
"""Figures are rounded to this part of 1."""
_NO_INSTANT = np.iinfo(np.int64).min


def decisions(
    claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage, fact_ids: pl.Series
) -> pl.DataFrame:
    """Rows of ``schemas.DECISIONS``, one a claim, but for the columns of revisions.

    Args:
        claims: ``schemas.CLAIMS`` with ``similarity``, null where no vector was compared.
        slots: The same in fold order.
        fold: What became of them.
        held: ``lineage`` of the fold.
        fact_ids: Id of each of ``held.opened``.
    """
    result, other = named(fact_ids, held.opened, fold.result), named(fact_ids, held.opened, fold.other)
    recorded = claims["recorded_at"].to_physical().to_numpy()[slots.row]
    decided = np.maximum(recorded, np.maximum(_at(recorded, fold.result), _at(recorded, fold.other)))
    kept, retired = _one_each(slots, fold, result, claims.height)
    rules = pl.DataFrame(RULES, schema=["operation", "reason"], orient="row")
    made = claims.select("tenant_id", "tenant_bucket", "owner", "user_id", "agent_id", item_id="claim_id")
    return (
        made[slots.row[kept]]
        .with_columns(
            rules[fold.rule[kept]],
            item_kind=pl.lit("claim"),
            result_id=result.gather(kept),
            other_id=other.gather(kept),
            evidence=_evidence(claims, slots, fold, held, kept, retired),
            decided_at=pl.Series(decided[kept]).cast(INSTANT),
        )
        .select(pl.col(name).cast(DECISIONS.polars[name]) for name in COLUMNS)
        .sort(DECISIONS.sort_by)
    )


def _at(values: Ints, position: Ints) -> Ints:
    """Value at each position, the smallest number where there is none."""
    return np.where(position == NOTHING, _NO_INSTANT, values[position])


def _one_each(slots: Slots, fold: Fold, result: pl.Series, claims: int) -> tuple[Ints, Ints | None]:
    """One position of each claim, and the facts that each retired where claims met several slots."""
    if len(slots.row) == claims:
        return np.arange(claims), None
    merit = np.select([fold.rule == RETRACTED, fold.rule == WEAKER_SOURCE], [0, 1], 2)
    copies = pl.DataFrame({"row": slots.row, "merit": merit, "at": np.arange(len(merit)), "result": result})
    one = copies.sort("row", "merit", "result", "at").group_by("row", maintain_order=True)
    best = one.agg(pl.col("at").first(), retired=(pl.col("merit") == 0).sum())
    return best["at"].to_numpy(), best["retired"].to_numpy()


def _evidence(
    claims: pl.DataFrame, slots: Slots, fold: Fold, held: Lineage, kept: Ints, retired: Ints | None
) -> pl.Series:
    """JSON of the figures that a decision had: one without a figure does not name it."""
    sessions = fold.waiting.copy()
    sessions[held.at] = held.sessions
    similarity = claims["similarity"].cast(pl.Float32).fill_null(np.nan).to_numpy()[slots.row]
    similarity = np.where(fold.rule == MERGED, similarity, np.float32(np.nan))
    parts = [
        _shares('{"confidence": ', slots.confidence[kept]),
        _counts(', "sessions": ', sessions[kept], 1),
        _shares(', "similarity": ', similarity[kept]),
        _shares(', "standing_confidence": ', fold.standing[kept]),
    ]
    if retired is not None:
        parts.append(_counts(', "retired": ', retired, 2))
    frame = pl.DataFrame([part.alias(f"{n}") for n, part in enumerate(parts)])
    return frame.select(pl.concat_str(pl.all(), pl.lit("}"))).to_series()


def _shares(label: str, values: Floats) -> pl.Series:
    """Each share behind its label, empty for NaN. Rounded, so that all there are can be written once."""
    texts = [f"{label}{n / _STEPS}" for n in range(_STEPS + 1)]
    place = np.where(np.isnan(values), _STEPS + 1, np.rint(np.nan_to_num(values) * _STEPS))
    return pl.Series([*texts, ""]).gather(pl.Series(place.astype(np.int64)))


def _counts(label: str, values: Ints, least: int) -> pl.Series:
    """Each count behind its label, empty below ``least``."""
    distinct, place = np.unique(values, return_inverse=True)
    texts = [f"{label}{n}" if n >= least else "" for n in distinct.tolist()]
    return pl.Series(texts, dtype=pl.String).gather(pl.Series(place))
