"""Cuts sessions into tries: which episode opens one, which ends one, what it says of how it ended."""

from __future__ import annotations

import polars as pl

from transforms.owners import owner_expr
from transforms.policy_sleep import SkillsPolicy
from transforms.skills.lexicons import feedback_word, goes_on, is_error

SESSION = ("tenant_id", "owner", "agent_id", "session_id")
FIX_TAGS = ("fix", "fixed", "solution", "workaround")
TASK_PREFIX = "task:"
_SAID_BY = ("user", "assistant", "system")
_MAX_TASK_CHARS = 80
_READ = (
    "episode_id", "tenant_id", "tenant_bucket", "owner", "user_id", "agent_id", "session_id", "kind", "role",
    "content", "tool_name", "tool_arguments", "outcome", "failure_reason", "feedback", "tags", "importance",
    "sensitivity", "trust", "turn_index", "event_at", "metadata",
)  # fmt: skip


def turns(episodes: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """Episodes of the sessions in which something was done, in order, with what each means for a try.

    Args:
        episodes: ``schemas.EPISODES`` of whole sessions, in any order. Injected context, summaries and
            rows without an owner are left out; a row without a session is a session of its own.
        policy: Section skills.

    Returns:
        The rows with ``owner`` and

        - ``at`` UInt32 position, ``session`` UInt32 number, ``request`` and ``try`` UInt32: number of the
          user request and of the try that a row belongs to;
        - ``is_tool``, ``is_fix`` (marked as what worked), ``is_closing`` (ends a try), ``is_opening``
          (a user turn with another task), ``is_statement`` (the assistant says something, asks nothing);
        - ``ended`` String: success, failure, partial or null, as told or by rule;
        - ``is_done`` whether it is a call that went well; ``arguments`` String JSON of the call;
        - ``task`` String and ``task_at``: the task that the source named, and the row that named it;
        - ``feedback`` helpful, wrong, fine or null.
    """
    own = episodes.with_columns(owner=owner_expr())
    own = own.filter(
        pl.col("owner").is_not_null() & ~pl.col("is_injected") & (pl.col("kind") != "summary")
    ).select(_READ)
    numbered = _in_sessions(own.unique("episode_id", keep="any"))
    flagged = _flagged(numbered, policy.max_reply_chars)
    cut = flagged.with_columns(
        **{"try": _starts("is_opening", "is_closing"), "request": _starts("is_opening")}
    )
    return _with_tasks(cut)


def _in_sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in order, numbered by session, of those sessions only in which a tool ran or an end is told."""
    lone = pl.when(pl.col("session_id").is_null()).then(pl.col("episode_id"))
    is_tool = pl.col("kind").is_in(["action", "observation"]) | pl.col("tool_name").is_not_null()
    is_tool = is_tool & (pl.col("kind") != "outcome")
    ordered = rows.with_columns(is_tool=is_tool, lone=lone).sort(
        *SESSION, "lone", "event_at", "turn_index", "episode_id", nulls_last=True
    )
    keyed = ordered.with_columns(session=pl.struct(*SESSION, "lone").rle_id())
    told = pl.col("is_tool") | (pl.col("kind") == "outcome") | pl.col("outcome").is_not_null()
    return keyed.filter(told.any().over("session")).drop("lone").with_row_index("at")


def _flagged(rows: pl.DataFrame, max_reply_chars: int) -> pl.DataFrame:
    tags = pl.col("tags").list.eval(pl.element().str.to_lowercase())
    is_said = pl.col("role").is_in(_SAID_BY).fill_null(False) & ~pl.col("is_tool")
    is_fix = is_said & (tags.list.set_intersection(list(FIX_TAGS)).list.len() > 0).fill_null(False)
    told = rows.with_columns(
        is_said=is_said,
        is_fix=is_fix,
        is_result=((pl.col("role") == "tool") | (pl.col("kind") == "observation")).fill_null(False),
        feedback=feedback_word(pl.col("feedback")),
        is_new=pl.col("session").ne_missing(pl.col("session").shift(1)),
    )
    told = told.with_columns(is_answer_of_call=_answers_call())
    named = pl.when("is_answer_of_call").then(pl.col("tool_name").shift(1))
    told = told.with_columns(ended=_ended(), tool_name=pl.coalesce("tool_name", named))
    failed = pl.col("is_tool") & (pl.col("ended") == "failure").fill_null(False)
    # A call and its result are one step: what the call is said to come to counts when the result is in.
    waits = failed & pl.col("is_answer_of_call").shift(-1, fill_value=False)
    says_end = (pl.col("kind") == "outcome") | (~pl.col("is_tool") & pl.col("ended").is_not_null())
    closing = told.with_columns(
        is_closing=says_end | (failed & ~waits) | waits.shift(1, fill_value=False),
        is_done=pl.col("is_tool")
        & (pl.col("ended") == "success").fill_null(pl.col("is_result") & pl.col("ended").is_null()),
    )
    return closing.with_columns(
        is_opening=pl.col("is_new") | (_is_request(max_reply_chars) & ~pl.col("is_closing")),
        is_statement=pl.col("is_said")
        & ~pl.col("is_closing")
        & (pl.col("role") == "assistant")
        & (pl.col("content").str.strip_chars() != ""),
    )


def _ended() -> pl.Expr:
    """How a row says that it ended: as told, else an error is a failure and a fix a success."""
    is_fault = pl.col("failure_reason").is_not_null() | (
        pl.col("is_tool") & pl.col("is_result") & is_error(pl.col("content"))
    )
    by_rule = (
        pl.when(pl.col("is_fix"))
        .then(pl.lit("success"))
        .when(is_fault & (pl.col("is_tool") | (pl.col("kind") == "outcome")))
        .then(pl.lit("failure"))
    )
    return pl.coalesce("outcome", by_rule)


def _answers_call() -> pl.Expr:
    """Whether a row is the result of the call right before it."""
    before = pl.col("is_tool").shift(1) & (pl.col("kind").shift(1) != "observation")
    same = pl.col("tool_name").is_null() | (pl.col("tool_name") == pl.col("tool_name").shift(1))
    return ((pl.col("kind") == "observation") & before & same & ~pl.col("is_new")).fill_null(False)


def _is_request(max_reply_chars: int) -> pl.Expr:
    """Whether a user's turn asks for something else: no answer to a question, no yes, no, or thanks."""
    asked = (pl.col("role").shift(1) == "assistant") & pl.col("content").shift(1).str.contains(r"[?？؟]\W*$")
    is_short = pl.col("content").str.len_chars() <= max_reply_chars
    is_reply = is_short.fill_null(False) & goes_on(pl.col("content"))
    stays = is_reply | pl.col("feedback").is_not_null() | asked.fill_null(False)
    return (pl.col("role") == "user").fill_null(False) & ~pl.col("is_tool") & ~stays


def _starts(opening: str, closing: str | None = None) -> pl.Expr:
    """Number that grows with each session, with each opening row, and after each closing one."""
    starts = pl.col("is_new") | pl.col(opening)
    if closing is not None:
        starts = starts | pl.col(closing).shift(1, fill_value=False)
    return starts.cum_sum()


def _with_tasks(rows: pl.DataFrame) -> pl.DataFrame:
    """What task the source names, on its row and on the later ones of that request; arguments of calls."""
    tag = pl.col("tags").list.eval(
        pl.element().filter(pl.element().str.to_lowercase().str.starts_with(TASK_PREFIX))
    )
    named = pl.coalesce(
        tag.list.sort().list.first().str.slice(len(TASK_PREFIX)),
        *(_field(key) for key in ("task_type", "task")),
    )
    plain = named.str.replace_all(r"\s+", " ").str.strip_chars().str.slice(0, _MAX_TASK_CHARS)
    return (
        rows.with_columns(task=pl.when(plain != "").then(plain))
        .with_columns(task_at=pl.when(pl.col("task").is_not_null()).then(pl.col("at")))
        .with_columns(
            pl.col("task", "task_at").forward_fill().over("request"),
            arguments=pl.col("tool_arguments").forward_fill().over("try", "tool_name"),
        )
    )


def _field(key: str) -> pl.Expr:
    """A text of the metadata, which holds the source's unknown fields as JSON."""
    is_there = pl.col("metadata").str.contains(f'"{key}"', literal=True)
    return pl.when(is_there).then(pl.col("metadata")).str.json_path_match(f"$.{key}")
