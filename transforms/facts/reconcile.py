"""Claims to facts: ADD, UPDATE, DELETE or NOOP of each claim, as a pure function of the set of claims."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from transforms.derived import DECISIONS, FACTS
from transforms.errors import LakeError
from transforms.facts import decisions, rows
from transforms.facts.fold import fold
from transforms.facts.slots import slots
from transforms.policy import Policy


@dataclass(frozen=True)
class Reconciled:
    """Facts and decisions, each without the columns of revisions and in its table's order."""

    facts: pl.DataFrame
    decisions: pl.DataFrame


def reconcile(claims: pl.DataFrame, groups: pl.DataFrame, policy: Policy) -> Reconciled:
    """Fold claims into facts; the order of the rows is of no meaning.

    Args:
        claims: ``schemas.CLAIMS``, every claim of the slots it holds (see ``transforms.facts.slots``).
        groups: ``near.object_groups`` of the claims: ``claim_id``, ``object_group``, ``similarity``.
        policy: Sections facts and claims.

    Returns:
        ``schemas.FACTS``, and ``schemas.DECISIONS`` with one row a claim.

    Raises:
        LakeError: A claim has no group.
    """
    if claims.is_empty():
        return Reconciled(FACTS.empty().select(rows.COLUMNS), DECISIONS.empty().select(decisions.COLUMNS))
    # Rows are gathered many times, which is slow on many chunks.
    grouped = _with_groups(claims, groups).rechunk()
    held = slots(grouped)
    folded = fold(held, policy.facts.min_sessions)
    lineage = rows.lineage(grouped, held, folded)
    return Reconciled(
        rows.facts(grouped, held, folded, lineage, policy),
        decisions.decisions(grouped, held, folded, lineage),
    )


def _with_groups(claims: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    wanted = groups.select("claim_id", "object_group", "similarity")
    if claims["claim_id"].equals(wanted["claim_id"]):
        return claims.with_columns(wanted.drop("claim_id"))
    joined = claims.join(wanted, on="claim_id", how="left", maintain_order="left")
    alone = joined.filter(pl.col("object_group").is_null())["claim_id"]
    if len(alone):
        raise LakeError(
            f"claims: {len(alone)} rows have no object group, such as {', '.join(alone.head(3))}",
            "This is a fault in slowwave.",
        )
    return joined
