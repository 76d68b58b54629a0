"""Scoring columns that hold no more memory than their rows need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from transforms.scope_columns import ScopeColumns, Vectors

_NAMED = ("session", "speaker", "user", "agent")


def compact(columns: ScopeColumns) -> ScopeColumns:
    """The same rows with the names that occur in them only; codes keep their order."""
    changed: dict[str, Any] = {}
    for name in _NAMED:
        codes, names = getattr(columns, name), getattr(columns, f"{name}_names")
        used = np.unique(codes)
        used = used[used >= 0]
        if len(used) < len(names):
            places = np.searchsorted(used, codes).astype(np.int32)
            changed[name] = np.where(codes < 0, np.int32(-1), places)
            changed[f"{name}_names"] = tuple(names[code] for code in used.tolist())
    return replace(columns, **changed)


def owned(columns: ScopeColumns) -> ScopeColumns:
    """The same rows in arrays of their own: one column of a scan keeps all others of it in memory."""
    vectors = columns.vectors
    if len(vectors.blocks) == 1:
        [block] = vectors.blocks
        kept = block.copy() if vectors.places is None else block[vectors.places]
        vectors = Vectors((kept,))
    return replace(columns, vectors=vectors, ids=columns.ids.copy(), terms=columns.terms.copy())
