"""One search as it is asked: what every step of it reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lake.scope import Filters, Scope
from transforms.policy import Policy
from transforms.weights import Weights

if TYPE_CHECKING:
    from lake.rerankers.protocol import Reranker
    from transforms.routing import Route


@dataclass(frozen=True)
class Asked:
    """One search.

    Attributes:
        text: The query, NFC, well-formed.
        vector: float32 (dimensions,), of length 1; zeros where the model refused the query.
        scopes: Whose memories: the caller's own first, then those it reads besides. Each becomes the
            store's predicate; their rows are ranked together.
        filters: Which rows of them are served.
        policy: Weights and limits.
        count: Rows that are scored by all factors: the most relevant ones.
        limit: Rows that are wanted, near-duplicates apart; None: all scored ones, with those that repeat.
        route: How the query is to be read; None: as any other.
        weights: Of the factors; the policy's where None.
        zone: Whose days the question speaks of.
        reranker: Orders the most relevant rows anew; None: their relevance stands.
    """

    text: str
    vector: NDArray[np.float32]
    scopes: tuple[Scope, ...]
    filters: Filters
    policy: Policy
    count: int
    limit: int | None = None
    route: Route | None = None
    weights: Weights | None = None
    zone: tzinfo = UTC
    reranker: Reranker | None = None
