"""How relevant each row of a scope is to a question: its words, its meaning, who speaks, what it says.

Tuned on five conversations and measured on five others; see docs/adr/0017.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transforms.lexical import Neighbours, Postings, coverage, neighbours, postings
from transforms.policy_recall import RecallPolicy
from transforms.scope_columns import ScopeColumns
from transforms.search_terms import query_terms

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        words: Forms of each of its words, hashed.
        vector: float32 (d,) of length 1, or zeros.
    """

    words: tuple[tuple[int, ...], ...]
    vector: NDArray[np.float32]


def question(text: str, vector: NDArray[np.float32]) -> Question:
    """The question of a text and its vector."""
    return Question(query_terms(text), vector)


@dataclass(frozen=True)
class Prepared:
    """What no question changes of the rows of a view; kept with it.

    Attributes:
        held: Postings of the rows.
        beside: Neighbours of the rows.
        prior: Factor of each row: short ones and questions answer rarely.
        speakers: By speaker code, the words of the name.
    """

    held: Postings
    beside: Neighbours
    prior: Floats
    speakers: Mapping[int, frozenset[int]]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.held.nbytes + self.beside.nbytes + self.prior.nbytes


def prepare(columns: ScopeColumns, policy: RecallPolicy) -> Prepared:
    """Everything about the rows that a search does not have to work out again.

    Args:
        columns: Sorted rows, whole scopes where they can be had.
        policy: The policy that ``relevance`` is asked with.
    """
    names = [[form for forms in query_terms(name) for form in forms] for name in columns.speaker_names]
    held = postings(columns, names)
    substance = held.lengths / (held.lengths + policy.substance_terms)
    prior = 1 - policy.substance_share + 2 * policy.substance_share * substance
    prior = prior * np.where(held.is_question, 1 - policy.question_share, 1.0)
    speakers: dict[int, set[int]] = {}
    for code, name in enumerate(names):
        for form in name:
            speakers.setdefault(form, set()).add(code)
    frozen = {form: frozenset(codes) for form, codes in speakers.items()}
    return Prepared(held, neighbours(columns, held.lengths, policy), prior, frozen)


@dataclass(frozen=True)
class Relevance:
    """By row, float64 (rows,).

    Attributes:
        relevance: 0 to 1; only this ranks.
        cosine: Of the row's vector to the question's.
        words: Part of the question that the row and its neighbours hold; NaN where none.
    """

    relevance: Floats
    cosine: Floats
    words: Floats


def relevance(
    asked: Question,
    columns: ScopeColumns,
    policy: RecallPolicy,
    *,
    prepared: Prepared | None = None,
    usual: tuple[ScopeColumns, Prepared] | None = None,
) -> Relevance:
    """Relevance of every row.

    Args:
        asked: The question.
        columns: All rows of a scope, or what an index found in it; sorted.
        policy: Weights.
        prepared: ``prepare(columns, policy)``, where it is kept. Rows that are not served may be among
            them: they are left out of the answer afterwards.
        usual: Some thousand rows at random of a scope of which ``columns`` are only what was found, and what
            was prepared of them: they tell which words are rare in it and which cosine is usual.
    """
    ready = prepared or prepare(columns, policy)
    words = coverage(asked.words, ready.held, ready.beside, policy, usual=usual and usual[1].held)
    cosine = columns.vectors.dots(asked.vector).astype(np.float64)
    judge = (len(cosine), *_usual(cosine)) if usual is None else _of_sample(usual[0], asked.vector)
    near = ready.beside.smoothed(_standing(cosine, *judge, policy), policy.neighbour_vectors)
    base = (1 - policy.vector_share) * words + policy.vector_share * near
    base *= ready.prior
    named = _named(asked, ready)
    if named is not None:
        base *= np.where(columns.speaker == named, 1 + policy.speaker_share, 1.0)
    return Relevance(np.tanh(base), cosine, np.where(words > 0, words, np.nan))


def _named(asked: Question, ready: Prepared) -> int | None:
    """Code of the speaker that the question names; None for none or several."""
    found: set[int] = set()
    for forms in asked.words:
        for form in forms:
            found |= ready.speakers.get(form, frozenset())
    return found.pop() if len(found) == 1 else None


def _usual(cosine: Floats) -> tuple[float, float]:
    """Mean and variance."""
    return (float(cosine.mean()), float(cosine.var())) if len(cosine) else (0.0, 0.0)


def _of_sample(sample: ScopeColumns, query: NDArray[np.float32]) -> tuple[int, float, float]:
    """Rows of a sample, and mean and variance of their cosines: by two products, whatever the rows are."""
    mean, covariance = sample.vectors.moments
    wide = query.astype(np.float64)
    return (
        len(sample),
        float(np.einsum("d,d->", mean, wide)),
        max(0.0, float(np.einsum("d,d->", np.einsum("cd,d->c", covariance, wide), wide))),
    )


def _standing(cosine: Floats, rows: int, mean: float, own_variance: float, policy: RecallPolicy) -> Floats:
    """Cosine as its distance from what is usual in the scope, about 0 to 1: models scale it differently.

    A scope of few rows has no usual cosine of its own yet, so as many rows as ``usual_rows`` of the
    usual spread are counted in.
    """
    if not rows:
        return np.zeros(len(cosine))
    few, spread = policy.usual_rows, policy.usual_spread
    variance = (own_variance * rows + few * spread**2) / (rows + few)
    most = math.sqrt(variance) * policy.most_spreads
    return np.maximum(cosine - mean, 0.0) / most
