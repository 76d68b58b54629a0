"""Regret: memories that were of use after a policy would have forgotten them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from transforms.declarations import INSTANT
from transforms.forgetting.score import score_expr
from transforms.forgetting.what_if import SIDES, summed
from transforms.policy import Policy
from transforms.replay.access import Accesses
from transforms.replay.lives import SEEN_SCHEMA
from transforms.replay.survival import REASONS, Past

_USE: dict[str, pl.DataType | type[pl.DataType]] = dict(SEEN_SCHEMA.items())
USE_SCHEMA = pl.Schema(
    {
        **_USE,
        "call_id": pl.String,
        "is_used": pl.Boolean,
        "lost_current": pl.String,
        "lost_new": pl.String,
        "age_days": pl.Float64,
        "idle_days": pl.Float64,
        "score": pl.Float64,
        "is_there": pl.Boolean,
    }
)
"""A memory that a caller was given, at an instant.

``is_used``: the agent says that it used it. ``lost_*``: why the policy would have forgotten it before, null
where it would have been there. ``age_days`` since its event, ``idle_days`` since its last access before the
call, ``score``: the retention score that the new policy gives it just before the call. ``is_there``: whether
the lake still holds it.
"""
USES = {"given": pl.lit(True), "used": pl.col("is_used")}
"""What counts as a use: the memory was given to the caller, or the agent says that it used it."""
_DAY_US = 86_400_000_000
_EPOCH = pl.lit(0, pl.Int64).cast(INSTANT)


def uses(past: Past, given: pl.DataFrame, current: Policy, new: Policy) -> pl.DataFrame:
    """Memories that callers were given, and which of them each policy would have forgotten before.

    Args:
        past: Made of ``given``.
        given: ``SEEN_SCHEMA`` with ``call_id`` and ``is_used``: returned rows of recalls.
        current: The policy in force.
        new: The other one.

    Returns:
        ``USE_SCHEMA``, in the order of ``given``.
    """
    names = pl.Series(REASONS)
    lost = {}
    for side, policy in zip(SIDES, (current, new), strict=True):
        places = pl.Series(past.lost(policy), dtype=pl.Int8)
        lost[f"lost_{side}"] = names.gather(places.set(places < 0, None).cast(pl.UInt32))
    accesses = Accesses.of(past.recalls, new.decay.refresh)
    count, last = accesses.before(accesses.numbers(given), past.lives.at)
    seen = pl.Series(np.where(count > 0, last, 0)).cast(INSTANT)
    since = pl.when(pl.Series(count > 0)).then(seen).otherwise("event_at")
    memories = past.lives.memories["is_there"].gather(pl.Series(past.lives.memory_of))
    rows = given.with_columns(
        pl.col("is_used").fill_null(False),
        access_count=pl.Series(count.astype(np.int32)),
        idle=pl.col("at") - since,
        age=pl.col("at") - pl.col("event_at"),
        is_there=memories,
        **lost,
    )
    ages = rows.select("kind", "access_count", importance="memory_importance",
                       event_at=_EPOCH - pl.col("age"), last_accessed_at=_EPOCH - pl.col("idle"))  # fmt: skip
    moment = pl.Series([0], dtype=pl.Int64).cast(INSTANT).item()
    return rows.with_columns(
        ages.select(score_expr(new.decay, moment)),
        age_days=_days(pl.col("age")),
        idle_days=_days(pl.col("idle")),
    ).select(USE_SCHEMA.names())


def _days(span: pl.Expr) -> pl.Expr:
    return (span.dt.total_microseconds() / _DAY_US).clip(lower_bound=0.0)


def regret(used: pl.DataFrame, by: Sequence[str] = ("tenant_id", "kind")) -> pl.DataFrame:
    """Uses that each policy would have lost.

    Args:
        used: ``USE_SCHEMA``, of whole tenants.
        by: Columns.

    Returns:
        ``use`` (given, used), ``by``, ``uses``, ``memories``, of each side ``lost_*`` and
        ``lost_memories_*``: uses and distinct memories, and ``lost_more``: uses that are lost under the new
        policy only.
    """
    parts = []
    for name, counts in USES.items():
        rows = used.filter(counts)
        lost = {side: pl.col(f"lost_{side}").is_not_null() for side in SIDES}
        memory = pl.struct("tenant_id", "memory_id")
        found = rows.group_by(by).agg(
            uses=pl.len().cast(pl.Int64),
            memories=memory.n_unique().cast(pl.Int64),
            **{f"lost_{side}": flag.sum().cast(pl.Int64) for side, flag in lost.items()},
            lost_more=(lost["new"] & ~lost["current"]).sum().cast(pl.Int64),
            **{
                f"lost_memories_{side}": memory.filter(flag).n_unique().cast(pl.Int64)
                for side, flag in lost.items()
            },
        )
        parts.append(found.select(pl.lit(name).alias("use"), *by, pl.exclude(by)))
    return pl.concat(parts).sort("use", *by)


def lost_by_reason(used: pl.DataFrame) -> pl.DataFrame:
    """``use``, ``kind``, ``reason``, ``lost_current``, ``lost_new``: why uses would have been lost."""
    parts = []
    for name, counts in USES.items():
        for side in SIDES:
            lost = used.filter(counts & pl.col(f"lost_{side}").is_not_null())
            named = lost.select(pl.lit(name).alias("use"), "kind", reason=pl.col(f"lost_{side}"))
            ones = {f"lost_{other}": pl.lit(int(other == side), pl.Int64) for other in SIDES}
            parts.append(named.with_columns(**ones))
    return summed(pl.concat(parts), ("use", "kind", "reason"), [f"lost_{side}" for side in SIDES])


def thresholds(used: pl.DataFrame, marks: Mapping[str, Collection[float]]) -> pl.DataFrame:
    """How many uses a threshold alone would lose, wherever it were set.

    Args:
        used: ``USE_SCHEMA``.
        marks: Thresholds to count at, by measure: ``age_days`` and ``idle_days`` lose uses of more,
            ``score`` loses uses of less.

    Returns:
        ``measure``, ``threshold``, ``use``, ``kind``, ``uses`` and ``lost``; may be added up.
    """
    parts = []
    for measure, values in marks.items():
        at = pl.DataFrame({"threshold": pl.Series(sorted(values), dtype=pl.Float64)})
        for name, counts in USES.items():
            rows = used.filter(counts).select("kind", measure)
            pairs = rows.group_by("kind", measure).agg(uses=pl.len().cast(pl.Int64)).join(at, how="cross")
            below = pl.col(measure) < pl.col("threshold")
            over = below if measure == "score" else pl.col(measure) > pl.col("threshold")
            lost = pl.when(over).then("uses").otherwise(0)
            counted = pairs.group_by("threshold", "kind").agg(
                pl.col("uses").sum(), lost=lost.sum().cast(pl.Int64)
            )
            parts.append(
                counted.select(
                    pl.lit(measure).alias("measure"),
                    "threshold",
                    pl.lit(name).alias("use"),
                    "kind",
                    "uses",
                    "lost",
                )
            )
    return pl.concat(parts).sort("measure", "use", "kind", "threshold")


def shares(marks: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """``thresholds`` added up, with ``lost_ratio``: the share of uses that a threshold alone would lose."""
    counted = summed(marks, by, ("uses", "lost"))
    return counted.with_columns(lost_ratio=pl.col("lost") / pl.col("uses"))


def worst(used: pl.DataFrame, most: int) -> pl.DataFrame:
    """Memories whose loss would have been felt most: used ones first, then the important, then the recent.

    Args:
        used: ``USE_SCHEMA``; of each memory its first lost use is told.
        most: How many.

    Returns:
        ``USE_SCHEMA`` and ``lost_uses``: how many uses of the memory would have been lost.
    """
    lost = used.filter(pl.col("lost_new").is_not_null()).sort("at", "call_id", "memory_id")
    rest = pl.all().exclude("tenant_id", "memory_id", "is_used").first()
    counted = lost.group_by("tenant_id", "memory_id", maintain_order=True).agg(
        rest, pl.col("is_used").any(), lost_uses=pl.len().cast(pl.Int64)
    )
    return ranked(counted.select(*USE_SCHEMA.names(), "lost_uses")).head(most)


def ranked(examples: pl.DataFrame) -> pl.DataFrame:
    """Examples in the order of ``worst``."""
    order = ["is_used", "memory_importance", "at", "tenant_id", "memory_id"]
    return examples.sort(order, descending=[True, True, True, False, False])
