"""What worked after a failure, where its session says so, and which episode says it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import polars as pl

from transforms.policy_sleep import SkillsPolicy
from transforms.skills.tries import UNNAMED, one_line, without_orders

_SENTENCES = r"^(.*[.!?…][\"'”’)]?)\s"
_UNSPACED_SENTENCES = r"^(.*[。！？])"
_LAST_QUESTION = r"(?s)(^|[.!…]\s|[。！\n])(?:[^.!。！…?？\n]|[.!…]\S)*[?？]\W*$"
_ARGUMENT = re.compile(r"[^\W\d][\w-]{0,39}")
_MAX_NAMED = 4
_READ_CHARS = 2_000
_COMMON_WORDS = (
    "about", "after", "again", "because", "before", "cannot", "could", "error", "failed", "first", "fixed",
    "found", "other", "should", "still", "their", "there", "these", "thing", "those", "today", "where",
    "which", "while", "works", "worked", "would",
)  # fmt: skip
"""Longer words that any two texts may share."""


def fixes(rows: pl.DataFrame, tries: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """What worked after each try that failed.

    In this order: what a row marked as a fix says, of the later success with the tool that failed, with
    the same named task, or of the next success in the session; what the end of such a success says; what
    changed in the call and what the assistant said before it. A failure that passes by itself has a
    fix only where a row is marked as that. A call that went well with the very same arguments, and
    nothing done in between, shows no fix.

    Args:
        rows: From ``with_attempts``.
        tries: From ``tries``.
        policy: Section skills.

    Returns:
        One row a fix: ``attempt``, ``fix`` String, ``fix_at`` (position of the row marked as a fix,
        null where none is), ``by_at`` List of the positions it rests on.
    """
    failed = tries.filter(pl.col("outcome") == "failure").select(
        "attempt",
        "session",
        "last_at",
        "task",
        "task_type",
        "is_transient",
        tool=pl.col("tool_sequence").list.last(),
    )
    if failed.is_empty():
        return _NOTHING
    found = _with_cures(failed, rows, tries)
    told = _told(found, rows, policy)
    shown = told.filter(pl.col("fix").is_null() & ~pl.col("is_transient") & pl.col("done_at").is_not_null())
    changed = _changed(shown, rows, policy)
    named = told.filter(pl.col("fix").is_not_null()).select(
        "attempt", "fix", "fix_at", by_at=pl.concat_list("said_at")
    )
    both = pl.concat([named, changed.select(named.columns)])
    return both.with_columns(fix=without_orders(both["fix"])).drop_nulls("fix").sort("attempt")


_NOTHING = pl.DataFrame(
    schema={"attempt": pl.UInt32, "fix": pl.String, "fix_at": pl.UInt32, "by_at": pl.List(pl.UInt32)}
)


def _with_cures(failed: pl.DataFrame, rows: pl.DataFrame, tries: pl.DataFrame) -> pl.DataFrame:
    """Failures with the try that cured them: by the same tool (and its call), by task, or the next one."""
    calls = rows.filter(
        pl.col("is_done") & pl.col("attempt").is_not_null() & pl.col("tool_name").is_not_null()
    )
    done = calls.select("session", tool="tool_name", done_at="at", by_tool="attempt").sort("done_at")
    good = tries.filter(pl.col("outcome") == "success").select(
        "session", "task_type", good_at="first_at", cure="attempt"
    )
    by_task = good.filter(pl.col("task_type") != UNNAMED).rename({"cure": "by_task"})
    found = failed.sort("last_at")
    for some, at, keys in (
        (done, "done_at", ["session", "tool"]),
        (by_task.sort("good_at"), "good_at", ["session", "task_type"]),
        (
            good.drop("task_type").rename({"cure": "by_next", "good_at": "next_at"}).sort("next_at"),
            "next_at",
            ["session"],
        ),
    ):
        found = found.join_asof(
            some,
            left_on="last_at",
            right_on=at,
            by=keys,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
            coalesce=False,
        )
    return found


def _told(found: pl.DataFrame, rows: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """The first of the cures' rows that says what worked: ``said_at``, ``fix_at`` where marked, ``fix``."""
    is_end = (
        pl.col("is_closing")
        & ~pl.col("is_tool")
        & (pl.col("ended") == "success")
        & (pl.col("role") != "tool")
    )
    says = rows.filter(is_end & pl.col("attempt").is_not_null())
    marked = says.filter("is_fix").group_by("attempt").agg(marked=pl.col("at").min())
    ends = says.group_by("attempt").agg(end=pl.col("at").max())
    for cure in ("by_tool", "by_task", "by_next"):
        for some, name in ((marked, "marked"), (ends, "end")):
            found = found.join(
                some.rename({name: f"{name}_{cure}"}), left_on=cure, right_on="attempt", how="left"
            )
    found = _without_strangers(found, rows)
    fix_at = pl.coalesce("marked_by_tool", "marked_by_task", "marked_by_next")
    end_at = pl.when(~pl.col("is_transient")).then(pl.coalesce("end_by_tool", "end_by_task"))
    placed = found.with_columns(fix_at=fix_at, said_at=pl.coalesce(fix_at, end_at))
    texts = _at(rows, placed["said_at"]).select(said_at="at", fix=_sentences(policy.max_fix_chars))
    return placed.join(texts, on="said_at", how="left", maintain_order="left")


