"""What recall is measured beside: rows ranked by words alone (BM25) and by vectors alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from transforms.bm25 import K1, B, words

Places = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]

_CELLS = 8_000_000
"""Scores held at once (64 MB)."""


def by_words(texts: Sequence[str], queries: Sequence[str], count: int) -> list[Places]:
    """Positions of the best texts for each query by Okapi BM25, best first; those without a common word last.

    The formula and the words are those of ``transforms.bm25``, without stemming and without any other
    factor; ties keep the order of the texts.

    Args:
        texts: The collection.
        queries: What is asked.
        count: Most positions a query.
    """
    documents, vocabulary = _counts(texts, {})
    asked, vocabulary = _counts(queries, vocabulary)
    held = sparse.csr_matrix(documents, shape=(len(texts), len(vocabulary)), dtype=np.float64)
    lengths = np.asarray(held.sum(axis=1)).ravel()
    norms = K1 * (1 - B + B * lengths / (float(lengths.mean()) or 1.0))
    holding = np.bincount(held.indices, minlength=len(vocabulary))
    rarity = np.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
    of = np.repeat(np.arange(len(texts)), np.diff(held.indptr))
    held.data = rarity[held.indices] * held.data * (K1 + 1) / (held.data + norms[of])
    wanted = sparse.csr_matrix(asked, shape=(len(queries), len(vocabulary)), dtype=np.float64)
    wanted.data[:] = 1.0
    found: list[Places] = []
    for some in _portions(len(queries), len(texts)):
        scores = np.asarray((wanted[some] @ held.T).todense())
        found += [np.argsort(-row, kind="stable")[:count] for row in scores]
    return found


def by_vectors(vectors: Vectors, queries: Vectors, count: int) -> list[Places]:
    """Positions of the vectors nearest to each query by cosine, best first.

    Args:
        vectors: n x d, of length 1 or zeros.
        queries: q x d, likewise.
        count: Most positions a query.
    """
    found: list[Places] = []
    for some in _portions(len(queries), len(vectors)):
        scores = np.einsum("qd,nd->qn", queries[some], vectors, optimize=True)
        found += [np.argsort(-row, kind="stable")[:count] for row in scores]
    return found


def _portions(queries: int, rows: int) -> Iterator[slice]:
    """Queries in portions whose scores fit."""
    size = max(1, _CELLS // max(rows, 1))
    for start in range(0, queries, size):
        yield slice(start, start + size)


_Cells = tuple[npt.NDArray[np.float64], tuple[Places, Places]]


def _counts(texts: Sequence[str], vocabulary: dict[str, int]) -> tuple[_Cells, dict[str, int]]:
    """Counts of words as cells of a sparse matrix, and the vocabulary grown by them."""
    grown = dict(vocabulary)
    rows, columns, values = [], [], []
    for row, text in enumerate(texts):
        for word, count in words(text).items():
            rows.append(row)
            columns.append(grown.setdefault(word, len(grown)))
            values.append(count)
    cells = (np.array(rows, np.int64), np.array(columns, np.int64))
    return (np.array(values, np.float64), cells), grown
