"""One call of ``ask``: what is kept already, what may be sent, what became of each request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lake.models.budget import Budget, Cost
from lake.models.cache import Answers, Kept, named
from lake.models.config import ModelConfig
from lake.models.wire import Completion
from transforms.model_requests import ModelAnswer, ModelRequest, Spent

OVER_BUDGET = "over_budget"
"""Pending: it did not fit what the run may spend."""
OVER_CONTEXT = "over_context"
"""Failed, and not kept: request and longest answer exceed what the configured model can read and write."""


class Asked:
    """Requests of one call, each once, and their answers.

    Attributes:
        requests: By result id, in the order they came.
        kept: Result ids whose final answer is kept now.
    """

    def __init__(
        self, requests: Sequence[ModelRequest], config: ModelConfig, answers: Answers, budget: Budget
    ) -> None:
        self._names = named(requests, config.key)
        self.requests = dict(zip(self._names, requests, strict=True))
        self._answers = answers
        self._budget = budget
        self._done = answers.held(self.requests)
        self.kept = set(self._done)
        fresh = [name for name in self.requests if name not in self._done]
        costs = budget.most([self.requests[name] for name in fresh])
        self._most = dict(zip(fresh, costs, strict=True))
        for name, most in self._most.items():
            if most.input_tokens + most.output_tokens > config.context_tokens:
                self._done[name] = ModelAnswer("failed", error=OVER_CONTEXT)

    @property
    def open(self) -> list[str]:
        """Result ids without an answer, in order."""
        return [name for name in self.requests if name not in self._done]

    def most(self, name: str) -> Cost:
        """What a request without a kept answer costs at most."""
        return self._most[name]

    def affordable(self, names: Sequence[str]) -> list[str]:
        """Those of the requests that fit the budget, set aside in it."""
        return [name for name in names if self._budget.reserve(self._most[name])]

    def completed(self, name: str, completion: Completion, *, is_of_this_run: bool = True) -> None:
        """The model answered, with a text or a final reason for none; it is kept."""
        took = self._budget.actual(completion, self._most[name])
        if is_of_this_run:
            self._budget.settle(self.requests[name], self._most[name], took)
        else:
            self._budget.note(self.requests[name], took)
        kept = Kept(completion.text, completion.error, took.input_tokens, took.output_tokens)
        self._finish(name, kept)

    def refused(self, name: str, error: str, *, is_of_this_run: bool = True) -> None:
        """The server refuses this request for good; it is kept as failed."""
        if is_of_this_run:
            self._budget.settle(self.requests[name], self._most[name], None)
        self._finish(name, Kept("", error, 0, 0))

    def _finish(self, name: str, kept: Kept) -> None:
        self._answers.keep(name, self.requests[name], kept)
        self.kept.add(name)
        self._done[name] = ModelAnswer("failed" if kept.error else "answered", kept.text, kept.error)

    def unpaid(self, name: str) -> None:
        """A request that was set aside was not answered."""
        self._budget.settle(self.requests[name], self._most[name], None)

    def postpone(self, name: str, error: str | None) -> None:
        """The request waits for a later run."""
        self._done[name] = ModelAnswer("pending", error=error)

    def ordered(self) -> list[ModelAnswer]:
        """Answers in the order of the requests, and counted."""
        count(self._budget.spent, [self._done[name] for name in self.requests])
        for name, request in self.requests.items():
            if self._done[name].is_cached:
                self._budget.met(request)
        return [self._done[name] for name in self._names]


def count(spent: Spent, answers: Sequence[ModelAnswer]) -> None:
    """Add the answers to the counts."""
    spent.cached += sum(answer.is_cached for answer in answers)
    spent.failed += sum(answer.state == "failed" for answer in answers)
    spent.pending += sum(answer.state == "pending" for answer in answers)
    errors = Counter(answer.error for answer in answers if answer.error and not answer.is_cached)
    for error, times in errors.items():
        spent.errors[error] = spent.errors.get(error, 0) + times


def estimated(asked: Asked, running: frozenset[str] = frozenset()) -> Spent:
    """What the open requests cost at most; those in a running batch are paid for."""
    fresh = [name for name in asked.open if name not in running]
    costs = [asked.most(name) for name in fresh]
    return Spent(
        input_tokens=sum(cost.input_tokens for cost in costs),
        output_tokens=sum(cost.output_tokens for cost in costs),
        money=sum(cost.money for cost in costs),
        requests=len(fresh),
        cached=len(asked.kept),
        failed=len(asked.requests) - len(asked.kept) - len(asked.open),
        pending=len(asked.open) - len(fresh),
    )
