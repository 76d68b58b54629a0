"""Which candidates become the summary: each role once, then the best that say something new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from transforms.policy_sleep import SummariesPolicy
from transforms.summaries.material import worth
from transforms.summaries.overlap import Gist, gist, overlap, repeats
from transforms.summaries.roles import DETAIL, ROLES

Count = Callable[[list[str]], Sequence[int]]
"""Tokens of each text."""


@dataclass(slots=True)
class Option:
    """One candidate while a summary is put together."""

    role: str
    score: float
    tokens: int
    gist: Gist
    nearest: float = 0.0
    is_open: bool = True


def line_expr() -> pl.Expr:
    """A candidate as shown, such as ``12 May 2026, user, decision: We take the smaller room``."""
    day = pl.col("event_at").dt.strftime("%-d %B %Y")
    by = pl.when(pl.col("by").is_null()).then(pl.lit("")).otherwise(pl.lit(", ") + pl.col("by"))
    role = pl.when(pl.col("role") == DETAIL).then(pl.lit("")).otherwise(pl.lit(", ") + pl.col("role"))
    text = pl.col("text").str.replace_all(r"\s+", " ").str.strip_chars()
    more = pl.when(pl.col("is_cut")).then(pl.lit(" …")).otherwise(pl.lit(""))
    return day + by + role + pl.lit(": ") + text + more


def choose(candidates: pl.DataFrame, policy: SummariesPolicy, count: Count) -> pl.DataFrame:
    """The sentences of each summary, by time.

    Args:
        candidates: ``material.CANDIDATES``.
        policy: Limits.
        count: Tokens of texts.

    Returns:
        ``material.CANDIDATES`` and ``line``, sorted by ``summary_id``, ``event_at``, ``episode_id`` and
        ``start``. The lines of one summary, a line feed after each, count at most ``max_tokens``.
    """
    order = ["summary_id", "worth", "event_at", "episode_id", "start", "text"]
    ranked = candidates.with_columns(worth(), line=line_expr())
    best = ranked.sort(order, descending=[False, True, True, False, False, False])
    tokens = list(count([f"{line}\n" for line in best["line"]]))
    gists = [gist(text) for text in best["text"]]
    options = [
        Option(role, score, n, g)
        for role, score, n, g in zip(best["role"], best["worth"], tokens, gists, strict=True)
    ]
    sizes = best.group_by("summary_id", maintain_order=True).len()["len"].to_list()
    chosen: list[int] = []
    start = 0
    for size in sizes:
        chosen.extend(start + i for i in pick(options[start : start + size], policy))
        start += size
    picked = best[chosen] if chosen else best.clear()
    return picked.drop("worth").sort("summary_id", "event_at", "episode_id", "start", "text")


def pick(options: Sequence[Option], policy: SummariesPolicy) -> list[int]:
    """Places of what is chosen of one topic, in the order of choice.

    First the best of each role, in the order of ``ROLES``; then, as long as there is room, what has
    most of score minus overlap with what is chosen (maximal marginal relevance; Carbonell and
    Goldstein, "The Use of MMR", 1998). What does not fit, or repeats a chosen one, is passed over.

    Args:
        options: Best first; their ``nearest`` and ``is_open`` are used up.
        policy: Limits.
    """
    chosen: list[int] = []
    left = policy.max_tokens
    for role in (*ROLES, *[None] * policy.max_sentences):
        if len(chosen) == policy.max_sentences:
            break
        at = _next(options, role, left, policy.novelty_weight)
        if at is None:
            continue
        chosen.append(at)
        left -= options[at].tokens
        _close(options, at, policy.repeat_ratio)
    return chosen


def _next(options: Sequence[Option], role: str | None, left: int, novelty_weight: float) -> int | None:
    """The best open option of a role, or of any, that fits into what is left; of equals the first."""
    best, found = float("-inf"), None
    for at, option in enumerate(options):
        if option.score <= best:
            break  # best first, and nothing is ever added to a score
        if option.is_open and option.tokens <= left and (role is None or option.role == role):
            value = option.score - novelty_weight * option.nearest
            if value > best:
                best, found = value, at
    return found


def _close(options: Sequence[Option], at: int, repeat_ratio: float) -> None:
    """Shut the chosen option and those that repeat it, and tell the others how near it is."""
    taken = options[at]
    for option in options:
        if option.is_open:
            shared = overlap(option.gist, taken.gist)
            option.nearest = max(option.nearest, shared)
            option.is_open = option is not taken and not repeats(
                option.gist, taken.gist, shared, repeat_ratio
            )
