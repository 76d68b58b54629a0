"""Packing of recalled rows into a token budget.

Rows are taken by score inside the share of their tier; what a tier leaves unspent flows to the
next-best rows of any tier; a row that does not fit is shortened where enough room is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from transforms.errors import UsageError
from transforms.policy_recall import ContextPolicy
from transforms.rendering import FOOTER, HEADER, block, openings, wrap
from transforms.scoring import rank

Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each text."""
Shorten = Callable[[str, int], str]
"""The longest leading part of a text that has at most so many tokens."""

ELLIPSIS = " …"
FIRST_TIER = "working"

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s|$)|[。！？]|\n")


@dataclass(frozen=True)
class Packed:
    """A packed context and the report of it.

    Args:
        rows: Packed rows as they stand in ``text``: the columns of the input and ``tokens`` (Int64,
            of the row's block), ``is_summarised``, ``shown_text``.
        dropped: The other rows with ``reason``: budget, relevance_floor or duplicate.
        text: The rendering; empty where nothing is packed.
        tokens_used: Tokens of ``text``, delimiters included; never above ``tokens_available``.
        tokens_available: The budget.
    """

    rows: pl.DataFrame
    dropped: pl.DataFrame
    text: str
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


@dataclass(slots=True)
class _Row:
    """One row under packing; ``block`` is empty until it is placed.

    Counting is most of the work, so it is put off until a row could fit by its length.
    """

    index: int
    tier: str
    opening: str
    text: str
    share: int
    """Tokens of the row's tier."""
    count: Count
    max_chars_per_token: int
    reserved: int = 0
    tokens: int = 0
    block: str = ""
    shown: str = ""
    whole: int | None = None
    """Tokens of the whole block, once counted."""

    def cost(self) -> int:
        if self.whole is None:
            self.whole = self.count_with(self.text)
        return self.whole

    def count_with(self, text: str) -> int:
        """Tokens of the block if it showed this text."""
        return self.count([block(self.opening, text)])[0]

    def fits(self, room: int) -> bool:
        chars = len(self.opening) + len(self.text)
        return chars <= room * self.max_chars_per_token and self.cost() <= room

    def place(self, text: str, tokens: int) -> None:
        self.shown, self.block, self.tokens = text, block(self.opening, text), tokens
        self.reserved = 0

    def place_whole(self) -> None:
        self.place(self.text, self.cost())


