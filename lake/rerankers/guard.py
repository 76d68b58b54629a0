"""Between a search and its reranker: failures become a code, are counted, and stop the asking for a while."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Lock

import numpy as np

from lake.rerankers.config import RerankerConfig
from lake.rerankers.protocol import Reranked, RerankFailedError, Scores

ANSWERED = "answered"
RESTING = "resting"
"""Not asked: it failed ``max_failures`` times in a row a short while ago."""


class Guard:
    """Counts and pauses of one reranker. Safe between threads.

    Args:
        config: Of the reranker.
        clock: Seconds; for tests.
    """

    def __init__(self, config: RerankerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._lock = Lock()
        self._counts: Counter[str] = Counter()
        self._in_a_row = 0
        self._rests_until = -np.inf

    @property
    def counts(self) -> Mapping[str, int]:
        """Calls so far, by outcome."""
        with self._lock:
            return dict(self._counts)

    def run(self, score: Callable[[], Scores]) -> Reranked:
        """What ``score`` gives, or why it gave nothing."""
        with self._lock:
            is_resting = self._clock() < self._rests_until
        if is_resting:
            return self.withheld(RESTING)
        try:
            scores = score()
        except RerankFailedError as error:
            return self._failed(error.reason)
        with self._lock:
            self._counts[ANSWERED] += 1
            self._in_a_row = 0
        return Reranked(scores)

    def withheld(self, reason: str) -> Reranked:
        """A call that is not put to the model; no fault of the model's."""
        with self._lock:
            self._counts[reason] += 1
        return Reranked(None, reason)

    def _failed(self, reason: str) -> Reranked:
        with self._lock:
            self._counts[reason] += 1
            self._in_a_row += 1
            if self._in_a_row >= self._config.max_failures:
                self._rests_until = self._clock() + self._config.rest_seconds
                self._in_a_row = 0
            return Reranked(None, reason)
