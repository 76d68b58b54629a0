"""What a run may spend on a model, and what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

from lake.models.config import ModelConfig
from lake.models.wire import Completion, input_tokens, output_tokens, text_tokens
from transforms.model_requests import ModelRequest, Spent


@dataclass(frozen=True)
class Cost:
    """Tokens and money of one request."""

    input_tokens: int
    output_tokens: int
    money: float


class Budget:
    """Counts what is spent, and holds back what would go over. Safe to share between threads.

    A request is weighed at its longest answer before it is sent, and at what it took afterwards.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.spent = Spent()
        self._config = config
        self._ratio = config.batch_price_ratio if config.mode == "batch" else 1.0
        self._reserved_tokens = 0
        self._reserved_money = 0.0
        self._lock = Lock()

    def price(self, sent: int, received: int) -> float:
        """Money for so many tokens."""
        config = self._config
        return (sent * config.input_price + received * config.output_price) * self._ratio / 1_000_000

    def most(self, requests: list[ModelRequest]) -> list[Cost]:
        """What each request costs at most, by our own count of tokens."""
        counts = zip(input_tokens(requests), requests, strict=True)
        sizes = [(sent, output_tokens(request, self._config)) for sent, request in counts]
        return [Cost(sent, received, self.price(sent, received)) for sent, received in sizes]

    def actual(self, completion: Completion, most: Cost) -> Cost:
        """What an answer took: the server's count, ours where it gives none."""
        sent = most.input_tokens if completion.input_tokens is None else completion.input_tokens
        received = completion.output_tokens
        if received is None:
            received = text_tokens(completion.text)
        return Cost(sent, received, self.price(sent, received))

    def reserve(self, most: Cost) -> bool:
        """Set the cost aside; False, and nothing is, where it goes over the budget."""
        config = self._config
        with self._lock:
            tokens = self._reserved_tokens + most.input_tokens + most.output_tokens
            money = self._reserved_money + most.money
            if config.budget_tokens is not None and tokens > config.budget_tokens:
                return False
            if config.budget_money is not None and money > config.budget_money:
                return False
            self._reserved_tokens, self._reserved_money = tokens, money
            return True

    def settle(self, most: Cost, took: Cost | None) -> None:
        """Replace what was set aside by what it took; None: nothing was paid."""
        with self._lock:
            self._reserved_tokens -= most.input_tokens + most.output_tokens
            self._reserved_money -= most.money
            if took is not None:
                self._reserved_tokens += took.input_tokens + took.output_tokens
                self._reserved_money += took.money
                self._note(took)

    def note(self, took: Cost) -> None:
        """Count what an earlier run sent and this one collects; it weighs on no budget of this run."""
        with self._lock:
            self._note(took)

    def _note(self, took: Cost) -> None:
        self.spent.input_tokens += took.input_tokens
        self.spent.output_tokens += took.output_tokens
        self.spent.money += took.money
