"""Columns that a search reads of all rows of a scope at once: plain numpy arrays, no payload.

Made of index rows at publish (``transforms.scoring_record``) and of fresh rows when they land; the same
shape for both, so that one recipe ranks them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from transforms.declarations import OUTCOMES, SENSITIVITIES
from transforms.halves import to_floats
from transforms.policy_entries import MEMORY_KINDS, MEMORY_TIERS

KINDS: tuple[str, ...] = MEMORY_KINDS
TIERS: tuple[str, ...] = MEMORY_TIERS
OUTCOME_CODES: tuple[str | None, ...] = (None, *OUTCOMES)
ROLES: tuple[str | None, ...] = (None, "user", "assistant", "tool", "system", "other")
SENSITIVITY_CODES: tuple[str, ...] = SENSITIVITIES
"""Names by code. Codes stand in published indexes: a new name goes to the end."""
NEVER_US = np.iinfo(np.int64).max
"""``expires_us`` of a row that never expires."""
SEPARATOR = "\x1f"

Positions = NDArray[np.int64]
Coded = tuple[NDArray[np.int32], tuple[str, ...]]
"""Codes of names, -1 for none, and the names by code."""


@dataclass(frozen=True)
class Vectors:
    """Vectors of rows: whole blocks as they were loaded, and which of their rows are meant; never copied.

    Attributes:
        blocks: float16 or float32 (n, d) each, rows of length 1, or zeros where a row has no vector.
        places: Row by row, its place in the blocks put end to end; None: all, in that order.
    """

    blocks: tuple[NDArray[np.floating[Any]], ...]
    places: Positions | None = None

    def __len__(self) -> int:
        return sum(map(len, self.blocks)) if self.places is None else len(self.places)

    def dots(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of each row to a query of length 1, float32 (rows,)."""
        parts = [_dots(block, query) for block in self.blocks]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return whole if self.places is None else whole[self.places]

    @cached_property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean (d,) and covariance (d, d) of the rows: what they make of the cosines to any query."""
        rows = self.at(np.arange(len(self), dtype=np.int64)).astype(np.float64)
        mean = rows.mean(axis=0)
        rows -= mean
        return mean, rows.T @ rows / max(1, len(rows))

    def at(self, positions: Positions) -> NDArray[np.float32]:
        """Vectors of some rows, float32 (positions, d)."""
        wanted = positions if self.places is None else self.places[positions]
        if len(self.blocks) == 1:
            return as_floats(self.blocks[0][wanted])
        ends = np.cumsum([len(block) for block in self.blocks])
        found = np.empty((len(wanted), self.blocks[0].shape[1]), np.float32)
        owner = np.searchsorted(ends, wanted, "right")
        for number, block in enumerate(self.blocks):
            mine = owner == number
            found[mine] = as_floats(block[wanted[mine] - (ends[number] - len(block))])
        return found

    def take(self, positions: Positions) -> Vectors:
        """The vectors of some rows, still in their blocks."""
        return Vectors(self.blocks, positions if self.places is None else self.places[positions])

    @staticmethod
    def joined(parts: Sequence[Vectors]) -> Vectors:
        """Parts end to end."""
        starts = np.cumsum([0, *(sum(map(len, part.blocks)) for part in parts)])
        places = [
            (np.arange(len(part)) if part.places is None else part.places) + start
            for part, start in zip(parts, starts, strict=False)
        ]
        return Vectors(tuple(b for part in parts for b in part.blocks), np.concatenate(places))


_BLOCK_ROWS = 512
"""Half floats made floats at once: half a megabyte, which stays in the processor's cache."""


