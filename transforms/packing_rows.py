"""Placing rows into a token budget: by score inside the share of their tier, then from what is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from transforms.policy_recall import ContextPolicy
from transforms.rendering import FOOTER, HEADER, block, openings

Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each text."""
Shorten = Callable[[str, int], str]
"""The longest leading part of a text that has at most so many tokens."""

ELLIPSIS = " …"
FIRST_TIER = "working"

_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s|$)|[。！？]|\n")


_ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Row:
    """One row under packing; ``block`` is empty until it is placed.

    Counting is most of the work, so it is put off until a row could fit by its length.
    """

    index: int
    tier: str
    opening: str
    text: str
    share: int
    """Tokens of the row's tier."""
    event_at: datetime
    is_base: bool
    count: Count
    max_chars_per_token: int
    reserved: int = 0
    tokens: int = 0
    block: str = ""
    shown: str = ""
    whole: int | None = None
    """Tokens of the whole block, once counted."""

    def cost(self) -> int:
        """Tokens of the whole block."""
        if self.whole is None:
            self.whole = self.count_with(self.text)
        return self.whole

    def count_with(self, text: str) -> int:
        """Tokens of the block if it showed this text."""
        return self.count([block(self.opening, text)])[0]

    def fits(self, room: int) -> bool:
        """Whether the whole block fits so many tokens."""
        chars = len(self.opening) + len(self.text)
        return chars <= room * self.max_chars_per_token and self.cost() <= room

    def place(self, text: str, tokens: int) -> None:
        """Show the row with this text."""
        self.shown, self.block, self.tokens = text, block(self.opening, text), tokens
        self.reserved = 0

    def place_whole(self) -> None:
        """Show the row whole."""
        self.place(self.text, self.cost())

    def place_in_text(self) -> tuple[int, datetime, int]:
        """Sorts rows as they are shown: base rows, the open session as it went, the others by score."""
        if self.is_base:
            return 0, _ANY_TIME, self.index
        is_working = self.tier == FIRST_TIER
        return (1, self.event_at, self.index) if is_working else (2, _ANY_TIME, self.index)


def rows_of(eligible: pl.DataFrame, base: int, policy: ContextPolicy, room: int, count: Count) -> list[Row]:
    """Rows to be placed, none placed yet; the first ``base`` ones are base rows."""
    columns = zip(eligible["tier"], openings(eligible), eligible["text"], eligible["event_at"], strict=True)
    return [
        Row(
            index=index,
            tier=tier,
            opening=opening,
            text=text,
            share=int(room * policy.shares.get(tier, 0.0)),
            event_at=event_at,
            is_base=index < base,
            count=count,
            max_chars_per_token=policy.max_chars_per_token,
        )
        for index, (tier, opening, text, event_at) in enumerate(columns)
    ]


def fitting(base: pl.DataFrame, policy: ContextPolicy, budget: int, count: Count) -> pl.DataFrame:
    """The first base rows that fit ``policy.base_share`` of a budget, by time, so that news comes last.

    Which ones hangs on nothing but the memory, the budget and the policy.
    """
    limit = int((budget - count([HEADER + FOOTER])[0]) * policy.base_share)
    kept = []
    for row in rows_of(base, base.height, policy, limit, count):
        if not row.fits(limit):
            break
        kept.append(row.index)
        limit -= row.cost()
    return base[kept].sort("event_at", "memory_id")


def place_all(
    eligible: pl.DataFrame, base: int, policy: ContextPolicy, budget: int, count: Count, shorten: Shorten
) -> list[Row]:
    """Rows that fit: whole in their tier's share, then whole or shortened from what is unspent.

    Args:
        eligible: Columns as ``packing.pack`` takes them: base rows that fit, then the others, best first.
        base: How many base rows there are.
        policy: Shares.
        budget: Tokens of the whole text.
        count: Tokens of each text.
        shorten: Leading part of a text with at most so many tokens.
    """
    room = budget - count([HEADER + FOOTER])[0]
    if room <= 0 or eligible.is_empty():
        return []
    rows = rows_of(eligible, base, policy, room, count)
    for row in rows[:base]:
        row.place_whole()
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


def _spend_shares(rows: list[Row], policy: ContextPolicy) -> None:
    """Place whole rows by score inside their tier's share.

    The first that does not fit takes the rest of the share as a reserve for its summary, if the
    rest is above the policy's part of the share; it may still be shown whole from the pool.
    """
    left = {row.tier: row.share for row in rows}
    for row in rows:
        left[row.tier] = max(0, left[row.tier] - row.tokens)  # what base rows took
    for row in rows:
        if row.block:
            continue
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


def _flow(rows: list[Row], pool: int) -> int:
    """Place the next-best rows of any tier that fit whole in the pool; what is left of it."""
    for row in rows:
        if not row.block and row.fits(pool + row.reserved):
            pool += row.reserved
            row.place_whole()
            pool -= row.tokens
    return pool


def _place_summary(row: Row, limit: int, policy: ContextPolicy, shorten: Shorten) -> None:
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
