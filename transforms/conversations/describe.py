"""One row a session: a title line, its topics, and the mood of what the user said."""

from __future__ import annotations

import polars as pl

from transforms import ids
from transforms.conversations.mood import moods, squash
from transforms.conversations.terms import topics
from transforms.conversations.titles import cut_expr, is_request_expr, with_titles
from transforms.injection import injection_reason
from transforms.policy import Policy
from transforms.schemas import CONVERSATIONS, SENSITIVITIES, TEXTS

RULES = "rules-1"
"""Method and version."""
LEAST_MOOD = 0.2
"""Nearer to 0 than this a mood is neutral: about one mild word."""
MIXED_SUM, MIXED_RATIO = 1.0, 0.4
"""In a mixed session the weaker side has at least this sum of valence, and this part of the stronger."""
_EARLY = 3
_KEY = ("tenant_id", "owner", "session_id")


def describe(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Rows of whole sessions, by rule.

    Args:
        episodes: ``schemas.EPISODES`` with ``owner``, of whole (tenant, owner, session) groups. Rows
            without owner or session, and injected ones, are passed over.
        policy: Section conversations.

    Returns:
        ``schemas.CONVERSATIONS`` without revision and is_removed, sorted by ``CONVERSATIONS.sort_by``.
        A row depends on its own session alone.
    """
    turns = sessions(episodes)
    rule = policy.conversations
    made = (
        _counted(turns)
        .join(_titles(turns, rule.max_title_chars), on="conversation_id", how="left")
        .join(topics(_said(turns), rule.topic_terms), on="conversation_id", how="left")
        .join(_sentiments(turns), on="conversation_id", how="left")
        .with_columns(
            title=pl.coalesce("title", _plain_title(rule.max_title_chars)),
            topics=pl.col("topics").fill_null(pl.lit([], TEXTS)),
            method=pl.lit(RULES),
        )
    )
    return shaped(made)


def shaped(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows as the table holds them, without its revision columns, sorted."""
    kept = {n: t for n, t in CONVERSATIONS.polars.items() if n not in ("revision", "is_removed")}
    schema = pl.Schema(kept)
    return rows.select(schema.names()).cast(schema).sort(CONVERSATIONS.sort_by)


def sessions(episodes: pl.DataFrame) -> pl.DataFrame:
    """Episodes of conversations with ``conversation_id``, sorted by it and time, numbered by ``row``."""
    held = episodes.filter(
        pl.col("owner").is_not_null() & pl.col("session_id").is_not_null() & ~pl.col("is_injected")
    )
    keys = held.select(_KEY).unique(maintain_order=True)
    keys = keys.with_columns(conversation_id=ids.row_ids(keys, *_KEY))
    order = ["conversation_id", "event_at", "turn_index", "episode_id"]
    return held.join(keys, on=_KEY, how="left").sort(order, nulls_last=True).with_row_index("row")


def _is_user() -> pl.Expr:
    return (pl.col("role") == "user").fill_null(False) & pl.col("tool_name").is_null()


def _said(turns: pl.DataFrame) -> pl.DataFrame:
    """What people and agents said; no tool output, no inserted instructions."""
    return turns.filter(pl.col("role").is_in(["user", "assistant"]) & pl.col("tool_name").is_null())


def _counted(turns: pl.DataFrame) -> pl.DataFrame:
    agents, said = pl.col("agent_id"), _is_user()
    order = pl.col("sensitivity").cast(pl.Enum(SENSITIVITIES))
    is_person = pl.col("owner").str.starts_with("user:")
    return (
        turns.group_by("conversation_id", maintain_order=True)
        .agg(
            pl.col("tenant_id", "tenant_bucket", "owner", "session_id").first(),
            agent_id=pl.when((agents.n_unique() == 1) & (agents.null_count() == 0)).then(agents.first()),
            turn_count=pl.len(),
            user_turn_count=said.sum(),
            user_chars=pl.col("content_chars").filter(said).sum(),
            started_at=pl.col("event_at").min(),
            ended_at=pl.col("event_at").max(),
            sensitivity=order.max().cast(pl.String),
            tool=pl.col("tool_name").drop_nulls().first(),
        )
        .with_columns(user_id=pl.when(is_person).then(pl.col("owner").str.strip_prefix("user:")))
    )


def _titles(turns: pl.DataFrame, max_chars: int) -> pl.DataFrame:
    """The first request of the user, else the first they wrote, else the first an agent wrote.

    Where one of the first turns of the user is a request, no later one is read.
    """
    said = _said(turns).select("conversation_id", "row", "role", "content")
    is_early = (pl.col("role") == "user") & (pl.int_range(pl.len()).over("conversation_id", "role") < _EARLY)
    early = _title_of(said.filter(is_early), max_chars).filter(pl.col("rank") == 0)
    late = _title_of(said.join(early, on="conversation_id", how="anti"), max_chars)
    return pl.concat([early, late]).select("conversation_id", "title")


def _title_of(said: pl.DataFrame, max_chars: int) -> pl.DataFrame:
    """``conversation_id``, ``title`` and its ``rank``, 0 for a request; no agent's words that instruct."""
    titled = with_titles(said, max_chars).filter(pl.col("title").is_not_null())
    is_user = pl.col("role") == "user"
    rank = pl.when(is_user & is_request_expr()).then(0).when(is_user).then(1).otherwise(2)
    by_agent = titled.filter(~is_user)
    blank = pl.Series([None] * by_agent.height, dtype=pl.String)
    instructs = by_agent.filter(injection_reason(by_agent["title"], blank, blank).is_not_null())
    ordered = (
        titled.join(instructs, on="row", how="anti")
        .with_columns(rank=rank)
        .sort("conversation_id", "rank", "row")
    )
    return ordered.group_by("conversation_id", maintain_order=True).agg(pl.col("title", "rank").first())


def _plain_title(max_chars: int) -> pl.Expr:
    """The title of a session in which nobody said anything."""
    tool = pl.lit("Run of ") + pl.col("tool").str.replace_all(r"\s+", " ")
    day = pl.lit("Session of ") + pl.col("started_at").dt.strftime("%-d %B %Y")
    return cut_expr(pl.coalesce(tool, day), max_chars)


def _sentiments(turns: pl.DataFrame) -> pl.DataFrame:
    """``sentiment``, the mean over the turns of the user that carry mood, and its label."""
    said = turns.filter(_is_user()).select("conversation_id", "content")
    felt = pl.concat([said, moods(said["content"])], how="horizontal").drop_nulls("positive")
    total = pl.col("positive") - pl.col("negative")
    scored = felt.with_columns(
        turn=total.map_batches(lambda s: pl.Series([squash(v) for v in s], dtype=pl.Float64), pl.Float64)
    )
    sums = scored.group_by("conversation_id", maintain_order=True).agg(
        sentiment=pl.col("turn").mean().round(6), up=pl.col("positive").sum(), down=pl.col("negative").sum()
    )
    weaker, stronger = pl.min_horizontal("up", "down"), pl.max_horizontal("up", "down")
    label = (
        pl.when((weaker >= MIXED_SUM) & (weaker >= MIXED_RATIO * stronger))
        .then(pl.lit("mixed"))
        .when(pl.col("sentiment") >= LEAST_MOOD)
        .then(pl.lit("positive"))
        .when(pl.col("sentiment") <= -LEAST_MOOD)
        .then(pl.lit("negative"))
        .otherwise(pl.lit("neutral"))
    )
    return sums.select("conversation_id", "sentiment", sentiment_label=label)
