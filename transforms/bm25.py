"""BM25 over a handful of texts held in memory: the word search of rows that no index holds yet."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Scripts without blanks between words: each character counts as a word, as no dictionary is at hand.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
K1, B = 1.2, 0.75


def words(text: str) -> Counter[str]:
    """Counts of the lower-cased words of a text."""
    return Counter(_WORD.findall(text.lower()))


def bm25(documents: Sequence[Counter[str]], query: str) -> NDArray[np.float64]:
    """Okapi BM25 (k1 1.2, b 0.75) of each document for the query's words, these being the collection.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; with
    the idf that cannot fall below 0, ln(1 + (n - df + 0.5) / (df + 0.5)).
    """
    scores = np.zeros(len(documents))
    if not documents:
        return scores
    lengths = np.array([document.total() for document in documents], np.float64)
    norms = K1 * (1 - B + B * lengths / (float(lengths.mean()) or 1.0))
    for word in sorted(words(query)):
        counts = np.array([document.get(word, 0) for document in documents], np.float64)
        holding = int(np.count_nonzero(counts))
        if holding:
            rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            scores += rarity * counts * (K1 + 1) / (counts + norms)
    return scores
