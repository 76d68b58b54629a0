"""Episodes as turns that a model is shown: grouped, under the token limit, as data that cannot break out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import polars as pl

from transforms.model_prompts import PROMPT_VERSION, SYSTEM, answer_schema
from transforms.model_requests import ModelRequest
from transforms.owners import owner_expr
from transforms.policy_sleep import ClaimsPolicy
from transforms.rendering import escape

Count = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each text."""

# Of one ingestion only: a group that was asked for once stays as it is when more of its session comes in, so
# that its answer, kept or still to come from a batch, is never asked for again.
_GROUP = ("tenant_id", "owner", "session_id", "ingested_at")
_ORDER = ("event_at", "turn_index", "episode_id")
_SHORT_LIVED = ("transient", "session")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NO_NAME = re.compile(r"[^\w .'-]+")
_MAX_NAME_CHARS = 64
_CUT = " […]"
_BREAK = re.compile(r"\s(?=\S*$)")


@dataclass(frozen=True)
class Shown:
    """A turn, or a part of one, that a model may claim from.

    Attributes:
        episode_id: Where it stands.
        offset_chars: Where it starts in the episode's content.
        text: As in the content, unescaped.
    """

    episode_id: str
    offset_chars: int
    text: str


@dataclass(frozen=True)
class ClaimRequest:
    """A request for claims, and what its aliases stand for."""

    request: ModelRequest
    shown: Mapping[str, Shown]


@dataclass(frozen=True)
class _Turn:
    """One turn or part of one, rendered but for its id."""

    shown: Shown
    is_source: bool
    opening: str
    tokens: int

    def rendered(self, alias: str) -> str:
        name = f" id={alias}" if alias else ""
        return f"<turn{name}{self.opening}>{escape(self.shown.text)}</turn>\n"


def claim_requests(episodes: pl.DataFrame, policy: ClaimsPolicy, count: Count) -> list[ClaimRequest]:
    """Requests for the claims of episodes: one owner, session and ingestion each, in order, under the limit.

    What users and tools say may be claimed from. Other turns of the session are shown, shortened, to make
    these understood. Nothing injected, short-lived or without an owner is shown at all.

    Args:
        episodes: ``schemas.EPISODES``, in any order.
        policy: Section claims.
        count: Counts tokens.
    """
    rows = _eligible(episodes, policy)
    counts = count([escape(text) for text in rows["text"].to_list()])
    made = []
    numbered = zip(rows.iter_rows(named=True), counts, strict=True)
    for key, group in groupby(numbered, key=lambda pair: [pair[0][name] for name in _GROUP]):
        turns = [turn for row, tokens in group for turn in _turns(row, tokens, policy, count)]
        packed = _packed(turns, policy.max_input_tokens)
        made += [_request(key[0], key[1], some, policy) for some in packed]
    return made


def _eligible(episodes: pl.DataFrame, policy: ClaimsPolicy) -> pl.DataFrame:
    """Rows to be shown, in order, with ``is_source`` and the ``text`` that is shown of them."""
    role = pl.col("role").fill_null("other")
    is_tool = (role == "tool") | (
        (role == "other")
        & (pl.col("tool_name").is_not_null() | pl.col("kind").is_in(("action", "observation")))
    )
    has_text = pl.col("content").str.contains(r"\w")
    rows = episodes.with_columns(owner_expr(), is_source=(role == "user") | is_tool).filter(
        pl.col("owner").is_not_null(),
        ~pl.col("is_injected"),
        ~pl.col("retention_tier").is_in(_SHORT_LIVED),
        role != "system",
        has_text,
    )
    rows = rows.filter(pl.col("is_source").any().over(_GROUP)).sort(*_GROUP, *_ORDER)
    limit = policy.max_context_chars
    cut = pl.col("content").str.slice(0, limit) + pl.lit(_CUT)
    is_whole = pl.col("is_source") | (pl.col("content").str.len_chars() <= limit)
    return rows.select(
        *_GROUP, "episode_id", "event_at", "role", "speaker", "tool_name", "content", "is_source",
        text=pl.when(is_whole).then("content").otherwise(cut),
    )  # fmt: skip


def _turns(row: Mapping[str, Any], tokens: int, policy: ClaimsPolicy, count: Count) -> Iterator[_Turn]:
    """The row as one turn; as several where it alone is over the limit."""
    who = row["speaker"] or row["tool_name"] or ""
    opening = f" role={row['role'] or 'other'}{_by(who)} time={_time(row['event_at'])}"
    head = count([f"<turn id=e999{opening}></turn>\n"])[0]
    room = max(1, policy.max_input_tokens - head)
    for offset, text, size in _pieces(row["text"], tokens, room, count):
        yield _Turn(Shown(row["episode_id"], offset, text), row["is_source"], opening, size + head)


def _by(name: str) -> str:
    plain = _NO_NAME.sub(" ", name)[:_MAX_NAME_CHARS].strip()
    return f' by="{plain}"' if plain else ""


def _time(instant: datetime) -> str:
    return f'"{_WEEKDAYS[instant.weekday()]} {instant:%Y-%m-%d %H:%M} UTC"'


def _pieces(text: str, tokens: int, room: int, count: Count) -> Iterator[tuple[int, str, int]]:
    """Start, text and tokens of each part of a text; parts end at a blank where there is one."""
    if tokens <= room or len(text) == 1:
        yield 0, text, tokens
        return
    start = 0
    while start < len(text):
        chars = max(1, len(text) * room // tokens)
        piece = _cut_at_blank(text[start : start + chars], is_last=start + chars >= len(text))
        size = count([escape(piece)])[0]
        while size > room and len(piece) > 1:
            piece = _cut_at_blank(piece[: max(1, len(piece) * room // (size + 1))], is_last=False)
            size = count([escape(piece)])[0]
        yield start, piece, size
        start += len(piece)


def _cut_at_blank(piece: str, *, is_last: bool) -> str:
    if is_last:
        return piece
    found = _BREAK.search(piece, len(piece) // 2)
    return piece[: found.end()] if found else piece


def _packed(turns: Sequence[_Turn], limit: int) -> Iterator[list[_Turn]]:
    """Turns in order, as many as fit at once; runs without a source are not sent."""
    held: list[_Turn] = []
    tokens = 0
    for turn in turns:
        if held and tokens + turn.tokens > limit:
            yield from _useful(held)
            held, tokens = [], 0
        held.append(turn)
        tokens += turn.tokens
    yield from _useful(held)


def _useful(turns: list[_Turn]) -> Iterator[list[_Turn]]:
    """The turns up to the last source; nothing where there is none."""
    last = max((i for i, turn in enumerate(turns) if turn.is_source), default=-1)
    if last >= 0:
        yield turns[: last + 1]


def _request(tenant_id: str, owner: str, turns: Sequence[_Turn], policy: ClaimsPolicy) -> ClaimRequest:
    shown: dict[str, Shown] = {}
    blocks = []
    for turn in turns:
        alias = f"e{len(shown) + 1}" if turn.is_source else ""
        if alias:
            shown[alias] = turn.shown
        blocks.append(turn.rendered(alias))
    request = ModelRequest(
        tenant_id=tenant_id,
        task="claims",
        prompt_version=PROMPT_VERSION,
        system=SYSTEM,
        user=f"<turns>\n{''.join(blocks)}</turns>",
        answer_schema=answer_schema(list(shown), policy),
        source_refs=sorted({turn.shown.episode_id for turn in turns}),
        max_output_tokens=policy.max_output_tokens,
        owner=owner,
    )
    return ClaimRequest(request, shown)
