"""What a run may spend on a model, and what it spent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from threading import Lock

import polars as pl

from lake import tables
from lake.lake import Lake
from lake.models.config import ModelConfig
from lake.models.wire import Completion, input_tokens, output_tokens, text_tokens
from transforms.model_requests import ModelRequest, Spending, Spent
from transforms.schemas import COSTS


@dataclass(frozen=True)
class Cost:
    """Tokens and money of one request."""

    input_tokens: int
    output_tokens: int
    money: float


class Budget:
    """Counts what is spent, and holds back what would go over. Safe to share between threads.

    A request is weighed at its longest answer before it is sent, and at what it took afterwards.

    Args:
        config: Prices and limits.
        month_money: What earlier runs of this month spent at this model.
    """

    def __init__(self, config: ModelConfig, month_money: float = 0.0) -> None:
        self.spent = Spent()
        self._config = config
        self._items: dict[tuple[str, str], Spent] = {}
        self._month_money = month_money
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
            month = config.budget_money_month
            if month is not None and self._month_money + money > month:
                return False
            self._reserved_tokens, self._reserved_money = tokens, money
            return True

    def settle(self, request: ModelRequest, most: Cost, took: Cost | None) -> None:
        """Replace what was set aside for a request by what it took; None: nothing was paid."""
        with self._lock:
            self._reserved_tokens -= most.input_tokens + most.output_tokens
            self._reserved_money -= most.money
            if took is not None:
                self._reserved_tokens += took.input_tokens + took.output_tokens
                self._reserved_money += took.money
                self._note(request, took)

    def note(self, request: ModelRequest, took: Cost) -> None:
        """Count what an earlier run sent and this one collects; it weighs on no budget of this run alone."""
        with self._lock:
            self._month_money += took.money
            self._note(request, took)

    def sent(self, request: ModelRequest) -> None:
        """Count a request that was sent."""
        with self._lock:
            self.spent.requests += 1
            self._item(request).requests += 1

    def met(self, request: ModelRequest) -> None:
        """Count, for its tenant and task, a request that was answered from what is kept."""
        with self._lock:
            self._item(request).cached += 1

    def take_spending(self) -> list[Spending]:
        """See ``transforms.model_requests.Itemised``."""
        with self._lock:
            items, self._items = self._items, {}
        return [
            Spending(
                tenant, self._config.key, task, self._config.mode, spent.requests, spent.cached,
                spent.input_tokens, spent.output_tokens, spent.money,
            )
            for (tenant, task), spent in sorted(items.items())
        ]  # fmt: skip

    def _note(self, request: ModelRequest, took: Cost) -> None:
        for spent in (self.spent, self._item(request)):
            spent.input_tokens += took.input_tokens
            spent.output_tokens += took.output_tokens
            spent.money += took.money

    def _item(self, request: ModelRequest) -> Spent:
        return self._items.setdefault((request.tenant_id, request.task), Spent())


def month_money(lake: Lake, config: ModelConfig, as_of: datetime) -> float:
    """What the ledger says was spent at this model in the month of an instant; 0 where no budget asks."""
    if config.budget_money_month is None:
        return 0.0
    month = pl.col("as_of_at").dt.strftime("%Y-%m") == as_of.strftime("%Y-%m")
    rows = tables.scan(lake, COSTS).filter(pl.col("model_key") == config.key, month)
    return float(rows.select(pl.col("money").sum()).collect().item())
