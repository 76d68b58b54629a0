"""Scoring columns of rows written out in a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.scope_columns import NEVER_US, ScopeColumns, Vectors, coded
from transforms.search_terms import hashed_terms

DAY_US = 86_400_000_000


def columns(
    rows: Sequence[tuple[str | None, str | None, str]],
    vectors: NDArray[np.float32] | None = None,
    **other: Any,
) -> ScopeColumns:
    """Columns of rows of session, speaker and text, in their order, a minute apart.

    Args:
        rows: Sorted by session, those without one first.
        vectors: (rows, d); zeros where None.
        **other: Columns in place of those made here.
    """
    count = len(rows)
    terms, starts = hashed_terms(pl.Series([text for _, _, text in rows], dtype=pl.String))
    session, sessions = coded([session for session, _, _ in rows])
    speaker, speakers = coded([speaker for _, speaker, _ in rows])
    codes, numbers = np.zeros(count, np.uint8), np.zeros(count, np.int32)
    event_us = np.arange(count, dtype=np.int64) * 60_000_000
    made: dict[str, Any] = {
        "ids": np.array([f"{i:032d}".encode() for i in range(count)], "S32"),
        "vectors": Vectors((np.zeros((count, 2), np.float32) if vectors is None else vectors,)),
        "terms": terms,
        "starts": starts,
        "session": session,
        "speaker": speaker,
        "user": numbers,
        "agent": numbers - 1,
        "event_us": event_us,
        "seen_us": event_us,
        "expires_us": np.full(count, NEVER_US),
        "kind": codes,
        "tier": codes,
        "outcome": codes,
        "role": codes,
        "sensitivity": codes,
        "importance": np.zeros(count, np.float32),
        "trust": np.ones(count, np.float32),
        "access_count": numbers,
        "content": np.arange(1, count + 1, dtype=np.uint64),
        "is_derived": np.zeros(count, np.bool_),
        "is_fresh": np.zeros(count, np.bool_),
        "session_names": sessions,
        "speaker_names": speakers,
        "user_names": ("u",),
    }
    return ScopeColumns(**{**made, **other})