def _at(rows: pl.DataFrame, *positions: pl.Series) -> pl.DataFrame:
    """The rows at some positions, each once; few of many."""
    return rows.filter(pl.col("at").is_in(pl.concat(positions).drop_nulls().unique().implode()))


def _without_strangers(found: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Leaves out fixes of the next success that are of another matter.

    It was asked for in another request, and shares no longer word with the failure.
    """
    named = found.filter(pl.col("marked_by_next").is_not_null())
    some = _at(rows, named["marked_by_next"], named["last_at"])
    said = some.select("request", marked_by_next="at", words=_words("content"))
    failed = some.select(
        last_at="at", failed_request="request", failed_words=_words("content", "failure_reason")
    )
    joined = found.join(said, on="marked_by_next", how="left").join(failed, on="last_at", how="left")
    is_shared = pl.col("words").list.set_intersection("failed_words").list.len() > 0
    is_near = (pl.col("request") == pl.col("failed_request")) | is_shared
    return joined.with_columns(marked_by_next=pl.when(is_near.fill_null(False)).then("marked_by_next")).drop(
        "request", "words", "failed_request", "failed_words"
    )


def _words(*columns: str) -> pl.Expr:
    text = pl.concat_str([pl.col(c).fill_null("") for c in columns], separator=" ").str.slice(0, _READ_CHARS)
    found = text.str.to_lowercase().str.extract_all(r"\p{L}{5,}")
    return found.list.set_difference(list(_COMMON_WORDS))


def _sentences(max_chars: int) -> pl.Expr:
    """The whole sentences of a content that fit, or its beginning where not even one does."""
    plain = pl.col("content").str.replace_all(r"\s+", " ").str.strip_chars()
    whole = plain.str.slice(0, max_chars + 1).str.extract(_SENTENCES)
    unspaced = plain.str.slice(0, max_chars).str.extract(_UNSPACED_SENTENCES)
    return (
        pl.when(plain.str.len_chars() <= max_chars)
        .then(pl.when(plain != "").then(plain))
        .otherwise(pl.coalesce(whole, unspaced, one_line(plain, max_chars)))
    )


def _changed(shown: pl.DataFrame, rows: pl.DataFrame, policy: SkillsPolicy) -> pl.DataFrame:
    """What was said before a call that went well, and how it differs from the one that failed."""
    steps = rows.select("at", "arguments", steps=pl.col("is_tool").cum_sum())
    steps = _at(steps, shown["last_at"], shown["done_at"])
    before = steps.rename({"at": "last_at"})
    after = steps.rename({"at": "done_at", "arguments": "new_arguments", "steps": "new_steps"})
    pairs = shown.drop("said_at").join(before, on="last_at", how="left").join(after, on="done_at", how="left")
    pairs = pairs.sort("done_at").join_asof(
        _statements(rows, shown["session"]),
        left_on="done_at",
        right_on="said_at",
        by="session",
        coalesce=False,
        check_sortedness=False,
    )
    is_between = pl.col("said_at") > pl.col("last_at")
    is_same = (pl.col("arguments") == pl.col("new_arguments")).fill_null(False)
    pairs = pairs.filter(~(is_same & (pl.col("new_steps") - pl.col("steps") <= 1)))
    given = pairs.select("arguments", "new_arguments").iter_rows()
    statement = one_line(pl.col("statement"), policy.max_fix_chars)
    fixed = pairs.with_columns(
        pl.Series("change", [difference(old, new) for old, new in given], pl.String),
        statement=pl.when(is_between).then(statement),
    ).with_columns(
        fix=pl.coalesce(pl.col("change") + ": " + pl.col("statement"), "change", "statement"),
        fix_at=pl.lit(None, pl.UInt32),
        by_at=pl.concat_list("done_at", pl.when(is_between).then("said_at")).list.drop_nulls(),
    )
    return fixed.drop_nulls("fix")


def _statements(rows: pl.DataFrame, sessions: pl.Series) -> pl.DataFrame:
    """What the assistant said in some sessions, without the question it may end in."""
    said = rows.filter(pl.col("is_statement") & pl.col("session").is_in(sessions.unique().implode()))
    text = pl.col("content").str.replace(_LAST_QUESTION, "$1").str.strip_chars()
    found = said.select("session", said_at="at", statement=text)
    return found.filter(pl.col("statement") != "").sort("said_at")


def difference(before: str | None, after: str | None) -> str | None:
    """Names of the arguments by which a call that went well differs from the one that failed.

    Names only: values are of that one case, and may be anybody's.

    Args:
        before: JSON of the call that failed.
        after: JSON of the call that went well.

    Returns:
        "worked with a, another b, without c"; None where nothing differs or either is no object.
    """
    old, new = _object(before), _object(after)
    if old is None or new is None:
        return None
    named = [key for key in sorted({*old, *new}) if _ARGUMENT.fullmatch(key)]
    given = [key for key in named if key not in old]
    given += [f"another {key}" for key in named if key in old and key in new and old[key] != new[key]]
    left = [key for key in named if key not in new]
    parts = [
        f"{word} {', '.join(keys[:_MAX_NAMED])}"
        for word, keys in (("with", given), ("without", left))
        if keys
    ]
    return f"worked {', '.join(parts)}" if parts else None


def _object(text: str | None) -> Mapping[str, object] | None:
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
