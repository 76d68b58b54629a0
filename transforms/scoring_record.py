"""The compact form of what a search scores by: one fixed-size record and a list of hashed terms a row.

Written into the index at publish and read back by whole scopes: one column in place of a dozen is
two milliseconds less for each scope that is read anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from transforms.declarations import INSTANT
from transforms.scope_columns import (
    KINDS,
    NEVER_US,
    OUTCOME_CODES,
    ROLES,
    SENSITIVITY_CODES,
    TIERS,
    ScopeColumns,
    Vectors,
    coded,
    paired,
)
from transforms.search_terms import hashed_terms

RECORD = np.dtype(
    [
        ("event_us", "<i8"),
        ("seen_us", "<i8"),
        ("expires_us", "<i8"),
        ("content", "<u8"),
        ("importance", "<f4"),
        ("trust", "<f4"),
        ("access_count", "<i4"),
        ("kind", "u1"),
        ("tier", "u1"),
        ("outcome", "u1"),
        ("role", "u1"),
        ("sensitivity", "u1"),
        ("is_derived", "u1"),
        ("form", "<u2"),
    ]
)
"""Layout of a record, 52 bytes. ``form`` names it: any change of it, of codes or of terms counts up."""
FORM = 1
_INSTANTS = {"event_us": "event_at", "seen_us": "last_accessed_at", "expires_us": "expires_at"}
_NUMBERS = ("importance", "trust", "access_count")
CODES: dict[str, Sequence[str | None]] = {
    "kind": KINDS,
    "tier": TIERS,
    "outcome": OUTCOME_CODES,
    "role": ROLES,
    "sensitivity": SENSITIVITY_CODES,
}
"""What the places in a record stand for."""


def records(rows: pl.DataFrame) -> NDArray[Any]:
    """A record of each row.

    Args:
        rows: ``schemas.MEMORIES``.

    Returns:
        ``RECORD`` (rows,).
    """
    held = np.zeros(rows.height, RECORD)
    for name, column in _INSTANTS.items():
        held[name] = rows[column].cast(INSTANT).to_physical().fill_null(NEVER_US).to_numpy()
    for name in _NUMBERS:
        held[name] = rows[name].to_numpy()
    for name, known in CODES.items():
        held[name] = _coded(rows[name], known)
    held["content"] = _folded(rows["content_hash"])
    own = rows["memory_id"]
    is_own = (rows["source_refs"].list.len() == 1) & (rows["source_refs"].list.first() == own)
    held["is_derived"] = ~is_own.fill_null(False).to_numpy()
    held["form"] = FORM
    return held


def _coded(values: pl.Series, known: Sequence[str | None]) -> NDArray[np.uint8]:
    """Place of each value among the known ones; of one that is not known, the last place."""
    last = len(known) - 1
    table = {name: code for code, name in enumerate(known) if name is not None}
    if None in known:
        return (
            values.replace_strict(table, default=last, return_dtype=pl.UInt8)
            .set(values.is_null(), 0)
            .to_numpy()
        )
    return values.replace_strict(table, default=last, return_dtype=pl.UInt8).to_numpy()


def _folded(hashes: pl.Series) -> NDArray[np.uint64]:
    """The first 32 hex digits as one number, halves laid over each other; 0 for what is no hash."""
    halves = [
        hashes.str.slice(start, 16)
        .str.to_integer(base=16, dtype=pl.UInt64, strict=False)
        .fill_null(0)
        .to_numpy()
        for start in (0, 16)
    ]
    folded: NDArray[np.uint64] = np.bitwise_xor(*halves)
    return folded


def columns_of(rows: pl.DataFrame, vectors: NDArray[np.floating[Any]], *, is_fresh: bool) -> ScopeColumns:
    """Scoring columns of rows that are held whole.

    Args:
        rows: ``schemas.MEMORIES``, in any order.
        vectors: float16 or float32 (rows, d), row by row with them.
        is_fresh: Whether they are not published yet.

    Returns:
        The columns in the rows' order, which is sorted only where the rows are.
    """
    terms, starts = hashed_terms(rows["search_text"])
    return from_parts(
        np.array(rows["memory_id"].to_list(), "S"),
        vectors,
        terms,
        starts,
        records(rows),
        {name: rows[column].to_arrow() for name, column in _NAMES.items()},
        is_fresh=is_fresh,
    )


_NAMES = {"user": "user_id", "agent": "agent_id", "session": "session_id", "speaker": "speaker"}


def from_parts(
    ids: NDArray[np.bytes_],
    vectors: NDArray[np.floating[Any]],
    terms: NDArray[np.uint32],
    starts: NDArray[np.int64],
    held: NDArray[Any],
    names: Mapping[str, pa.Array],
    *,
    is_fresh: bool,
) -> ScopeColumns:
    """Scoring columns from what a scan returns.

    Args:
        ids: Of the rows.
        vectors: float16 or float32 (rows, d).
        terms: As in ``ScopeColumns``.
        starts: As in ``ScopeColumns``.
        held: ``RECORD`` (rows,).
        names: ``user``, ``agent``, ``session`` and ``speaker`` of each row.
        is_fresh: As in ``ScopeColumns``.
    """
    known = {name: coded(values) for name, values in names.items()}
    known["session"] = paired(known["user"], known["session"])
    found: dict[str, Any] = {name: codes for name, (codes, _) in known.items()}
    found |= {f"{name}_names": told for name, (_, told) in known.items()}
    read = [name for name in RECORD.names or () if name != "form"]
    columns: dict[str, Any] = {name: np.ascontiguousarray(held[name]) for name in read}
    columns["is_derived"] = columns["is_derived"].astype(np.bool_)
    return ScopeColumns(
        ids=ids,
        vectors=Vectors((vectors,)),
        terms=terms,
        starts=starts,
        is_fresh=np.full(len(ids), is_fresh),
        **columns,
        **found,
    )
