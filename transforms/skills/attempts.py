"""Attempts: one row a try at a task inside a session, with what its end, its feedback and its fix rest on."""

from __future__ import annotations

import polars as pl

from transforms import ids
from transforms.policy import Policy
from transforms.schemas import ATTEMPTS, SENSITIVITIES
from transforms.skills.fixes import fixes
from transforms.skills.tries import tries, with_attempts
from transforms.skills.turns import turns

REVISION = ("revision", "is_removed")
_REWARDS = {"success": 1.0, "partial": 0.5, "failure": 0.0}
PRIVACY = pl.Enum(SENSITIVITIES)
"""Least private first, so that the maximum is the most private."""


def attempts(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Cut sessions into attempts.

    A try is what the agent did between two requests of the user; a call that fails ends it, and so does
    an episode or a turn that tells the end. Each call and each end is part of exactly one attempt.
    What counts as what: ``docs/skills.md``.

    Args:
        episodes: ``schemas.EPISODES`` of whole sessions, in any order.
        policy: Section skills.

    Returns:
        ``schemas.ATTEMPTS`` without the columns of the revision, sorted; sessions in which no tool ran
        and no end is told give none.
    """
    rows = with_attempts(turns(episodes, policy.skills))
    found = tries(rows, policy.skills)
    found = found.join(fixes(rows, found, policy.skills), on="attempt", how="left", maintain_order="left")
    found = found.with_columns(fix_at=pl.when(pl.col("fix").is_not_null()).then("fix_at"))
    parts = (
        found.join(_who(rows), on="attempt", how="left", maintain_order="left")
        .join(_said(rows), on="attempt", how="left", maintain_order="left")
        .join(_rests_on(rows, found), on="attempt", how="left", maintain_order="left")
        .join(
            rows.select(
                fix_at="at", fix_episode_id="episode_id", fix_trust="trust", fix_sensitivity="sensitivity"
            ),
            on="fix_at",
            how="left",
            maintain_order="left",
        )
        .with_columns(reward=_reward(policy.skills.feedback_gain))
    )
    named = parts.with_columns(
        attempt_id=ids.row_ids(parts, "tenant_id", "owner", "session_id", "first_episode_id")
    )
    names = [name for name in ATTEMPTS.names if name not in REVISION]
    return named.select(pl.col(n).cast(ATTEMPTS.polars[n]) for n in names).sort(ATTEMPTS.sort_by)


def _who(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.filter("is_own")
        .unique("attempt", keep="first", maintain_order=True)
        .select(
            "attempt",
            "tenant_id",
            "tenant_bucket",
            "owner",
            "user_id",
            "agent_id",
            "session_id",
            first_episode_id="episode_id",
        )
    )


def _said(rows: pl.DataFrame) -> pl.DataFrame:
    """The last that a user said of each attempt, before the next one began."""
    said = rows.filter(pl.col("feedback").is_not_null() & pl.col("after").is_not_null())
    return said.group_by(attempt="after").agg(pl.col("feedback").sort_by("at").last())


def _rests_on(rows: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Lineage of each attempt: steps, ends, feedback, the row that named its task, and what says its fix."""
    own = rows.filter("is_own")
    positions = pl.concat(
        [
            own.select("attempt", "at"),
            own.select("attempt", at="task_at"),
            rows.filter(pl.col("feedback").is_not_null()).select(attempt="after", at="at"),
            found.select("attempt", at="by_at").explode("at"),
        ]
    )
    held = positions.drop_nulls().unique()
    return (
        held.join(
            rows.select(
                "at",
                "episode_id",
                "tags",
                "importance",
                "trust",
                pl.col("sensitivity").cast(PRIVACY),
            ),
            on="at",
        )
        .group_by("attempt")
        .agg(
            source_refs=pl.col("episode_id").sort(),
            tags=pl.col("tags").list.explode(keep_nulls=False, empty_as_null=False).unique().sort(),
            importance=pl.col("importance").max(),
            trust=pl.col("trust").min(),
            sensitivity=pl.col("sensitivity").max(),
        )
    )


def _reward(gain: float) -> pl.Expr:
    """1 success, 0.5 partial, 0 failure; helpful and wrong move it by ``gain`` of the way to 1 and 0."""
    start = pl.col("outcome").replace_strict(_REWARDS, default=None, return_dtype=pl.Float64)
    return (
        pl.when(pl.col("feedback") == "helpful")
        .then(start + gain * (1 - start))
        .when(pl.col("feedback") == "wrong")
        .then(start * (1 - gain))
        .otherwise(start)
    )
