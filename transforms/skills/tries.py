"""Folds the turns of sessions into tries: what was done in which order, how it ended, and why."""

from __future__ import annotations

import polars as pl

from transforms.injection import injection_reason
from transforms.policy_sleep import SkillsPolicy
from transforms.skills.lexicons import is_passing
from transforms.skills.turns import FIX_TAGS, TASK_PREFIX

UNNAMED = "unnamed"
"""Task of a try that neither tool, source nor tag names."""
_MARKER_TAGS = (*FIX_TAGS, "failure", "failed", "error", "success", "outcome", "lesson", "near-duplicate")
_BEFORE_PROGRAM = r"^\s*(?:(?:cd\s+\S+\s*(?:&&|;)|sudo|time|nohup|env|[A-Z_]+=\S*|python3?\s+-m)\s+)*"
_READ_CHARS = 300
"""Of an error's text, what is searched for a passing cause: it stands at the beginning."""


def with_attempts(rows: pl.DataFrame) -> pl.DataFrame:
    """Turns with the try each is part of.

    Args:
        rows: From ``turns``.

    Returns:
        The rows with ``attempt`` UInt32 (null: part of none), ``is_own`` (a step or an end of it) and
        ``after`` UInt32: the attempt of the row or, where it has none, the last one before it in its
        session, which is whose feedback it is.
    """
    parts = rows.join(_attempt_of_try(rows), on="try", how="left", maintain_order="left")
    is_own = (pl.col("is_tool") | pl.col("is_closing")) & pl.col("attempt").is_not_null()
    return parts.with_columns(
        is_own=is_own, after=pl.when(is_own).then(pl.col("attempt")).forward_fill().over("session")
    )


def _attempt_of_try(rows: pl.DataFrame) -> pl.DataFrame:
    """``try`` to ``attempt``: an end told without a step of its own belongs to the steps before it.

    It does unless it contradicts them: another end than the one told already, success after a call that
    failed, or a different end after the user asked for something else.
    """
    end = pl.when(pl.col("is_closing") & ~pl.col("is_tool")).then(pl.col("ended"))
    groups = rows.group_by("try", maintain_order=True).agg(
        session=pl.col("session").first(),
        has_steps=(pl.col("is_tool") | pl.col("tool_name").is_not_null()).any(),
        has_end=(pl.col("is_closing") & ~pl.col("is_tool")).any(),
        is_asked=(pl.col("is_opening") & ~pl.col("is_new")).first(),
        told=end.drop_nulls().last(),
        came_to=_step_ends().drop_nulls().last(),
    )
    groups = groups.filter(pl.col("has_steps") | pl.col("has_end")).with_columns(
        run=pl.col("has_steps").cum_sum().over("session")
    )
    in_run = ["session", "run"]
    head = groups.with_columns(
        pl.col("try", "came_to").first().over(in_run).name.prefix("head_"),
        run_told=pl.col("told").drop_nulls().first().over(in_run),
        has_head=pl.col("has_steps").first().over(in_run),
    )
    other = pl.col("told").ne_missing(pl.col("run_told"))
    cured = (pl.col("head_came_to") == "failure") & (pl.col("told") == "success")
    moved = pl.col("is_asked") & pl.coalesce("head_came_to", "run_told").ne_missing(pl.col("told"))
    parts = pl.col("has_steps") | (pl.col("told").is_not_null() & (other | cured.fill_null(False) | moved))
    is_apart = (parts & ~pl.col("has_steps")).cum_sum().over(in_run) > 0
    return head.select(
        "try",
        attempt=pl.when(pl.col("has_head") & ~is_apart).then(pl.col("head_try")).otherwise(pl.col("try")),
    )


def _step_ends() -> pl.Expr:
    """How a call came out: as its row says, else well where a result is there."""
    ended = pl.coalesce("ended", pl.when(pl.col("is_done")).then(pl.lit("success")))
    return pl.when(pl.col("is_tool")).then(ended)


