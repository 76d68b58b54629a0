"""Packing: never above budget, nothing lost, shares kept, what is left flows on."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.packing import ELLIPSIS, Count, Packed, Shorten, pack
from transforms.policy_recall import ContextPolicy
from transforms.rendering import FOOTER, HEADER, block, openings, render
from transforms.schemas import INSTANT

T0 = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA: dict[str, Any] = {
    "memory_id": pl.String,
    "kind": pl.String,
    "tier": pl.String,
    "role": pl.String,
    "speaker": pl.String,
    "text": pl.String,
    "outcome": pl.String,
    "failure_reason": pl.String,
    "event_at": INSTANT,
    "relevance": pl.Float64,
    "score": pl.Float64,
}
TIERS = ("working", "semantic", "episodic", "procedural")
NEVER_SUMMARISED = ContextPolicy(min_summary_tokens=10**9)
FRAME = len(HEADER + FOOTER)


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows with ids m00, m01, ... whose scores fall in the order given."""
    plain = {"kind": "fact", "tier": "episodic", "text": "tea", "event_at": T0, "relevance": 1.0}
    named = [{**plain, "memory_id": f"m{i:02}", "score": 0.99 - i / 100, **row} for i, row in enumerate(rows)]
    return pl.DataFrame(named, schema=SCHEMA)


def chars(texts: Sequence[str]) -> list[int]:
    """A token a character: additive, easy to reckon with."""
    return [len(text) for text in texts]


def words(texts: Sequence[str]) -> list[int]:
    """Runs of up to four letters, runs of white space, single signs: not additive over joins."""
    return [len(re.findall(r"\w{1,4}|\s+|[^\w\s]", text)) for text in texts]


def steep(texts: Sequence[str]) -> list[int]:
    """A joined text costs much more than its parts."""
    return [len(text) + (len(text) // 60) ** 2 for text in texts]


def head(text: str, limit: int) -> str:
    return text[:limit]


def packed(
    rows: pl.DataFrame,
    budget: int,
    policy: ContextPolicy | None = None,
    *,
    count: Count = chars,
    shorten: Shorten = head,
    relevance_floor: float = 0.0,
    already_dropped: pl.DataFrame | None = None,
    base: pl.DataFrame | None = None,
) -> Packed:
    return pack(
        rows,
        policy=policy or ContextPolicy(),
        budget_tokens=budget,
        count=count,
        shorten=shorten,
        relevance_floor=relevance_floor,
        already_dropped=already_dropped,
        base=base,
    )


def ids(rows: pl.DataFrame) -> list[str]:
    return rows["memory_id"].to_list()


def cost(rows: pl.DataFrame) -> list[int]:
    return [len(block(o, t)) for o, t in zip(openings(rows), rows["text"], strict=True)]


def sized(tier: str, size: int) -> dict[str, Any]:
    """A row whose block has ``size`` characters."""
    empty = cost(frame({"tier": tier, "text": ""}))[0]
    return {"tier": tier, "text": "x" * (size - empty)}


def selection_oracle(rows: pl.DataFrame, policy: ContextPolicy, budget: int) -> set[str]:
    """Ids packed when nothing is summarised and counts are additive."""
    room = budget - FRAME
    if room <= 0:
        return set()
    table = list(zip(ids(rows), rows["tier"], cost(rows), rows["score"], strict=True))
    table.sort(key=lambda row: -row[3])
    taken: set[str] = set()
    spent = 0
    for tier in set(rows["tier"]):
        left = int(policy.shares.get(tier, 0.0) * room)
        for name, of, tokens, _ in table:
            if of == tier and tokens <= left:
                left -= tokens
                spent += tokens
                taken.add(name)
    for name, _, tokens, _ in table:
        if name not in taken and spent + tokens <= room:
            spent += tokens
            taken.add(name)
    return taken


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "tier": st.sampled_from([*TIERS, "odd"]),
            "text": st.text(st.sampled_from("ab .\n<&寿é"), max_size=200),
            "outcome": st.sampled_from([None, "success", "failure"]),
            "relevance": st.sampled_from([0.0, 0.2, 1.0]),
        }
    ),
    max_size=12,
).map(lambda rows: frame(*rows))


@given(ROWS, st.integers(1, 2500), st.sampled_from([chars, words, steep]), st.sampled_from([0.0, 0.1, 0.9]))
def test_budget_is_kept_and_no_row_is_lost(
    rows: pl.DataFrame, budget: int, count: Count, floor: float
) -> None:
    result = packed(rows, budget, count=count, relevance_floor=floor)
    assert result.tokens_used == (count([result.text])[0] if result.text else 0)
    assert result.tokens_used <= budget == result.tokens_available
    assert sorted(ids(result.rows) + ids(result.dropped)) == ids(rows)
    assert result.text == render(result.rows)
    assert result.packed_count + result.dropped_count == rows.height
    reasons = dict(result.dropped.select("memory_id", "reason").rows())
    below = rows.filter(pl.col("relevance") < floor, pl.col("tier") != "working")
    assert {name for name, reason in reasons.items() if reason == "relevance_floor"} == set(ids(below))
    assert set(reasons.values()) <= {"budget", "relevance_floor"}


