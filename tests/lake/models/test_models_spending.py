"""What a model cost, by tenant and task: each token once, and no more than the month may cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lake import tables
from lake.models.live import LiveModel
from tests.lake.models.asking import AS_OF, request, requests
from transforms.costs import cost_rows
from transforms.model_requests import Itemised, Spending
from transforms.schemas import COSTS

PRICES = {"input_price": 100.0, "output_price": 1_000.0}


def counts(spending: list[Spending]) -> dict[tuple[str, str], tuple[int, int]]:
    return {(one.tenant_id, one.task): (one.requests, one.cached) for one in spending}


def test_spending_is_told_apart_and_sums_to_what_was_spent(live):
    model = live(**PRICES)
    assert isinstance(model, Itemised)
    model.ask([*requests("a", "b"), *requests("c", tenant="other"), request("a", task="summary")])
    taken = model.take_spending()
    assert counts(taken) == {("other", "claims"): (1, 0), ("t", "claims"): (2, 0), ("t", "summary"): (1, 0)}
    assert {one.mode for one in taken} == {"live"}
    assert {one.model_key for one in taken} == {model.key}
    for name in ("requests", "cached", "input_tokens", "output_tokens"):
        assert sum(getattr(one, name) for one in taken) == getattr(model.spent, name), name
    assert sum(one.money for one in taken) == pytest.approx(model.spent.money)
    assert min(one.money for one in taken) > 0
    assert model.take_spending() == []


def test_what_is_kept_costs_nothing_and_is_counted(live):
    live().ask(requests("a", "b"))
    second = live(**PRICES)
    second.ask([*requests("a", "b", "c"), *requests("c")])
    assert counts(second.take_spending()) == {("t", "claims"): (1, 2)}


def test_a_refused_request_was_sent_and_took_no_tokens(live, api):
    api.refused_words = {"bad"}
    model = live(**PRICES)
    model.ask(requests("bad", "good"))
    (taken,) = model.take_spending()
    assert taken.requests == 2
    assert (taken.input_tokens, taken.output_tokens) == (model.spent.input_tokens, model.spent.output_tokens)


def test_a_batch_is_charged_once_to_the_run_that_collects_it(batch):
    sender = batch(**PRICES)
    sender.ask(requests("a", "b"))
    (sent,) = sender.take_spending()
    assert (sent.requests, sent.input_tokens, sent.money, sent.mode) == (2, 0, 0.0, "batch")
    collector = batch(**PRICES)
    collector.ask(requests("a", "b"))
    (collected,) = collector.take_spending()
    assert collected.requests == 0
    assert collected.input_tokens == collector.spent.input_tokens > 0
    assert collected.money == pytest.approx(collector.spent.money)
    later = batch(**PRICES)
    later.ask(requests("a", "b"))
    (kept,) = later.take_spending()
    assert (kept.cached, kept.requests, kept.money) == (2, 0, 0.0)


def spent_before(lake, key: str, money: float, month: int = AS_OF.month) -> None:
    at = datetime(AS_OF.year, month, 2, tzinfo=UTC)
    told = [Spending("t", key, "claims", "live", 1, 0, 10, 10, money)]
    rows = cost_rows(told, {"t": "hash"}, run_id=f"r{money}{month}{key}", step="consolidate", as_of=at, at=at)
    tables.append(lake, COSTS, rows)


@pytest.mark.parametrize("kind", ["live", "batch"])
def test_the_budget_of_a_month_counts_what_earlier_runs_spent(kind, live, batch, lake, server):
    make = {"live": live, "batch": batch}[kind]
    key = make().key
    spent_before(lake, key, 3.0)
    spent_before(lake, key, 50.0, month=AS_OF.month - 1)
    spent_before(lake, "other model", 50.0)
    poor = make(**PRICES, budget_money_month=3.0)
    assert {answer.error for answer in poor.ask(requests("a", "b"))} == {"over_budget"}
    assert poor.spent.requests == 0
    rich = make(**PRICES, budget_money_month=4.0)
    assert {answer.error for answer in rich.ask(requests("a", "b"))} <= {None, "batch_running"}
    assert rich.spent.requests == 2


def test_the_budget_of_a_month_stops_within_a_run(live, lake):
    one = live(**PRICES, budget_money=0.0).estimate(requests("a")).money
    model = live(**PRICES, budget_money_month=1.5 * one, max_concurrency=1)
    answers = model.ask([request("a", max_output_tokens=50), request("b", max_output_tokens=50)])
    assert sum(answer.state == "answered" for answer in answers) >= 1
    assert model.spent.money <= 1.5 * one
    assert isinstance(model, LiveModel)