def _dots(block: NDArray[np.floating[Any]], query: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not ``@``, whose threads cost more than the product of a few thousand rows.
    found: NDArray[np.float32] = np.empty(len(block), np.float32)
    if block.dtype != np.float16:
        np.einsum("id,d->i", block, query, out=found, dtype=np.float32, casting="same_kind")
        return found
    for start in range(0, len(block), _BLOCK_ROWS):
        part = to_floats(block[start : start + _BLOCK_ROWS])
        np.einsum("id,d->i", part, query, out=found[start : start + _BLOCK_ROWS])
    return found


def as_floats(vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Vectors as float32."""
    return to_floats(vectors) if vectors.dtype == np.float16 else vectors.astype(np.float32)


@dataclass(frozen=True)
class ScopeColumns:
    """Scoring columns of n rows, sorted by session, event and id; rows without session come first.

    Attributes:
        ids: ``memory_id``, bytes (S32).
        vectors: Of each row.
        terms: Hashed search terms of all rows, row after row, as often as they occur (uint32).
        starts: Where the terms of each row begin, int64 (n + 1).
        session: Code of the session, int32, ascending; -1 for none. Sessions of two people are two.
        session_names: By code: person, ``SEPARATOR``, session.
        speaker: Code of the speaker's name, int32; -1 for none.
        speaker_names: By code.
        user: Code of the person, int32; -1 for none.
        user_names: By code.
        agent: Code of the agent, int32; -1 for none.
        agent_names: By code.
        event_us: When it happened, microseconds since 1970.
        seen_us: Last recall, else ``event_us``.
        expires_us: First instant at which it is no longer served; ``NEVER_US``.
        kind: Place in ``KINDS``, uint8.
        tier: Place in ``TIERS``, uint8.
        outcome: Place in ``OUTCOME_CODES``, uint8.
        role: Place in ``ROLES``, uint8.
        sensitivity: Place in ``SENSITIVITY_CODES``, uint8.
        importance: 0 to 1, float32.
        trust: 0 to 1, float32.
        access_count: Recalls folded in, int32.
        content: 64 bits of ``content_hash``, uint64; 0 where a row has none.
        is_derived: Whether it rests on other rows (a fact, summary, skill), not on itself.
        is_fresh: Whether it is not published yet.
    """

    ids: NDArray[np.bytes_]
    vectors: Vectors
    terms: NDArray[np.uint32]
    starts: NDArray[np.int64]
    session: NDArray[np.int32]
    speaker: NDArray[np.int32]
    user: NDArray[np.int32]
    agent: NDArray[np.int32]
    event_us: NDArray[np.int64]
    seen_us: NDArray[np.int64]
    expires_us: NDArray[np.int64]
    kind: NDArray[np.uint8]
    tier: NDArray[np.uint8]
    outcome: NDArray[np.uint8]
    role: NDArray[np.uint8]
    sensitivity: NDArray[np.uint8]
    importance: NDArray[np.float32]
    trust: NDArray[np.float32]
    access_count: NDArray[np.int32]
    content: NDArray[np.uint64]
    is_derived: NDArray[np.bool_]
    is_fresh: NDArray[np.bool_]
    session_names: tuple[str, ...] = ()
    speaker_names: tuple[str, ...] = ()
    user_names: tuple[str, ...] = ()
    agent_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def term_counts(self) -> NDArray[np.int64]:
        """Number of terms of each row."""
        return np.diff(self.starts)

    @cached_property
    def previous(self) -> Positions:
        """Position of the row before each in its session; -1 where it is the first, or has no session."""
        places = np.arange(len(self), dtype=np.int64) - 1
        if len(self):
            is_first = np.concatenate([[True], self.session[1:] != self.session[:-1]])
            places[is_first | (self.session < 0)] = -1
        return places

    @cached_property
    def is_digest(self) -> NDArray[np.bool_]:
        """Summaries of other rows: they repeat what they cite and are never taken for its duplicate."""
        mask: NDArray[np.bool_] = self.is_derived & (self.kind == KINDS.index("summary"))
        return mask

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, vectors among them."""
        arrays = (getattr(self, name) for name in _ARRAYS)
        held: int = sum(a.nbytes for a in arrays) + sum(block.nbytes for block in self.vectors.blocks)
        return held

    def take(self, positions: Positions) -> ScopeColumns:
        """Some rows; ascending positions keep the order. Vectors are not copied."""
        counts = self.term_counts[positions]
        starts = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(int(starts[-1])) - np.repeat(starts[:-1], counts)
        terms = self.terms[np.repeat(self.starts[:-1][positions], counts) + within]
        rows = {name: getattr(self, name)[positions] for name in _ROWS}
        return replace(self, vectors=self.vectors.take(positions), terms=terms, starts=starts, **rows)

    def where(self, is_kept: NDArray[np.bool_]) -> ScopeColumns:
        """The rows of a mask; itself where that is all of them."""
        return self if is_kept.all() else self.take(np.flatnonzero(is_kept))

    def sorted_rows(self) -> Positions:
        """Positions of the rows by session, event and id."""
        return np.lexsort((self.ids, self.event_us, self.session))


_NAMED = ("session", "speaker", "user", "agent")
_ROWS = tuple(
    f.name
    for f in fields(ScopeColumns)
    if f.name not in ("vectors", "terms", "starts", *(f"{name}_names" for name in _NAMED))
)
_ARRAYS = (*_ROWS, "terms", "starts")


def united(parts: Sequence[ScopeColumns]) -> tuple[ScopeColumns, Positions]:
    """Rows of several scopes together, each id once (that of the earliest part), sorted.

    Args:
        parts: At least one; the published rows before the fresh ones.

    Returns:
        The rows, and the place of each in the parts put end to end.
    """
    if len(parts) == 1:
        return parts[0], np.arange(len(parts[0]), dtype=np.int64)
    joined = _joined(parts)
    _, first = np.unique(joined.ids, return_index=True)
    kept = np.sort(first)
    order = kept[joined.take(kept).sorted_rows()]
    return joined.take(order), order


def _joined(parts: Sequence[ScopeColumns]) -> ScopeColumns:
    rows: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in parts]) for name in _ROWS}
    for name in _NAMED:
        rows[name], rows[f"{name}_names"] = _renamed(
            [(getattr(p, name), getattr(p, f"{name}_names")) for p in parts]
        )
    begins = np.cumsum([0, *(len(p.terms) for p in parts)])
    starts = [p.starts[:-1] + begin for p, begin in zip(parts, begins, strict=False)]
    return ScopeColumns(
        vectors=Vectors.joined([p.vectors for p in parts]),
        terms=np.concatenate([p.terms for p in parts]),
        starts=np.concatenate([*starts, begins[-1:]]),
        **rows,
    )