def pack(
    scored: pl.DataFrame,
    *,
    policy: ContextPolicy,
    budget_tokens: int,
    count: Count,
    shorten: Shorten,
    relevance_floor: float = 0.0,
    already_dropped: pl.DataFrame | None = None,
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
        relevance_floor: Rows of lower ``relevance`` are not packed.
        already_dropped: Rows that left before packing, with ``reason``, for the report.

    Raises:
        UsageError: The budget is not above 0.
    """
    if budget_tokens <= 0:
        raise UsageError(f"a budget of {budget_tokens} tokens", "Give a budget above 0.")
    ranked = rank(scored)
    is_relevant = pl.col("relevance") >= relevance_floor
    eligible, irrelevant = ranked.filter(is_relevant), ranked.filter(~is_relevant)
    placed = _place_all(eligible, policy, budget_tokens, count, shorten)
    text, used = _fit(placed, budget_tokens, count)
    gone = _without(eligible, placed).with_columns(reason=pl.lit("budget"))
    dropped = [irrelevant.with_columns(reason=pl.lit("relevance_floor")), gone]
    if already_dropped is not None:
        dropped.append(already_dropped.select(gone.columns))
    return Packed(_shown(eligible, placed), pl.concat(dropped), text, used, budget_tokens)


def _rows(eligible: pl.DataFrame, policy: ContextPolicy, room: int, count: Count) -> list[_Row]:
    columns = zip(eligible["tier"], openings(eligible), eligible["text"], strict=True)
    return [
        _Row(
            index=index,
            tier=tier,
            opening=opening,
            text=text,
            share=int(room * policy.shares.get(tier, 0.0)),
            count=count,
            max_chars_per_token=policy.max_chars_per_token,
        )
        for index, (tier, opening, text) in enumerate(columns)
    ]


def _place_all(
    eligible: pl.DataFrame, policy: ContextPolicy, budget: int, count: Count, shorten: Shorten
) -> list[_Row]:
    """Rows that fit: whole in their tier's share, then whole or shortened from what is unspent."""
    room = budget - count([HEADER + FOOTER])[0]
    if room <= 0 or eligible.is_empty():
        return []
    rows = _rows(eligible, policy, room, count)
    _spend_shares(rows, policy)
    pool = _flow(rows, room - sum(row.tokens + row.reserved for row in rows))
    for row in rows:
        if row.block:
            continue
        limit = pool + row.reserved
        if row.fits(limit):
            row.place_whole()
        elif row.reserved or pool > policy.min_summarised_share * row.share > 0:
            _place_summary(row, limit, policy, shorten)
        row.reserved = 0
        pool = limit - row.tokens
    _flow(rows, pool)
    return [row for row in rows if row.block]


def _spend_shares(rows: list[_Row], policy: ContextPolicy) -> None:
    """Place whole rows by score inside their tier's share.

    The first that does not fit takes the rest of the share as a reserve for its summary, if the
    rest is above the policy's part of the share; it may still be shown whole from the pool.
    """
    left = {row.tier: row.share for row in rows}
    for row in rows:
        rest = left[row.tier]
        if row.fits(rest):
            row.place_whole()
            left[row.tier] -= row.tokens
        elif (
            rest > policy.min_summarised_share * row.share
            and rest >= row.count_with("") + policy.min_summary_tokens
        ):
            row.reserved = rest
            left[row.tier] = 0


def _flow(rows: list[_Row], pool: int) -> int:
    """Place the next-best rows of any tier that fit whole in the pool; what is left of it."""
    for row in rows:
        if not row.block and row.fits(pool + row.reserved):
            pool += row.reserved
            row.place_whole()
            pool -= row.tokens
    return pool


def _place_summary(row: _Row, limit: int, policy: ContextPolicy, shorten: Shorten) -> None:
    """Place the leading sentences that fit the limit; nothing where they would say too little."""
    text = row.text[: limit * policy.max_chars_per_token]
    frame = row.count_with("")
    allowed = limit - frame
    while allowed >= policy.min_summary_tokens:
        part = shorten(text, allowed)
        shown = part if part == row.text else _cut(part)
        if not shown:
            return
        tokens = row.count_with(shown)
        if tokens <= limit:
            row.place(shown, tokens)
            return
        # `shorten` counts no escapes and no ellipsis; shrink by as much as they swelled the text.
        allowed = min(allowed - 1, allowed * (limit - frame) // (tokens - frame))


def _cut(part: str) -> str:
    """The part up to its last whole sentence, if that is in its latter half, with an ellipsis."""
    part = part.rstrip().rstrip("\ufffd")
    ends = [match.end() for match in _SENTENCE_END.finditer(part)]
    if ends and ends[-1] * 2 >= len(part):
        part = part[: ends[-1]].rstrip()
    return part + ELLIPSIS if part else ""


def _fit(placed: list[_Row], budget: int, count: Count) -> tuple[str, int]:
    """Rendered text and its tokens, after the lowest-scored rows left ``placed`` until it fits.

    Tokens are not additive over joined texts, so the whole is counted, not summed. On return
    ``placed`` is in the order of the text: working rows, then the others, by score.
    """
    placed.sort(key=lambda row: (row.tier != FIRST_TIER, row.index))
    while placed:
        text = wrap([row.block for row in placed])
        used = count([text])[0]
        if used <= budget:
            return text, used
        placed.remove(max(placed, key=lambda row: row.index))
    return "", 0


def _without(eligible: pl.DataFrame, placed: list[_Row]) -> pl.DataFrame:
    taken = {row.index for row in placed}
    return eligible[[index for index in range(eligible.height) if index not in taken]]


def _shown(eligible: pl.DataFrame, placed: list[_Row]) -> pl.DataFrame:
    return eligible[[row.index for row in placed]].with_columns(
        pl.Series("tokens", [row.tokens for row in placed], dtype=pl.Int64),
        pl.Series("is_summarised", [row.shown != row.text for row in placed], dtype=pl.Boolean),
        pl.Series("shown_text", [row.shown for row in placed], dtype=pl.String),
    )