@given(ROWS, st.integers(1, 2500))
def test_selection_is_the_oracles(rows: pl.DataFrame, budget: int) -> None:
    result = packed(rows, budget, NEVER_SUMMARISED)
    assert set(ids(result.rows)) == selection_oracle(rows, NEVER_SUMMARISED, budget)
    assert result.summarised_count == 0


@given(ROWS, st.integers(1, 2500), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(rows: pl.DataFrame, budget: int, shuffler: random.Random) -> None:
    order = list(range(rows.height))
    shuffler.shuffle(order)
    first, second = packed(rows, budget), packed(rows[order], budget)
    assert first.text == second.text
    assert first.rows.equals(second.rows)
    assert first.dropped.equals(second.dropped)


@given(ROWS, st.integers(1, 2500))
def test_working_rows_come_first_then_score_decides(rows: pl.DataFrame, budget: int) -> None:
    result = packed(rows, budget).rows
    keys = [(tier != "working", -points) for tier, points in result.select("tier", "score").iter_rows()]
    assert keys == sorted(keys)


@given(ROWS, st.integers(1, 2500))
def test_whole_rows_are_shown_as_they_are_and_parts_are_marked(rows: pl.DataFrame, budget: int) -> None:
    for row in packed(rows, budget).rows.iter_rows(named=True):
        if row["is_summarised"]:
            assert row["shown_text"].endswith(ELLIPSIS)
            assert row["text"].startswith(row["shown_text"].removesuffix(ELLIPSIS))
        else:
            assert row["shown_text"] == row["text"]


@given(ROWS)
def test_a_large_budget_takes_all(rows: pl.DataFrame) -> None:
    result = packed(rows, 100_000)
    assert sorted(ids(result.rows)) == ids(rows)
    assert result.summarised_count == 0


def test_shares_hold_where_every_tier_wants_more() -> None:
    rows = frame(*[sized(tier, 100) for tier in ("episodic", "procedural", "semantic", "working")] * 10)
    rows = rows.sort("tier")  # all episodic rows have the next-best scores
    result = packed(rows, FRAME + 2000, NEVER_SUMMARISED)
    assert result.by_tier().rows() == [
        ("episodic", 4, 0, 6, 400),
        ("procedural", 3, 0, 7, 300),
        ("semantic", 5, 0, 5, 500),
        ("working", 8, 0, 2, 800),
    ]


def test_unspent_tokens_flow_to_the_next_best_of_any_tier() -> None:
    rows = frame(sized("odd", 100), *[sized("episodic", 100)] * 9, sized("odd", 100))
    result = packed(rows, FRAME + 800, NEVER_SUMMARISED)
    assert ids(result.rows) == [f"m{i:02}" for i in range(8)]


def test_a_row_above_its_share_is_whole_where_others_leave_room() -> None:
    result = packed(frame(sized("episodic", 900)), FRAME + 1000)
    assert result.rows.select("tokens", "is_summarised").row(0) == (900, False)


def test_what_counts_more_when_joined_drops_the_lowest_score() -> None:
    rows = frame(*[sized("working" if i % 2 else "episodic", 100) for i in range(10)])
    wanted = rows[:6].sort(pl.col("tier") != "working", "memory_id")
    exact = steep([render(wanted)])[0]
    for budget, names in ((exact, "m00 m01 m02 m03 m04 m05"), (exact - 1, "m00 m01 m02 m03 m04")):
        result = packed(rows, budget, NEVER_SUMMARISED, count=steep)
        assert sorted(ids(result.rows)) == names.split()


@pytest.mark.parametrize("budget", [1, FRAME - 1, FRAME, FRAME + 5])
def test_a_budget_without_room_for_a_row_packs_nothing(budget: int) -> None:
    result = packed(frame({}, {"relevance": 0.1}), budget, relevance_floor=0.5)
    assert (result.text, result.tokens_used, result.packed_count) == ("", 0, 0)
    assert dict(result.dropped.select("memory_id", "reason").rows()) == {
        "m00": "budget",
        "m01": "relevance_floor",
    }


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_of_nothing_is_a_usage_error(budget: int) -> None:
    with pytest.raises(UsageError, match="budget"):
        packed(frame({}), budget)


def test_no_rows() -> None:
    result = packed(frame(), 1000)
    assert (result.text, result.tokens_used, result.dropped_count) == ("", 0, 0)
    assert result.by_tier().is_empty()
    assert result.rows.columns == [*SCHEMA, "tokens", "is_summarised", "shown_text"]


def test_rows_dropped_before_are_in_the_report() -> None:
    gone = frame({"memory_id": "dup"}).with_columns(reason=pl.lit("duplicate"), duplicate_of=pl.lit("m00"))
    result = packed(frame({}, {"relevance": 0.0}), 1000, relevance_floor=0.1, already_dropped=gone)
    assert dict(result.dropped.select("memory_id", "reason").rows()) == {
        "m01": "relevance_floor",
        "dup": "duplicate",
    }
    assert result.by_tier().rows() == [("episodic", 1, 0, 2, result.rows["tokens"].item())]
