"""Packing of recalled rows into a token budget.

Rows are taken by score inside the share of their tier; what a tier leaves unspent flows to the
next-best rows of any tier; a row that does not fit is shortened where enough room is left. Base rows
come before all others and depend on the memory alone, so the text begins alike for every query.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from transforms.errors import UsageError
from transforms.packing_rows import ELLIPSIS, FIRST_TIER, Count, Row, Shorten, fitting, place_all
from transforms.policy_recall import ContextPolicy
from transforms.rendering import HEADER, wrap
from transforms.scoring import rank

__all__ = ["ELLIPSIS", "FIRST_TIER", "Count", "Packed", "Shorten", "available_tokens", "pack"]


@dataclass(frozen=True)
class Packed:
    """A packed context and the report of it.

    Args:
        rows: Packed rows as they stand in ``text``: the columns of the input and ``tokens`` (Int64,
            of the row's block), ``is_summarised``, ``shown_text``.
        dropped: The other rows with ``reason``: budget, relevance_floor or duplicate.
        text: The rendering; empty where nothing is packed.
        prefix: The leading part of ``text`` that holds the base rows: the same bytes for the same
            memory, budget and policy, whatever is asked and when. Empty where there are none.
        tokens_used: Tokens of ``text``, delimiters included; never above ``tokens_available``.
        tokens_available: The budget.
    """

    rows: pl.DataFrame
    dropped: pl.DataFrame
    text: str
    prefix: str
    tokens_used: int
    tokens_available: int

    @property
    def packed_count(self) -> int:
        """Rows shown, whole or summarised."""
        return self.rows.height

    @property
    def summarised_count(self) -> int:
        """Rows shown in part."""
        return int(self.rows["is_summarised"].sum())

    @property
    def dropped_count(self) -> int:
        """Rows not shown."""
        return self.dropped.height

    def by_tier(self) -> pl.DataFrame:
        """Columns tier, packed, summarised, dropped (rows) and tokens (of blocks), by tier name."""
        shown = self.rows.select("tier", "tokens", "is_summarised", is_packed=pl.lit(True))
        hidden = self.dropped.select(
            "tier", tokens=pl.lit(0, pl.Int64), is_summarised=pl.lit(False), is_packed=pl.lit(False)
        )
        return (
            pl.concat([shown, hidden])
            .group_by("tier")
            .agg(
                packed=pl.col("is_packed").sum().cast(pl.Int64),
                summarised=pl.col("is_summarised").sum().cast(pl.Int64),
                dropped=(~pl.col("is_packed")).sum().cast(pl.Int64),
                tokens=pl.col("tokens").sum(),
            )
            .sort("tier")
        )


def pack(
    scored: pl.DataFrame,
    *,
    policy: ContextPolicy,
    budget_tokens: int,
    count: Count,
    shorten: Shorten,
    relevance_floor: float = 0.0,
    already_dropped: pl.DataFrame | None = None,
    base: pl.DataFrame | None = None,
) -> Packed:
    """The best rows that fit the budget, rendered.

    A budget too small for the header and one row packs nothing and is no error.

    Args:
        scored: Output of ``scoring.score`` without near duplicates, in any order.
        policy: Shares by tier, and when a row is summarised. A tier without a share lives on what
            the others leave.
        budget_tokens: Tokens for the whole text, header included.
        count: Tokens of each text, as the reading model counts.
        shorten: Leading part of a text with at most so many tokens.
        relevance_floor: Rows of lower ``relevance`` are not packed; those of the open session are.
        already_dropped: Rows that left before packing, with ``reason``, for the report.
        base: Rows that every context of this memory begins with, those to be kept first before the
            others, with the columns of ``scored``; they are shown by time.

    Raises:
        UsageError: The budget is not above 0.
    """
    if budget_tokens <= 0:
        raise UsageError(f"a budget of {budget_tokens} tokens", "Give a budget above 0.")
    ranked = rank(scored)
    offered = ranked.clear() if base is None else base.select(ranked.columns)
    first = fitting(offered, policy, budget_tokens, count)
    asked = pl.concat([ranked, offered.filter(~_is_in(offered, ranked))])
    rest = asked.filter(~_is_in(asked, first))
    is_relevant = (pl.col("relevance") >= relevance_floor) | (pl.col("tier") == FIRST_TIER)
    is_asked_for = _is_in(rest, ranked) & rest.select(is_relevant).to_series()
    eligible, rest = pl.concat([first, rest.filter(is_asked_for)]), rest.filter(~is_asked_for)
    placed = place_all(eligible, first.height, policy, budget_tokens, count, shorten)
    text, used = _fit(placed, budget_tokens, count)
    opening = [row.block for row in placed if row.is_base]
    prefix = HEADER + "".join(opening) if opening else ""
    gone = _without(eligible, placed).with_columns(reason=pl.lit("budget"))
    too_many = pl.when(_is_in(rest, ranked)).then(pl.lit("relevance_floor")).otherwise(pl.lit("budget"))
    dropped = [rest.with_columns(reason=too_many), gone]
    if already_dropped is not None:
        dropped.append(already_dropped.select(gone.columns))
    return Packed(_shown(eligible, placed), pl.concat(dropped), text, prefix, used, budget_tokens)


def _is_in(rows: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    return rows["memory_id"].is_in(others["memory_id"].implode())


def available_tokens(
    policy: ContextPolicy, model_context: int, prompts: list[str], reserve: int | None, count: Count
) -> int:
    """What is left of a model's window for memories.

    Args:
        policy: Its reservation for the answer.
        model_context: Tokens of the window.
        prompts: Texts that share it, such as the system prompt and the query.
        reserve: Tokens kept for the answer; the policy's where None.
        count: Tokens of each text.

    Raises:
        UsageError: Nothing is left.
    """
    kept = policy.output_reserve_tokens if reserve is None else reserve
    left = model_context - sum(count(prompts)) - kept
    if left <= 0:
        raise UsageError(
            f"a window of {model_context:,} tokens has no room for memories beside the prompt and"
            f" {kept:,} tokens for the answer",
            "Name a larger window, a shorter prompt or a smaller reserve.",
        )
    return left


def _fit(placed: list[Row], budget: int, count: Count) -> tuple[str, int]:
    """Rendered text and its tokens, after the lowest-scored rows left ``placed`` until it fits.

    Tokens are not additive over joined texts, so the whole is counted, not summed. On return
    ``placed`` is in the order of the text: base rows, working rows by time, then the others by score.
    """
    placed.sort(key=Row.place_in_text)
    while placed:
        text = wrap([row.block for row in placed])
        used = count([text])[0]
        if used <= budget:
            return text, used
        placed.remove(max(placed, key=lambda row: row.index))
    return "", 0


def _without(eligible: pl.DataFrame, placed: list[Row]) -> pl.DataFrame:
    taken = {row.index for row in placed}
    return eligible[[index for index in range(eligible.height) if index not in taken]]


def _shown(eligible: pl.DataFrame, placed: list[Row]) -> pl.DataFrame:
    return eligible[[row.index for row in placed]].with_columns(
        pl.Series("tokens", [row.tokens for row in placed], dtype=pl.Int64),
        pl.Series("is_summarised", [row.shown != row.text for row in placed], dtype=pl.Boolean),
        pl.Series("shown_text", [row.shown for row in placed], dtype=pl.String),
    )
