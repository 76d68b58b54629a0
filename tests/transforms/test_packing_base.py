"""A context begins alike for every query: base rows first, then the open session as it went."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.test_packing import T0, chars, cost, frame, ids, packed, words
from transforms.errors import UsageError
from transforms.packing import available_tokens
from transforms.policy_recall import ContextPolicy
from transforms.rendering import HEADER, render

FACTS = pl.concat(
    [
        frame({"text": f"fact {i}", "tier": "semantic", "event_at": T0 + timedelta(days=i)}).with_columns(
            memory_id=pl.lit(f"f{i}")
        )
        for i in range(4)
    ]
)


def test_base_rows_come_first_in_their_own_order_and_make_the_prefix() -> None:
    others = frame({"text": "an episode"}, {"tier": "working", "text": "just now"})
    result = packed(others, 2000, base=FACTS)
    assert ids(result.rows) == ["f0", "f1", "f2", "f3", "m01", "m00"]
    assert result.prefix == render(FACTS).removesuffix("</memories>")
    assert result.text.startswith(result.prefix)


@given(
    st.lists(st.text("ab \n<", max_size=60), max_size=8),
    st.integers(200, 3000),
    st.sampled_from([chars, words]),
    st.booleans(),
)
def test_what_is_asked_never_changes_the_prefix(texts: list[str], budget: int, count, is_found: bool) -> None:  # type: ignore[no-untyped-def]
    asked = frame(*({"text": text} for text in texts))
    found = pl.concat([asked, FACTS.head(2)]) if is_found else asked
    plain = packed(frame(), budget, base=FACTS, count=count)
    result = packed(found, budget, base=FACTS, count=count)
    assert result.prefix == plain.prefix
    assert result.tokens_used <= budget
    named = [*ids(found), *(name for name in ids(FACTS) if name not in ids(found))]
    assert sorted(ids(result.rows) + ids(result.dropped)) == sorted(named)


def test_the_first_base_rows_are_kept_where_not_all_fit_and_shown_by_time() -> None:
    two = sum(cost(FACTS)[2:])
    policy = ContextPolicy(base_share=1.0)
    budget = len(HEADER) + len("</memories>") + two
    result = packed(frame(), budget, policy, base=FACTS.reverse())
    assert ids(result.rows) == ["f2", "f3"]
    assert dict(result.dropped.select("memory_id", "reason").rows()) == {"f0": "budget", "f1": "budget"}


def test_a_base_row_that_does_not_fit_may_still_be_found_but_not_in_the_prefix() -> None:
    result = packed(FACTS.head(1), 2000, ContextPolicy(base_share=0.0), base=FACTS)
    assert result.prefix == ""
    assert ids(result.rows) == ["f0"]


def test_base_rows_spend_the_share_of_their_tier() -> None:
    policy = ContextPolicy(shares={"semantic": 0.25, "episodic": 0.75}, base_share=0.25)
    found = [{"tier": "semantic", "text": "x" * 200, "relevance": 1.0}] * 3
    rows = frame(*found, *({"tier": "episodic", "text": "y" * 200} for _ in range(9)))
    result = packed(rows, 1500, policy, base=FACTS)
    tokens = dict(result.by_tier().select("tier", "tokens").rows())
    assert tokens["semantic"] <= 0.25 * 1500 + cost(rows)[0]


def test_the_open_session_is_shown_as_it_went_whatever_its_relevance() -> None:
    later = {"tier": "working", "text": "then", "event_at": T0 + timedelta(hours=1), "relevance": 0.0}
    rows = frame(later, {"tier": "working", "text": "first", "relevance": 0.0}, {"text": "old"})
    result = packed(rows, 2000, relevance_floor=0.5)
    assert result.rows["text"].to_list() == ["first", "then", "old"]


def test_the_budget_is_what_a_window_leaves() -> None:
    policy = ContextPolicy(output_reserve_tokens=100)
    assert available_tokens(policy, 1000, ["x" * 50, "y" * 10], None, chars) == 840
    assert available_tokens(policy, 1000, ["x" * 50], 0, chars) == 950
    with pytest.raises(UsageError, match="no room for memories"):
        available_tokens(policy, 120, ["x" * 50], None, chars)