def tries(rows: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """One row a try.

    Args:
        rows: From ``with_attempts``.
        policy: Section skills.

    Returns:
        Columns ``attempt``, ``session``, ``first_at``, ``last_at`` (positions), ``event_at``,
        ``tool_sequence``, ``task`` (as the source named it) and ``task_type``, ``outcome``,
        ``failure_reason``, ``is_transient``, in the order of the rows.
    """
    own = rows.filter("is_own")
    folded = own.group_by("attempt", maintain_order=True).agg(
        session=pl.col("session").first(),
        first_at=pl.col("at").first(),
        last_at=pl.col("at").last(),
        event_at=pl.col("event_at").max(),
        task=pl.col("task").drop_nulls().last(),
        outcome=pl.coalesce(
            pl.col("ended").filter(pl.col("is_closing") & ~pl.col("is_tool")).drop_nulls().last(),
            _step_ends().drop_nulls().last(),
        ),
        tag=_task_tags().list.sort().list.first().min(),
        **_reasons(),
    )
    named = folded.join(_sequences(own), on="attempt", how="left", maintain_order="left").with_columns(
        pl.col("tool_sequence").fill_null([])
    )
    last_tool = pl.col("tool_sequence").list.last() + pl.coalesce(pl.lit(" ") + pl.col("program"), pl.lit(""))
    typed = named.with_columns(task_type=pl.coalesce("task", last_tool, "tag", pl.lit(UNNAMED)))
    return _explained(typed, policy)


def _task_tags() -> pl.Expr:
    """Tags of a row that could name a task."""
    word = pl.element().str.to_lowercase()
    return pl.col("tags").list.eval(
        pl.element().filter(~word.is_in(_MARKER_TAGS) & ~word.str.starts_with(TASK_PREFIX))
    )


def _reasons() -> dict[str, pl.Expr]:
    """Reason as told, and the text of the first row that failed or came half way."""
    is_bad = pl.col("ended").is_in(["failure", "partial"])
    is_heard = is_bad & (pl.col("is_result") | ~pl.col("is_tool"))
    return {
        "reason": pl.col("failure_reason").filter(is_bad).drop_nulls().last(),
        "error": pl.coalesce(
            pl.col("content").filter(is_heard).first(), pl.col("content").filter(is_bad).first()
        ),
        "result": pl.col("content").filter(is_heard & pl.col("is_tool")).last(),
    }


def _sequences(own: pl.DataFrame) -> pl.DataFrame:
    """Tools of each try in order; a result repeats its call, and repeats in a row are one step."""
    steps = own.filter(pl.col("tool_name").is_not_null())
    calls = (pl.col("kind") != "observation").cum_sum().over("attempt", "tool_name")
    steps = steps.filter((pl.col("kind") != "observation") | (calls == 0))
    is_repeat = pl.col("tool_name") == pl.col("tool_name").shift(1).over("attempt")
    return (
        steps.with_columns(is_repeat=is_repeat.fill_null(False))
        .group_by("attempt", maintain_order=True)
        .agg(tool_sequence=pl.col("tool_name").filter(~pl.col("is_repeat")), program=_program().last())
    )


def _program() -> pl.Expr:
    """What a shell was given to run: one tool, many tasks; null for a call without a command."""
    command = pl.coalesce(
        pl.col("tool_arguments").str.json_path_match("$.command"),
        pl.col("tool_arguments").str.json_path_match("$.cmd"),
    )
    return command.str.replace(_BEFORE_PROGRAM, "").str.extract(r"^(?:\S*/)?([A-Za-z][\w.-]{0,39})(?:\s|;|$)")


def _explained(folded: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """Reason of what failed, on one line, and whether it passes by itself; orders are left out."""
    has_failed = pl.col("outcome").is_in(["failure", "partial"]).fill_null(False)
    why = pl.coalesce("reason", "error").str.strip_chars().str.split("\n").list.first()
    told = folded.with_columns(
        failure_reason=pl.when(has_failed).then(one_line(why, policy.max_reason_chars)),
        is_transient=(pl.col("outcome") == "failure").fill_null(False)
        & (is_passing(_head(pl.coalesce("reason", "error"))) | is_passing(_head(pl.col("result")))),
    )
    return told.with_columns(failure_reason=without_orders(told["failure_reason"])).drop(
        "reason", "error", "result", "tag", "program"
    )


def _head(text: pl.Expr) -> pl.Expr:
    return text.str.slice(0, _READ_CHARS)


def one_line(text: pl.Expr, max_chars: int) -> pl.Expr:
    """Text with single spaces, cut with a mark where it is longer; null where nothing is left."""
    plain = text.str.replace_all(r"\s+", " ").str.strip_chars()
    cut = (
        pl.when(plain.str.len_chars() > max_chars)
        .then(plain.str.slice(0, max_chars - 1).str.strip_chars_end() + "…")
        .otherwise(plain)
    )
    return pl.when(plain != "").then(cut)


def without_orders(texts: pl.Series) -> pl.Series:
    """Null in the place of a text that reads as an order to the agent, whoever wrote it."""
    distinct = texts.drop_nulls().unique()
    nobody = pl.Series([None], dtype=pl.String).new_from_index(0, distinct.len())
    orders = distinct.filter(injection_reason(distinct, nobody, nobody).is_not_null())
    is_order = pl.col("text").is_in(orders.implode())
    return texts.to_frame("text").select(pl.when(~is_order).then(pl.col("text"))).to_series()
