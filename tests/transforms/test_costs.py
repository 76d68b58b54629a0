"""Spending to rows of the ledger: hashes, sums, and tokens split without losing one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.costs import apportioned, by_tenant, cost_rows
from transforms.ledgers import COSTS
from transforms.model_requests import Spending

AT = datetime(2026, 3, 14, 2, tzinfo=UTC)
HASHES = {"acme": "h1", "globex": "h2"}


def rows(*spending: Spending) -> pl.DataFrame:
    return cost_rows(spending, HASHES, run_id="r", step="embed", as_of=AT, at=AT + timedelta(seconds=5))


def test_one_row_a_tenant_model_task_and_mode() -> None:
    one = Spending("acme", "m", "claims", "live", 2, 1, 100, 20, 0.5)
    found = rows(
        one,
        Spending("acme", "m", "claims", "live", 1, 0, 50, 5, 0.25),
        Spending("globex", "m", "claims", "live", 1),
    )
    assert found.schema == COSTS.polars
    names = ("tenant_hash", "requests", "cached", "input_tokens", "output_tokens", "money")
    assert found.select(names).rows() == [("h1", 3, 1, 150, 25, 0.75), ("h2", 1, 0, 0, 0, 0.0)]
    assert found["cost_id"].n_unique() == 2
    assert "acme" not in str(found.to_dicts())


def test_the_order_of_what_was_spent_changes_nothing() -> None:
    spending = [Spending("acme", "m", "claims", "live", n, 0, n, n, 0.1 * n) for n in range(1, 9)]
    assert rows(*spending).equals(rows(*reversed(spending)))


def test_tokens_are_split_by_length_of_text() -> None:
    tenants, texts = pl.Series(["acme", "globex", "acme"]), pl.Series(["aaaa", "bb", "aa"])
    found = by_tenant(tenants, texts, 9, model_key="m", mode="live", price=2_000_000)
    assert [(s.tenant_id, s.requests, s.input_tokens, s.money) for s in found] == [
        ("acme", 2, 7, 14.0),
        ("globex", 1, 2, 4.0),
    ]


def test_empty_texts_share_evenly() -> None:
    found = by_tenant(pl.Series(["b", "a"]), pl.Series(["", ""]), 3, model_key="m", mode="local", price=0.0)
    assert [s.input_tokens for s in found] == [2, 1]


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_no_token_is_lost_and_no_share_is_off_by_one(total: int, weights: list[int]) -> None:
    parts = apportioned(total, weights)
    assert sum(parts) == total
    whole = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        exact = total * weight / whole if whole else total / len(weights)
        assert part == pytest.approx(exact, abs=1 + 1e-6 * total)
