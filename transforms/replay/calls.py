"""Logged recalls as calls with their candidates: what every replay reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

HEAD = (
    "call_id", "tenant_id", "user_id", "agent_id", "session_id", "query", "verb", "route", "weighting",
    "policy_hash", "seconds", "budget_tokens", "generation", "recalled_at",
)  # fmt: skip
"""Columns that are one value a call."""
REPLAYED = ("search", "context")
"""Verbs whose candidates are replayed; who brings cold episodes back ranks nothing."""


@dataclass(frozen=True)
class Calls:
    """Calls in the order of time, and their candidates call after call.

    Attributes:
        heads: ``HEAD`` of ``schemas.RECALLS``, a row a call, by recalled_at and call_id.
        rows: The other columns of ``schemas.RECALLS``, a row a candidate, by call and logged rank; labelled
            calls have ``gain`` too, Float64, how much the memory was of use: 0 to 1.
        starts: int64 (calls + 1): where the rows of each call begin.
    """

    heads: pl.DataFrame
    rows: pl.DataFrame
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.heads.height

    @property
    def call_of(self) -> NDArray[np.int64]:
        """By row, the position of its call."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def calls_of(recalls: pl.DataFrame) -> Calls:
    """Calls that found something.

    Args:
        recalls: ``schemas.RECALLS``, in any order; further columns of candidates are kept.
    """
    found = recalls.filter(pl.col("verb").is_in(REPLAYED), pl.col("rank") > 0)
    ordered = found.sort("recalled_at", "call_id", "rank", "memory_id")
    return _cut(ordered)


def some(calls: Calls, kept: NDArray[np.bool_]) -> Calls:
    """The calls of a mask over them, in their order."""
    heads = calls.heads.filter(pl.Series(kept))
    counts = np.diff(calls.starts)
    rows = calls.rows.filter(pl.Series(np.repeat(kept, counts)))
    return Calls(heads, rows, np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64))


def microseconds(instants: pl.Series) -> NDArray[np.int64]:
    """Instants, none of them null, as microseconds since 1970."""
    return instants.to_physical().to_numpy().astype(np.int64)


def _cut(ordered: pl.DataFrame) -> Calls:
    lengths = ordered["call_id"].rle().struct.field("len").to_numpy()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    heads = ordered.select(HEAD)[starts[:-1].tolist()]
    return Calls(heads, ordered.drop(name for name in HEAD if name != "call_id"), starts)
