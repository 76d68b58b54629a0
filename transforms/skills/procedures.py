"""Procedures: which sequence of tools worked for which task, counted over attempts."""

from __future__ import annotations

import polars as pl

from transforms.ids import SEPARATOR
from transforms.policy import Policy
from transforms.skills.shape import procedure_rows, totals

KEY = ("tenant_id", "owner", "task_type")
"""Attempts that agree on these are counted together: no procedure or lesson reaches beyond them."""


def keys_of(attempts: pl.DataFrame) -> pl.DataFrame:
    """Which procedures and lessons a change of attempts concerns.

    Args:
        attempts: ``schemas.ATTEMPTS`` that changed, as they were and as they are.

    Returns:
        Columns ``tenant_id``, ``owner``, ``task_type``, each triple once, sorted. All attempts of a
        triple give all its procedures and lessons; of these the task is the ``trigger``.
    """
    return attempts.select(KEY).unique().sort(KEY)


def procedures(attempts: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Count what each sequence of tools came to, by owner, agent and task.

    A failure for a reason that passes counts neither way; half a success moves the reward alone.

    Args:
        attempts: What stands of ``schemas.ATTEMPTS``, all of each triple of ``keys_of``.
        policy: Section skills.

    Returns:
        ``schemas.PROCEDURES`` of kind procedure without the columns of the revision, sorted; none for a
        sequence that nothing is known of.
    """
    rule = policy.skills
    counted = attempts.filter(
        (pl.col("tool_sequence").list.len() > 0) & pl.col("outcome").is_not_null() & ~pl.col("is_transient")
    ).with_columns(steps=pl.col("tool_sequence").list.join(SEPARATOR))
    found = counted.group_by("tenant_id", "owner", "agent_id", "task_type", "steps").agg(
        tool_sequence=pl.col("tool_sequence").first(),
        success_count=(pl.col("outcome") == "success").sum(),
        failure_count=(pl.col("outcome") == "failure").sum(),
        average_reward=pl.col("reward").cast(pl.Float64).sort().mean(),
        **totals(),
    )
    runs = pl.col("success_count") + pl.col("failure_count")
    rated = found.with_columns(
        runs=runs,
        success_rate=pl.when(runs > 0).then(pl.col("success_count") / runs),
        trigger="task_type",
        retention_tier=pl.lit(rule.retention_tier),
    )
    said = rated.with_columns(
        policy=_sentence(),
        is_suggested=(pl.col("runs") >= rule.min_attempts)
        & (pl.col("success_rate") > rule.min_success_rate).fill_null(False),
    )
    return procedure_rows(said, "procedure", "agent_id", "task_type", "steps")


def _sentence() -> pl.Expr:
    """For <task>: a → b worked 4 of 5 times; a task named after its only tool is not named twice."""
    tools = pl.col("tool_sequence").list.join(" → ")
    for_task = (
        pl.when(tools == pl.col("task_type"))
        .then(tools)
        .otherwise("For " + pl.col("task_type") + ": " + tools)
    )
    times = pl.when(pl.col("runs") == 1).then(pl.lit("1 time")).otherwise(pl.format("{} times", "runs"))
    return (
        pl.when(pl.col("runs") > 0)
        .then(pl.format("{} worked {} of {}", for_task, "success_count", times))
        .otherwise(pl.format("{} came half way", for_task))
    )
