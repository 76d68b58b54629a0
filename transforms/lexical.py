"""BM25 of a question over the rows of a scope, each read together with its neighbours in the session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transforms.policy_recall import RecallPolicy
from transforms.scope_columns import ScopeColumns
from transforms.search_terms import QUESTION

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Postings:
    """Which rows hold which term; made once a view.

    Attributes:
        rows: Number of rows.
        terms: Distinct terms, ascending.
        starts: Where the postings of each begin, (terms + 1).
        owners: Row of each posting.
        counts: How often the row holds the term.
        lengths: Number of terms of each row.
        is_question: Rows that end in a question.
    """

    rows: int
    terms: NDArray[np.uint32]
    starts: Positions
    owners: NDArray[np.int32]
    counts: NDArray[np.float32]
    lengths: Floats
    is_question: NDArray[np.bool_]

    @property
    def mean_length(self) -> float:
        """Mean number of terms of a row; 1 where there are none."""
        return (float(self.lengths.mean()) if self.rows else 0.0) or 1.0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.terms, self.starts, self.owners, self.counts, self.lengths, self.is_question)
        return sum(array.nbytes for array in arrays)

    def of(self, forms: Sequence[int]) -> tuple[Positions, Floats]:
        """Rows that hold a word in one of its forms, and how often; each row once, ascending."""
        found = np.searchsorted(self.terms, np.array(forms, np.uint32))
        held = [
            slice(self.starts[at], self.starts[at + 1])
            for at, form in zip(found.tolist(), forms, strict=True)
            if at < len(self.terms) and self.terms[at] == form
        ]
        if len(held) == 1:
            return self.owners[held[0]].astype(np.int64), self.counts[held[0]].astype(np.float64)
        if not held:
            return np.zeros(0, np.int64), np.zeros(0)
        owners = np.concatenate([self.owners[s] for s in held]).astype(np.int64)
        rows, places = np.unique(owners, return_inverse=True)
        weights = np.concatenate([self.counts[s] for s in held])
        return rows, np.bincount(places, weights=weights).astype(np.float64)


def postings(columns: ScopeColumns, names: Sequence[Sequence[int]]) -> Postings:
    """Postings of rows; each holds the name of its speaker once more than it says it.

    Args:
        columns: The rows.
        names: Hashed words of the name of each speaker, by code.
    """
    rows = len(columns)
    every = np.arange(rows, dtype=np.uint64)
    said, sayers = _said(columns.speaker, names)
    terms = np.concatenate([columns.terms, said])
    owners = np.concatenate([np.repeat(every, columns.term_counts), sayers])
    held = (terms.astype(np.uint64) << np.uint64(32)) | owners
    held.sort()
    first = np.flatnonzero(_is_first(held))
    owner = (held[first] & np.uint64(0xFFFFFFFF)).astype(np.int32)
    term = (held[first] >> np.uint64(32)).astype(np.uint32)
    times = np.diff(np.append(first, len(held)))
    begins = np.flatnonzero(_is_first(term))
    is_question = np.zeros(rows, np.bool_)
    is_question[owner[term == QUESTION]] = True
    return Postings(
        rows,
        term[begins],
        np.append(begins, len(term)).astype(np.int64),
        owner,
        times.astype(np.float32),
        (columns.term_counts - is_question).astype(np.float64),
        is_question,
    )


def _is_first(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of sorted values differ from the one before."""
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return is_first


def _said(
    speaker: NDArray[np.int32], names: Sequence[Sequence[int]]
) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
    """Terms of the speakers' names for all rows, and the row of each."""
    order = np.argsort(speaker, kind="stable")
    ends = np.searchsorted(speaker[order], np.arange(len(names) + 1))
    terms, rows = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint64)]
    for code, name in enumerate(names):
        mine = order[ends[code] : ends[code + 1]].astype(np.uint64)
        for term in name:
            terms.append(np.full(len(mine), term, np.uint32))
            rows.append(mine)
    return np.concatenate(terms), np.concatenate(rows)