def _renamed(parts: Sequence[Coded]) -> Coded:
    """Codes of several parts as codes of one list of names."""
    names: dict[str, int] = {}
    found = []
    for codes, own in parts:
        table = np.array([*(names.setdefault(name, len(names)) for name in own), -1], np.int32)
        found.append(table[codes])  # code -1 is the last entry
    return np.concatenate(found), tuple(names)


def coded(values: pa.Array | Sequence[str | None]) -> Coded:
    """Names as codes in the order of first occurrence, -1 for null; and the names by code."""
    held = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    told = held.dictionary_encode()
    return told.indices.fill_null(-1).to_numpy(zero_copy_only=False), tuple(told.dictionary.to_pylist())


def paired(outer: Coded, inner: Coded) -> Coded:
    """Codes of pairs of names, named ``outer SEPARATOR inner``; -1 where the inner one is null."""
    if len(outer[1]) == 1 and (outer[0] == 0).all():  # the rows of one person
        return inner[0], tuple(f"{outer[1][0]}{SEPARATOR}{name}" for name in inner[1])
    keys = outer[0].astype(np.int64) * (len(inner[1]) + 1) + inner[0]
    held = inner[0] >= 0
    kept, codes = np.unique(keys[held], return_inverse=True)
    pairs = np.full(len(keys), -1, np.int32)
    pairs[held] = codes
    names = []
    for key in kept.tolist():
        first, second = divmod(key, len(inner[1]) + 1)
        names.append(f"{outer[1][first] if first >= 0 else ''}{SEPARATOR}{inner[1][second]}")
    return pairs, tuple(names)
