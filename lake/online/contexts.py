"""Contexts: what a search found, the facts every context begins with and the open session, packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lake import arguments
from lake.answers import Context, packed_context
from lake.arguments import MOST_TOKENS
from lake.candidates import Candidates, Pool, Ranked
from lake.online.asked import Asked
from lake.tokens import count_tokens, truncate_tokens
from transforms import scoring
from transforms.errors import UsageError
from transforms.floor import REASON, Floor, below
from transforms.packing import available_tokens, pack
from transforms.policy_recall import CONTEXT_PRESETS, ContextPolicy


@dataclass(frozen=True)
class Window:
    """How much a caller has room for: a budget, or a model's window and what else goes into it.

    Attributes:
        preset: ``small`` or ``large``; None: as the policy says.
        budget: Tokens of the text.
        model_context: Tokens of the model's window; the budget is what is left of it.
        system_prompt: Shares the window.
        reserve: Tokens kept for the answer; the policy's where None.
    """

    preset: str | None = None
    budget: int | None = None
    model_context: int | None = None
    system_prompt: str = ""
    reserve: int | None = None

    def policy(self, default: ContextPolicy) -> ContextPolicy:
        """The policy with the preset's values on top.

        Raises:
            UsageError: There is no such preset.
        """
        if self.preset is None:
            return default
        if self.preset not in CONTEXT_PRESETS:
            known = ", ".join(sorted(CONTEXT_PRESETS))
            raise UsageError(f"unknown context preset {self.preset!r}", f"Use one of {known}.")
        return default.model_copy(update=CONTEXT_PRESETS[self.preset])

    def tokens(self, policy: ContextPolicy, query: str) -> int:
        """Tokens of the text.

        Raises:
            UsageError: Budget and window are both told, one of them is no count, or nothing is left.
        """
        if self.budget is not None and self.model_context is not None:
            raise UsageError("a budget and a model's window at once", "Name one of the two.")
        if self.budget is not None:
            return arguments.count("budget", self.budget, MOST_TOKENS)
        if self.model_context is None:
            return policy.default_budget_tokens
        window = arguments.count("model_context", self.model_context, MOST_TOKENS)
        reserve = None if self.reserve is None else arguments.count("reserve", self.reserve, MOST_TOKENS)
        if not isinstance(self.system_prompt, str):
            raise UsageError(f"system_prompt is {type(self.system_prompt).__name__}", "Pass a str.")
        prompts = [self.system_prompt, arguments.question(query)]
        return available_tokens(
            policy, window, prompts, reserve, lambda texts: count_tokens(texts, policy.encoding)
        )


def packed(
    ranked: Ranked,
    asked: Asked,
    policy: ContextPolicy,
    tokens: int,
    *,
    floor: Floor,
    base: Sequence[Mapping[str, Any]] = (),
    working: Sequence[Mapping[str, Any]] = (),
) -> Context:
    """A context of what was found.

    Args:
        ranked: What was found.
        asked: The search.
        policy: Shares, and when a row is summarised.
        tokens: The budget.
        floor: What a row must reach to be packed, unless the route asked for it or for a time.
        base: Facts that every context of this scope begins with, those to be kept first before the
            others: ``schemas.MEMORIES``, instants in microseconds.
        working: Rows of the open session, in the same shape.
    """
    kept, repeated = ranked.frames()
    if not _is_about_time(ranked):
        is_below = below(kept, floor, _named(ranked))
        far = kept.filter(is_below).with_columns(reason=pl.lit(REASON), duplicate_of=pl.lit(None, pl.String))
        kept, repeated = kept.filter(~is_below), pl.concat([repeated, far.select(repeated.columns)])
    if working:
        open_rows = _frame(working, asked)
        kept = pl.concat([open_rows, kept.filter(~_is_in(kept, open_rows)).select(open_rows.columns)])
        repeated = repeated.filter(~_is_in(repeated, open_rows))
    first = _frame(base, asked) if base else None
    if first is not None:
        repeated = repeated.filter(~_is_in(repeated, first))
        first = first.filter(~_is_in(first, kept.filter(pl.col("tier") == "working")))
    return packed_context(
        pack(
            kept,
            policy=policy,
            budget_tokens=tokens,
            count=lambda texts: count_tokens(texts, policy.encoding),
            shorten=lambda text, limit: truncate_tokens(text, limit, policy.encoding),
            relevance_floor=floor.relevance,
            already_dropped=repeated,
            base=first,
        )
    )


def _is_about_time(ranked: Ranked) -> bool:
    """Whether the question names a time, which tells more of a row than its cosine."""
    route = ranked.route
    return route is not None and bool(route.ranges or route.sessions or route.is_newest_first)


def _named(ranked: Ranked) -> list[str]:
    """Ids of the rows that the route fetched, whatever their similarity."""
    return [
        row["memory_id"]
        for row, told in zip(ranked.found.rows, ranked.routes, strict=False)
        if "least" in told
    ]


def _is_in(rows: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    return rows["memory_id"].is_in(others["memory_id"].implode())


def _frame(rows: Sequence[Mapping[str, Any]], asked: Asked) -> pl.DataFrame:
    """Rows that nobody searched for, with every factor but relevance, in their order."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in ("kind", "tier", "outcome")}
    columns |= {
        name: np.array([row[name] for row in rows], np.float64) for name in ("importance", "access_count")
    }
    columns["relevance"] = np.zeros(len(rows))
    columns["seen_us"] = np.array([row["last_accessed_at"] for row in rows], np.int64)
    scores = scoring.score_columns(
        columns, policy=asked.policy, as_of=asked.filters.as_of, weights=asked.weights
    )
    none = np.zeros(len(rows))
    vectors = np.zeros((len(rows), len(asked.vector)), np.float32)
    found = Candidates([dict(row) for row in rows], vectors, none, none * np.nan, none.astype(np.bool_))
    order = np.arange(len(rows))
    ids = np.array([row["memory_id"] for row in rows], np.bytes_)
    return Ranked(found, scores, order, order, Pool(order, ids, scores, order, order)).frames()[0]
