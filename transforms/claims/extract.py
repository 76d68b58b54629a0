"""Claims by rules: what users state of themselves and tools of systems. No model, no network, no chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from transforms.claims.build import CANDIDATES, SHORT_LIVED, build, is_tool
from transforms.claims.holding import is_told_late
from transforms.claims.read import Reading, read, read_tool
from transforms.claims.rules import TOOL_RULES, USER_RULES
from transforms.claims.told import to_be_read, told
from transforms.owners import owner_expr
from transforms.policy import Policy
from transforms.predicates import SINGLE_VALUED

EXTRACTOR = "rules@3"
_TOOL_CUES = [
    "limit", "quota", "max", "includes", "price:", "ticket:", "pass:", "fee:", "version",
    "set to", "deadline", "located at", "allows",
]  # fmt: skip
_TOOL_SHAPES = r"\d+\.\d+\.\d+|[a-z0-9] ?= ?\w|[A-Za-z]: \d+\w? [A-Z]"
"""What the tool rules without a word of their own look for."""


@dataclass(frozen=True)
class Extracted:
    """``CLAIMS`` and the candidates refused, ``build.REFUSED``."""

    claims: pl.DataFrame
    refused: pl.DataFrame


def extract(episodes: pl.DataFrame, policy: Policy) -> Extracted:
    """What the rules read from episodes.

    Args:
        episodes: ``schemas.EPISODES``; row order does not matter, and each row is read by itself.
        policy: Sections claims and trust.

    Returns:
        Claims and refused candidates. Texts of assistants, recalled context and rows without an owner
        are not read at all; corrections say themselves what they claim.
    """
    rows: list[dict[str, object]] = []
    readable = _readable(to_be_read(episodes), policy)
    users = _cued(readable.filter("is_user"))
    for episode_id, content, event_at, cues, numbers in users.iter_rows():
        rules = [USER_RULES[number] for number in numbers]
        readings = [_dated(r, content, event_at) for r in read(content, event_at, rules, cues)]
        rows += [_candidate(episode_id, reading, policy) for reading in readings]
    tools = readable.filter(~pl.col("is_user") & _has_tool_cue())
    for episode_id, content in tools.select("episode_id", "content").iter_rows():
        rows += [_candidate(episode_id, r, policy) for r in read_tool(content, TOOL_RULES)]
    found = pl.concat([pl.DataFrame(rows, schema=CANDIDATES), told(episodes, policy)])
    built = build(found, episodes, EXTRACTOR, policy)
    return Extracted(built.claims, built.refused)


def _readable(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Rows that may hold a claim, with ``is_user``: a user's or a tool's, not recalled, owned, to stay."""
    limits = policy.claims
    is_user = (pl.col("role") == "user").fill_null(False) & pl.col("tool_name").is_null()
    longest = pl.when(is_user).then(limits.max_statement_chars).otherwise(limits.max_tool_chars)
    return episodes.filter(
        (is_user | is_tool())
        & ~pl.col("is_injected").fill_null(False)
        & owner_expr().is_not_null()
        & ~pl.col("retention_tier").is_in(SHORT_LIVED)
        & (pl.col("content_chars") <= longest)
    ).select("episode_id", "content", "event_at", is_user=is_user)


def _cued(users: pl.DataFrame) -> pl.DataFrame:
    """Rows with a cue of any rule: episode_id, content, event_at, cues, numbers of rules."""
    cues = sorted({cue for rule in USER_RULES for cue in rule.cue_set})
    of_rule = pl.DataFrame(
        [(cue, number) for number, rule in enumerate(USER_RULES) for cue in sorted(rule.cue_set)],
        schema={"cue": pl.String, "number": pl.Int32},
        orient="row",
    )
    low = pl.col("content").str.to_lowercase().str.replace_all("\u2019", "'", literal=True)
    found = users.select("episode_id", cue=low.str.extract_many(cues, overlapping=True).list.unique())
    numbers = (
        found.filter(pl.col("cue").list.len() > 0)
        .explode("cue")
        .join(of_rule, on="cue")
        .group_by("episode_id")
        .agg(pl.col("cue").unique().sort(), pl.col("number").unique().sort())
    )
    return users.join(numbers, on="episode_id").select("episode_id", "content", "event_at", "cue", "number")


def _has_tool_cue() -> pl.Expr:
    text = pl.col("content")
    return text.str.contains_any(_TOOL_CUES, ascii_case_insensitive=True) | text.str.contains(_TOOL_SHAPES)


def _dated(reading: Reading, content: str, said_at: datetime) -> Reading:
    """Less sure where a change is told long after it happened."""
    phrase = content[reading.span_start : reading.span_end]
    if reading.predicate in SINGLE_VALUED and is_told_late(phrase, reading.valid_from, said_at):
        return replace(reading, level="reported")
    return reading


def _candidate(episode_id: str, reading: Reading, policy: Policy) -> dict[str, object]:
    limits = policy.claims
    sure = {
        "firm": limits.firm_confidence,
        "stated": limits.stated_confidence,
        "reported": limits.reported_confidence,
    }
    return {
        "episode_id": episode_id,
        "operation": reading.operation,
        "subject": reading.subject,
        "predicate": reading.predicate,
        "aspect": reading.aspect,
        "object": reading.object,
        "polarity": reading.rule.polarity,
        "confidence": sure[reading.level],
        "span_start": reading.span_start,
        "span_end": reading.span_end,
        "valid_from": reading.valid_from,
        "valid_until": reading.valid_until,
        "is_inferred": False,
    }
