"""What a reranker is, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Reranked:
    """Scores of texts for a query, or why there are none.

    Attributes:
        scores: float64 (texts,), finite, higher is better, in the order of the texts; None after a failure.
        failure: Short code, such as ``time_out``, that never holds content; None where there are scores.
    """

    scores: Scores | None
    failure: str | None = None


class Reranker(Protocol):
    """Scores texts against a query, reading both together. Never raises; safe between threads."""

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """Scores of the texts."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls so far: ``answered``, and by failure."""


class RerankFailedError(Exception):
    """There are no scores.

    Attributes:
        reason: A short code without content.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
