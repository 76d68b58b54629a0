"""Facts, summaries and skills to rows of the index: only what holds and is worth offering at an instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from transforms import ids, retention
from transforms.declarations import fact_columns
from transforms.embedding import DERIVED_TEXTS, hashed_texts
from transforms.facts.belief import current
from transforms.forgetting.access import with_access
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.predicate_words import predicate_words
from transforms.schemas import FACTS, INSTANT, MEMORIES, PROCEDURES, SUMMARIES, Table
from transforms.search_text import search_texts

PUBLISHED: tuple[Table, ...] = (FACTS, SUMMARIES, PROCEDURES)
"""Derived tables whose rows are recalled."""
_NOW = datetime(9000, 1, 1, tzinfo=UTC)
"""After anything that a lake can have recorded: what it holds is known."""
_NOTHING = {
    "role": pl.String,
    "session_id": pl.String,
    "outcome": pl.String,
    "failure_reason": pl.String,
}


def live_rows(
    rows: pl.DataFrame, table: Table, policy: Policy, as_of: datetime, wishes: Wishes | None = None
) -> pl.DataFrame:
    """Rows of one of ``PUBLISHED`` that may be served at an instant.

    Args:
        rows: What stands of the table.
        table: Which.
        policy: Retention.
        as_of: A fact must be valid then, by all that the lake holds now, and sure enough to be served; and
            no row past its expiry.
        wishes: Retention periods and pins of people.

    Returns:
        The rows with ``event_at`` and their effective ``expires_at``: the first of the expiry asked
        for, the end of validity, the time to live, counted from the last confirmation or episode, and the
        instant at which a fact that nobody confirms is archived.
    """
    if table is FACTS:
        shaped = _valid_facts(rows, policy.decay, as_of)
    else:
        shaped = _summaries(rows) if table is SUMMARIES else _skills(rows)
    asked = wishes or Wishes()
    due = retention.expiry_expr(policy.retention, asked.periods, asked.pins, key=table.key[0])
    if table is FACTS:
        due = pl.min_horizontal(due, "archived_at")
    return (
        shaped.with_columns(expires_at=due).filter(retention.is_live(as_of)).drop("archived_at", strict=False)
    )


def _asked_for(table: Table) -> pl.Expr:
    """Words that a row is asked for by, beside those it holds."""
    return pl.lit(" ") + predicate_words() if table is FACTS else pl.lit("")


def _valid_facts(facts: pl.DataFrame, decay: DecayPolicy, as_of: datetime) -> pl.DataFrame:
    held = current(facts, _NOW, as_of).filter(pl.col("confidence") >= decay.archive_below_confidence)
    return held.with_columns(
        event_at="last_confirmed_at",
        expires_at=pl.min_horizontal("expires_at", "valid_until"),
        archived_at=archived_at(decay),
    )


def archived_at(decay: DecayPolicy) -> pl.Expr:
    """When a fact that nobody confirms is too unsure to be served, null for never."""
    if decay.unconfirmed_after_days is None:
        return pl.lit(None, INSTANT)
    is_unsure = pl.col("confidence") * decay.unconfirmed_factor < decay.archive_below_confidence
    after = timedelta(days=decay.unconfirmed_after_days)
    return pl.when(is_unsure).then(pl.col("last_confirmed_at") + after)


def _summaries(summaries: pl.DataFrame) -> pl.DataFrame:
    return summaries.with_columns(event_at="last_event_at", kind=pl.lit("summary"))


def _skills(procedures: pl.DataFrame) -> pl.DataFrame:
    """Procedures that are suggested; lessons and patterns as they are."""
    is_offered = (pl.col("kind") != "procedure") | pl.col("is_suggested")
    none = pl.lit(None, MEMORIES.polars["expires_at"])
    return procedures.filter(is_offered).with_columns(event_at="last_event_at", expires_at=none)


def hashed(rows: pl.DataFrame, table: Table, policy: Policy) -> pl.DataFrame:
    """Live rows with the ``text_hash`` their vector is held under."""
    return hashed_texts(rows, table, policy.embed.max_text_chars).drop("embedding_text")


def _keys(table: Table) -> list[pl.Expr]:
    """What a fact is named by; nothing for what is none."""
    if table is FACTS:
        return [pl.col(column.name).cast(column.dtype) for column in fact_columns()]
    return [pl.lit(None, column.dtype).alias(column.name) for column in fact_columns()]


def _speaker(rows: pl.DataFrame, table: Table, episodes: pl.DataFrame | None) -> pl.Series:
    """Who said the phrasing of each fact that is shown: what tells the facts of two people apart."""
    if table is not FACTS or episodes is None:
        return pl.Series("speaker", [None], pl.String).new_from_index(0, rows.height)
    said = episodes.select(span_episode_id="episode_id", said_by="speaker").unique("span_episode_id")
    spans = rows.select("span_episode_id")
    named = spans.join(said, on="span_episode_id", how="left", maintain_order="left")
    return named["said_by"].alias("speaker")


def derived_memories(
    rows: pl.DataFrame,
    vectors: pl.DataFrame,
    table: Table,
    access: pl.DataFrame | None = None,
    episodes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Rows of ``schemas.MEMORIES``.

    Args:
        rows: From ``hashed``.
        vectors: ``text_hash`` and ``vector`` of one vector space; a text without one is found by its
            words only.
        table: One of ``PUBLISHED``.
        access: ``access.ACCESS_SCHEMA``: recalls folded in; None where nothing was recalled.
        episodes: ``episode_id`` and ``speaker`` of the episodes behind them: a fact is its speaker's.
    """
    text = DERIVED_TEXTS[table.name]
    joined = rows.join(vectors.unique("text_hash"), on="text_hash", how="left", maintain_order="left")
    tier = {FACTS.name: "semantic", SUMMARIES.name: "episodic", PROCEDURES.name: "procedural"}[table.name]
    seen = with_access(joined.lazy(), None if access is None else access.lazy(), table.key[0]).collect()
    return seen.with_columns(
        *(pl.lit(None, kind).alias(name) for name, kind in _NOTHING.items()),
        *_keys(table),
        speaker=_speaker(joined, table, episodes),
        memory_id=table.key[0],
        tier=pl.lit(tier),
        text=text,
        search_text=search_texts(joined[text]) + _asked_for(table),
        content_hash=ids.row_ids(joined, "tenant_id", text),
        vector=pl.col("vector").fill_null(pl.lit([], pl.List(pl.Float32))),
    ).select(MEMORIES.names)