@dataclass(frozen=True)
class Neighbours:
    """How much a word of one row counts for others of its session; made once a view.

    Attributes:
        offsets: How many places after the row (below 0: before it).
        weights: By offset, float64 (rows,), of the row that the word stands in; 0 where there is no such
            neighbour, or messages are too long to need it.
        session: Number of the session of each row, int64; the last number for rows without one.
        share: Of a word held once by a row of a session, for every row of it, float64 (sessions + 1).
    """

    offsets: tuple[int, ...]
    weights: tuple[Floats, ...]
    session: Positions
    share: Floats

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in (*self.weights, self.session, self.share))

    def spread(self, rows: Positions, amounts: Floats) -> Floats:
        """Amounts of some rows, and what they make of the rows beside them, float64 (rows of the view,)."""
        total = np.zeros(len(self.session))
        total[rows] = amounts
        for offset, weights in zip(self.offsets, self.weights, strict=True):
            weight = weights[rows]
            near = np.flatnonzero(weight)
            total[rows[near] + offset] += amounts[near] * weight[near]  # each place once
        if len(self.share) > 1:
            held = np.bincount(self.session[rows], weights=amounts, minlength=len(self.share)) * self.share
            total += held[self.session]
        return total

    def smoothed(self, values: Floats, part: float) -> Floats:
        """Mean of each row and the rows beside it, these by a part of their weights."""
        total, weight_sum = values.copy(), np.ones(len(values))
        for offset, weights in zip(self.offsets, self.weights, strict=True):
            own, other = _beside(len(values), offset)
            weight = part * weights[own]
            total[other] += weight * values[own]
            weight_sum[other] += weight
        return total / weight_sum


def neighbours(columns: ScopeColumns, lengths: Floats, policy: RecallPolicy) -> Neighbours:
    """Which words count for which other rows.

    A short answer leaves its subject to the turn before; a long message names its own. So the weight
    falls with the length of both: half of it is left where they have ``neighbour_terms`` on average.
    """
    offsets = (1, 2, -1)
    wanted = (policy.previous_weight, policy.earlier_weight, policy.next_weight)
    weights = tuple(
        _weights(columns, lengths, offset, weight, policy.neighbour_terms)
        for offset, weight in zip(offsets, wanted, strict=True)
    )
    has_session = (columns.session >= 0) & ~columns.is_derived
    _, numbers = np.unique(columns.session[has_session], return_inverse=True)
    sessions = int(numbers.max()) + 1 if len(numbers) else 0
    session = np.full(len(columns), sessions, np.int64)
    session[has_session] = numbers
    rows = np.bincount(numbers, minlength=sessions)
    words = np.bincount(numbers, weights=lengths[has_session], minlength=sessions)
    share = policy.session_weight / (rows + policy.session_rows) * _need(words / rows, policy.neighbour_terms)
    return Neighbours(offsets, weights, session, np.append(share, 0.0))


def _weights(columns: ScopeColumns, lengths: Floats, offset: int, weight: float, half_terms: float) -> Floats:
    held = np.zeros(len(columns))
    own, other = _beside(len(columns), offset)
    is_same = (columns.session[own] >= 0) & (columns.session[own] == columns.session[other])
    is_same &= ~columns.is_derived[own] & ~columns.is_derived[other]
    held[own] = np.where(is_same, weight * _need((lengths[own] + lengths[other]) / 2, half_terms), 0.0)
    return held


def _need(terms: Floats, half_terms: float) -> Floats:
    """Part of a weight that is left at a length."""
    return 1 / (1 + (terms / half_terms) ** 2)


def _beside(rows: int, offset: int) -> tuple[slice, slice]:
    """Rows that have another so many places after them, and those others."""
    low, high = max(0, -offset), max(0, rows - max(0, offset))
    high = max(low, high)
    return slice(low, high), slice(low + offset, high + offset)


def coverage(
    words: Sequence[Sequence[int]],
    held: Postings,
    beside: Neighbours,
    policy: RecallPolicy,
    *,
    usual: Postings | None = None,
) -> Floats:
    """How much of a question each row holds: BM25F over the row and its session, 1 for every word once.

    Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", 2004, with the
    other rows as fields and ``ln(1 + (n - df + 0.5) / (df + 0.5))``, which cannot fall below 0. Divided by
    the sum over the question's words, those that no row holds among them, so that scores of two questions
    compare. As many rows without any of the words as ``usual_rows`` are counted in.

    Args:
        words: Forms of each word of the question (``search_terms.query_terms``).
        held: Postings of the rows.
        beside: What counts for other rows.
        policy: ``bm25_k1`` and ``bm25_b``.
        usual: Postings of rows that stand for the whole scope, where ``held`` is only what was found in it:
            they tell how rare a word is and how long a row. Its own where None.

    Returns:
        float64 (rows,), 0 to ``bm25_k1 + 1``.
    """
    total = np.zeros(held.rows)
    if not words or not held.rows:
        return total
    scope = usual or held
    k1, b = policy.bm25_k1, policy.bm25_b
    norms = 1 - b + b * held.lengths / scope.mean_length
    whole = 0.0
    for forms in words:
        rows, counts = held.of(forms)
        holding = len(rows) if usual is None else len(usual.of(forms)[0])
        rarity = math.log1p((scope.rows + policy.usual_rows - holding + 0.5) / (holding + 0.5))
        whole += rarity
        if len(rows):
            amounts = beside.spread(rows, counts / norms[rows])
            total += rarity * (k1 + 1) * amounts / (amounts + k1)
    return total / whole
