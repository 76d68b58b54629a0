"""Importance, sensitivity and trust of one row without a frame: what ``tagging`` gives, for plain text.

A frame of one row costs milliseconds before it does anything. The lexicons are those of ``tagging``; on
ASCII text both dialects of their expressions read alike, any other text is handed to the frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from transforms import tagging
from transforms.policy import Policy

LONGEST_CHARS = 4_000
"""A longer text is read sooner by the frame's engine, whatever is in it."""
_COLUMNS = ("kind", "role", "content", "redactions", "outcome", "failure_reason", "feedback")
_SCHEMA = {
    **dict.fromkeys(_COLUMNS, pl.String()),
    "redactions": pl.List(pl.String),
    "importance": pl.Float64(),
    "is_injected": pl.Boolean(),
}


def tags_of(row: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """``importance``, ``sensitivity`` and ``trust`` of one cleaned, redacted row.

    Args:
        row: The columns that ``tagging.tag`` reads.
        policy: Sections importance and trust.
    """
    content = row["content"]
    if not content.isascii() or len(content) > LONGEST_CHARS:
        frame = pl.DataFrame([{name: row[name] for name in _SCHEMA}], schema=_SCHEMA)
        told = tagging.tag(frame, policy).select("importance", "sensitivity", "trust")
        return dict(told.row(0, named=True))
    return {
        "importance": _importance(row, policy),
        "sensitivity": _sensitivity(row),
        "trust": _trust(row, policy),
    }


@cache
def _expression(rust: str) -> re.Pattern[str]:
    # In Rust's dialect a last $ is the very end of the text.
    return re.compile(re.sub(r"\$\Z", r"\\Z", rust))


def _has(rust: str, text: str) -> bool:
    return _expression(rust).search(text) is not None


def _importance(row: Mapping[str, Any], policy: Policy) -> float:
    rule, content = policy.importance, row["content"]
    given = row["importance"]
    if given is None:
        if row["kind"] == "conversation" and _has(tagging._SMALL_TALK, content):
            given = rule.small_talk
        else:
            given = rule.by_kind.get(row["kind"], rule.by_kind["conversation"])
            has_failed = row["outcome"] == "failure" or row["failure_reason"] is not None
            boosts = (
                (row["role"] == "user" and _has(tagging._PREFERENCE, content), rule.preference_boost),
                (_has(tagging._DECISION, content), rule.decision_boost),
                (has_failed, rule.failure_boost),
                (row["outcome"] == "success", rule.success_boost),
                (row["feedback"] is not None, rule.feedback_boost),
            )
            for is_hit, boost in boosts:
                given += boost if is_hit else 0.0
    return float(np.float32(min(max(given, 0.0), 1.0)))


def _sensitivity(row: Mapping[str, Any]) -> str:
    kinds, content = row["redactions"], row["content"]
    is_restricted = not set(tagging.RESTRICTED_KINDS).isdisjoint(kinds)
    if is_restricted or _has(tagging._HEALTH_OR_MONEY, content):
        return "restricted"
    return "personal" if kinds or _has(tagging._PRIVATE_LIFE, content) else "normal"


def _trust(row: Mapping[str, Any], policy: Policy) -> float:
    rule = policy.trust
    known = ("user", "assistant", "system", "tool", "other")
    trust = getattr(rule, row["role"]) if row["role"] in known else rule.other
    return float(np.float32(min(trust, rule.tool) if row["is_injected"] else trust))
