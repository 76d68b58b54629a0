"""A model that answers within the run: a few threads, one budget, answers kept as they come."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime
from threading import Event, Lock

from lake.lake import Lake
from lake.models.asked import OVER_BUDGET, Asked, estimated
from lake.models.budget import Budget, month_money
from lake.models.cache import Answers
from lake.models.chat import Chat, Outcome
from lake.models.config import ModelConfig
from transforms.errors import EndpointError
from transforms.model_requests import ModelAnswer, ModelRequest, Spending, Spent

ENDPOINT_DOWN = "endpoint_down"
"""Pending: not sent, because the requests before it were given up one after the other."""
_DOWN_AFTER = 3
"""So many requests given up in a row, at the least, before the endpoint counts as down."""


class LiveModel:
    """See ``transforms.model_requests.Model``. Not to be shared between threads."""

    def __init__(
        self,
        config: ModelConfig,
        lake: Lake,
        as_of: datetime,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet; ``sleep``, ``rng`` and ``clock`` serve the retries (see ``Endpoint``)."""
        self._config = config
        self._chat = Chat(config, sleep=sleep, rng=rng, clock=clock)
        self._answers = Answers(lake, config.key, as_of)
        self._budget = Budget(config, month_money(lake, config, as_of))
        self._gave_up_in_a_row = 0
        self._is_down = False
        self._judging = Lock()
        self._first_loss = ""

    @property
    def key(self) -> str:
        """See ``ModelConfig.key``."""
        return self._config.key

    @property
    def spent(self) -> Spent:
        """Since it was made."""
        return self._budget.spent

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer]:
        """Answers in the order of the requests, from those kept where there are such.

        A request that the server refuses fails for good. One that it did not answer in all attempts waits,
        and so does what does not fit the budget; where the endpoint is down, the rest is not sent.

        Raises:
            EndpointError: Not authorised, no such model, out of quota, every request is refused, or the
                endpoint answered nothing at all. What was answered before is kept.
            StorageError: Answers cannot be kept.
        """
        asked = Asked(requests, self._config, self._answers, self._budget)
        try:
            # What an answer leaves of its share goes to the next that fits, until none does.
            while not self._is_down and (names := asked.affordable(asked.open)):
                self._run(asked, names)
        finally:
            self._answers.flush()
        if self._first_loss and not self._chat.has_answered:
            raise EndpointError(self._first_loss, "Check that base_url is reachable from here, or run again.")
        for name in asked.open:
            asked.postpone(name, ENDPOINT_DOWN if self._is_down else OVER_BUDGET)
        return asked.ordered()

    def estimate(self, requests: Sequence[ModelRequest]) -> Spent:
        """See ``transforms.model_requests.Model``; the budget is not looked at."""
        return estimated(Asked(requests, self._config, self._answers, self._budget))

    def take_spending(self) -> list[Spending]:
        """See ``transforms.model_requests.Itemised``."""
        return self._budget.take_spending()

    def close(self) -> None:
        """Close idle connections."""
        self._chat.close()

    def _run(self, asked: Asked, names: Sequence[str]) -> None:
        """Send the requests; the first error that concerns all of them stops the others."""
        stop = Event()
        failures: list[EndpointError] = []
        with ThreadPoolExecutor(self._config.max_concurrency, "model") as pool:
            running = {pool.submit(self._one, asked.requests[name], stop): name for name in names}
            waiting = set(running)
            try:
                for future in as_completed(running):
                    waiting.discard(future)
                    self._take(asked, running[future], future, failures)
            finally:  # also when interrupted: what is under way is paid for
                stop.set()
                pool.shutdown(cancel_futures=True)
                for future in waiting:
                    self._take(asked, running[future], future, failures)
        if failures:
            raise failures[0]

    def _one(self, request: ModelRequest, stop: Event) -> Outcome | None:
        """The outcome of one request; None where it was not sent. Judged here, in its thread: at once."""
        if stop.is_set():
            return None
        try:
            outcome = self._chat.ask(request)
        except EndpointError:
            stop.set()
            raise
        with self._judging:
            self._gave_up_in_a_row = 0 if outcome.is_final else self._gave_up_in_a_row + 1
            self._is_down |= self._gave_up_in_a_row >= max(_DOWN_AFTER, self._config.max_concurrency)
            if self._is_down:
                stop.set()
        return outcome

    def _take(
        self, asked: Asked, name: str, future: Future[Outcome | None], failures: list[EndpointError]
    ) -> None:
        """Note the outcome of one request."""
        try:
            outcome = None if future.cancelled() else future.result()
        except EndpointError as error:
            asked.unpaid(name)
            asked.postpone(name, "stopped")
            failures.append(error)
            return
        if outcome is None:
            asked.unpaid(name)
            return
        self._budget.sent(asked.requests[name])
        if outcome.is_final:
            if outcome.completion is not None:
                asked.completed(name, outcome.completion)
            else:
                asked.refused(name, outcome.error or "refused")
            return
        asked.unpaid(name)
        asked.postpone(name, outcome.error)
        self._first_loss = self._first_loss or outcome.detail
