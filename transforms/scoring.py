"""Five-factor score of recall, and removal of near duplicates.

Formulas: relevance, recency, importance, access frequency and a bonus by tier, each 0 to 1,
weighted by ``RecallPolicy``; half-lives and the frequency scale by ``DecayPolicy``.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from transforms.errors import ConfigError, UsageError
from transforms.policy import DecayPolicy, Policy, RecallPolicy
from transforms.retention import instant

FACTORS = ("relevance", "recency", "importance_factor", "frequency", "type_factor")
MICROSECONDS_A_DAY = 86_400_000_000

Vectors = npt.NDArray[np.floating[Any]]


def rank(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows best first, in a total order: score, then the newer event, then memory_id."""
    return frame.sort("score", "event_at", "memory_id", descending=[True, True, False])


def score(candidates: pl.DataFrame, *, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Candidates with every factor and their score, best first.

    Args:
        candidates: Columns of ``schemas.MEMORIES`` (``vector`` and ``search_text`` are not read),
            each memory once, with ``cosine`` (null: not known, counts as 0) and ``bm25`` (null:
            not found by text search, counts as 0).
        policy: Its ``recall`` and ``decay`` sections are read.
        as_of: The instant of the call, with time zone.

    Returns:
        The input's columns with ``FACTORS`` and ``score``, Float64 from 0 to 1, ordered by score
        (highest first), event_at (newest first), memory_id.

    Raises:
        UsageError: The as-of has no time zone.
        ConfigError: A half-life is not above 0 days or the frequency scale not above 1.
    """
    _check_decay(policy.decay)
    recall = policy.recall
    factors = candidates.with_columns(
        relevance=_relevance(recall),
        recency=_recency(policy.decay, as_of),
        importance_factor=_importance(recall),
        frequency=_frequency(policy.decay),
        type_factor=_lookup("tier", recall.type_bonus).fill_null(0.0).clip(0.0, 1.0),
    )
    return rank(factors.with_columns(score=_weighted(recall)))


def _weighted(recall: RecallPolicy) -> pl.Expr:
    """Sum of weighted factors; the weights may sum to a hair above 1, hence the clip."""
    weights = {
        "relevance": recall.relevance_weight,
        "recency": recall.recency_weight,
        "importance_factor": recall.importance_weight,
        "frequency": recall.frequency_weight,
        "type_factor": recall.type_weight,
    }
    return pl.sum_horizontal(pl.col(name) * weights[name] for name in FACTORS).clip(0.0, 1.0)


def _check_decay(decay: DecayPolicy) -> None:
    wrong = sorted(k for k, d in decay.half_life_days.items() if d is not None and not d > 0)
    if wrong:
        raise ConfigError(
            f"decay.half_life_days of {', '.join(wrong)} is not above 0",
            "Give days above 0, or leave the kind without decay.",
        )
    if not decay.frequency_scale > 1:
        raise ConfigError("decay.frequency_scale is not above 1", "Its logarithm divides; give e.g. 50.")


def _relevance(recall: RecallPolicy) -> pl.Expr:
    cosine = _known("cosine").clip(0.0, 1.0)
    bm25 = _known("bm25").clip(0.0)
    best = bm25.max()
    scaled = pl.when(best > 0).then(bm25 / best).otherwise(0.0)
    return recall.vector_share * cosine + (1 - recall.vector_share) * scaled


def _known(name: str) -> pl.Expr:
    """The column as Float64, null and NaN (cosine of an empty vector) as 0."""
    return pl.col(name).cast(pl.Float64).fill_nan(0.0).fill_null(0.0)


def _recency(decay: DecayPolicy, as_of: datetime) -> pl.Expr:
    seen = pl.coalesce("last_accessed_at", "event_at")
    age_days = (instant(as_of) - seen).dt.total_microseconds() / MICROSECONDS_A_DAY
    half_life = _lookup("kind", decay.half_life_days, decay.half_life_days.get("conversation"))
    # Clock skew: a time in the future is age 0. A kind without half-life does not decay.
    return (0.5 ** (age_days.clip(0.0) / half_life)).fill_null(1.0)


def _lookup(name: str, values: dict[str, Any], default: float | None = None) -> pl.Expr:
    return pl.col(name).replace_strict(
        list(values), list(values.values()), default=default, return_dtype=pl.Float64
    )


def _importance(recall: RecallPolicy) -> pl.Expr:
    boost = pl.when(pl.col("outcome") == "success").then(recall.success_boost).otherwise(0.0)
    return (_known("importance") + boost).clip(0.0, 1.0)


def _frequency(decay: DecayPolicy) -> pl.Expr:
    accesses = _known("access_count").clip(0.0)
    return (accesses.log1p() / math.log(decay.frequency_scale)).clip(0.0, 1.0)


def drop_near_duplicates(
    scored: pl.DataFrame, vectors: Vectors | None, *, threshold: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Kept rows, and the rows that repeat a better one.

    Goes through the rows best first; a row is dropped when a kept row has its content_hash or a
    cosine above the threshold to it. A row is compared with kept rows only, so of a chain
    a ~ b ~ c where a and c differ, b goes and c stays.

    Args:
        scored: Output of ``score``, k rows in any order.
        vectors: k x d, row by row with ``scored``; a row of zeros or NaN has no vector and is
            compared by content_hash alone. Null: all rows are.
        threshold: Cosine above which two rows say the same.

    Returns:
        Kept rows, ranked; dropped rows, ranked, with ``reason`` ("duplicate") and
        ``duplicate_of`` (memory_id of the best kept row it repeats). Together they are the input.

    Raises:
        UsageError: The vectors are not k x d.
    """
    ranked = rank(scored.with_row_index("position"))
    near = _same_hash(ranked["content_hash"])
    if vectors is not None:
        _check_shape(vectors, scored.height)
        near |= _cosines(vectors[ranked["position"].to_numpy()]) > threshold
    original = _originals(near)
    is_kept = pl.Series(original == np.arange(len(original)), dtype=pl.Boolean)
    duplicate_of = ranked["memory_id"].gather(original).alias("duplicate_of")
    ranked = ranked.drop("position")
    dropped = ranked.with_columns(pl.lit("duplicate").alias("reason"), duplicate_of).filter(~is_kept)
    return ranked.filter(is_kept), dropped


def _check_shape(vectors: Vectors, rows: int) -> None:
    if vectors.ndim != 2 or len(vectors) != rows:
        raise UsageError(f"vectors of shape {vectors.shape} for {rows} rows", "Give one vector a row.")


def _same_hash(hashes: pl.Series) -> npt.NDArray[np.bool_]:
    """K x k: whether two rows have the same hash; a null is like no other."""
    codes = hashes.rank("dense").cast(pl.Int64)
    alone = pl.Series(range(-len(hashes), 0), dtype=pl.Int64)
    ids = pl.select(pl.coalesce(codes, alone)).to_series().to_numpy()
    equal: npt.NDArray[np.bool_] = ids[:, None] == ids[None, :]
    return equal


def _cosines(vectors: Vectors) -> npt.NDArray[np.float64]:
    """K x k cosines; 0 wherever a row has no direction."""
    wide = np.nan_to_num(vectors.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    # Not `@`: at this size BLAS threads cost more than the product, 8 ms against 1 on busy cores.
    cosines: npt.NDArray[np.float64] = np.einsum("id,jd->ij", unit, unit)
    return cosines


def _originals(near: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For each row, best first, the row that stands for it: itself where it is kept."""
    original = np.arange(len(near), dtype=np.int64)
    is_kept = np.zeros(len(near), dtype=np.bool_)
    for row in range(len(near)):
        repeated = np.flatnonzero(near[row, :row] & is_kept[:row])
        if len(repeated):
            original[row] = repeated[0]
        else:
            is_kept[row] = True
    return original
