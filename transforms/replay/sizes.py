"""Tokens of logged candidates: as counted where the memory was ever packed, else estimated."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

CHARS_A_TOKEN = 4.0
"""Of prose, where no packed row tells it of this log."""


def token_counts(rows: pl.DataFrame) -> NDArray[np.float64]:
    """Tokens of each candidate; only rows that were packed have theirs in the log.

    The first of these that is known: of the row itself; the most of the same memory in any call (a packed
    row may be cut short); its ``text_chars`` over the characters a token of the rows that have both, or
    ``CHARS_A_TOKEN``; the mean of the known rows of its kind; the mean of all. NaN where no row tells
    anything.

    Args:
        rows: Columns memory_id, kind, tokens, and text_chars where it is known.
    """
    if not rows["tokens"].null_count():
        return rows["tokens"].cast(pl.Float64).to_numpy()
    held = rows.select("memory_id", "kind", tokens=pl.col("tokens").cast(pl.Float64))
    chars = rows["text_chars"].cast(pl.Float64) if "text_chars" in rows.columns else None
    told = held.filter(pl.col("tokens").is_not_null()).group_by("memory_id").agg(pl.col("tokens").max())
    found = held.join(
        told.rename({"tokens": "elsewhere"}), on="memory_id", how="left", maintain_order="left"
    ).select("kind", tokens=pl.coalesce("tokens", "elsewhere"))
    if chars is not None:
        found = found.with_columns(chars=chars)
        both = found.drop_nulls(["tokens", "chars"]).select(pl.col("chars").sum() / pl.col("tokens").sum())
        ratio = both.item() if both.height and both.item() else CHARS_A_TOKEN
        found = found.with_columns(tokens=pl.coalesce("tokens", (pl.col("chars") / ratio).ceil()))
    means = found.drop_nulls("tokens").group_by("kind").agg(mean=pl.col("tokens").mean())
    filled = found.join(means, on="kind", how="left", maintain_order="left")
    whole = filled["tokens"].mean()
    return (
        filled.select(pl.coalesce("tokens", "mean", pl.lit(whole, pl.Float64)))
        .to_series()
        .fill_null(np.nan)
        .to_numpy()
    )
