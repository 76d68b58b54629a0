"""Lessons: what fails for a reason that lasts, and what worked instead."""

from __future__ import annotations

import polars as pl

from transforms.policy import Policy
from transforms.skills.attempts import PRIVACY
from transforms.skills.lexicons import reason_family
from transforms.skills.shape import one_agent, procedure_rows, totals
from transforms.skills.tries import UNNAMED

_KEY = ("tenant_id", "owner", "task_type", "tool", "family", "is_transient")


def lessons(attempts: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Draw lessons from attempts that failed, by owner, task, tool that failed and cause.

    A failure that passes by itself teaches nothing, unless a row marked as its fix says what helped. A
    cause without a known fix is a lesson once it came up ``skills.min_failures`` times.

    Args:
        attempts: What stands of ``schemas.ATTEMPTS``, all of each triple of ``procedures.keys_of``.
        policy: Section skills.

    Returns:
        ``schemas.PROCEDURES`` of kind lesson without the columns of the revision, sorted.
        ``failure_count`` counts failures that last, ``success_count`` tries that a fix is known of;
        ``is_suggested`` says that one is. Where the sentence is the fix alone, because the failure
        passes by itself or names no cause, trust, privacy and sources are those of the rows that say
        the fix; else of all that was counted.
    """
    rule = policy.skills
    failed = attempts.filter(
        (pl.col("outcome") == "failure") & (~pl.col("is_transient") | pl.col("fix").is_not_null())
    ).with_columns(
        tool=pl.col("tool_sequence").list.last().fill_null(""),
        family=reason_family(pl.col("failure_reason"), rule.family_words),
        has_fix=pl.col("fix").is_not_null(),
    )
    is_by_fix = pl.col("is_transient") | pl.col("failure_reason").is_null()
    told = failed.with_columns(is_by_fix=is_by_fix & pl.col("fix_episode_id").is_not_null())
    ranked = told.sort("has_fix", "event_at", "attempt_id")
    found = ranked.group_by(*_KEY, "is_by_fix", maintain_order=True).agg(
        success_count=pl.col("has_fix").sum(),
        failure_count=(~pl.col("is_transient")).sum(),
        agent_id=one_agent(),
        reason=pl.col("failure_reason").last(),
        fix=pl.col("fix").last(),
        fix_trust=pl.col("fix_trust").min(),
        fix_sensitivity=pl.col("fix_sensitivity").cast(PRIVACY).max(),
        fix_refs=pl.col("fix_episode_id").drop_nulls().unique().sort(),
        **totals(),
    )
    is_often = (pl.col("failure_count") >= rule.min_failures) & pl.col("reason").is_not_null()
    worth = found.filter((pl.col("success_count") > 0) | is_often)
    return procedure_rows(_told(worth, rule.retention_tier), "lesson", *_KEY[2:], "is_by_fix")


def _told(found: pl.DataFrame, tier: str) -> pl.DataFrame:
    """The sentence, "<task>: <reason> → <fix>", and what it rests on."""
    lead = pl.col("task_type")
    is_other = (pl.col("tool") != "") & ~lead.str.starts_with(pl.col("tool"))
    lead = pl.when(is_other).then(pl.format("{} ({})", lead, "tool")).otherwise(lead)
    lead = pl.when(lead == UNNAMED).then(pl.lit("")).otherwise(pl.format("{}: ", lead))
    is_by_fix = pl.col("is_by_fix")
    sentence = (
        pl.when(is_by_fix | pl.col("reason").is_null())
        .then(pl.format("{}{}", lead, "fix"))
        .when(pl.col("fix").is_not_null())
        .then(pl.format("{}{} → {}", lead, pl.col("reason").str.strip_chars_end(" .;:"), "fix"))
        .otherwise(pl.format("{}{}; no fix is known", lead, pl.col("reason").str.strip_chars_end(" .;:")))
    )
    return found.with_columns(
        policy=sentence,
        trigger="task_type",
        tool_sequence=pl.lit([], pl.List(pl.String)),
        success_rate=pl.lit(None, pl.Float32),
        average_reward=pl.lit(None, pl.Float32),
        is_suggested=pl.col("success_count") > 0,
        retention_tier=pl.lit(tier),
        trust=pl.when(is_by_fix).then("fix_trust").otherwise("trust"),
        sensitivity=pl.when(is_by_fix).then("fix_sensitivity").otherwise("sensitivity"),
        source_refs=pl.when(is_by_fix).then("fix_refs").otherwise("source_refs"),
    )
