"""What text of an episode is embedded, and under which hash its vector is held."""

from __future__ import annotations

import polars as pl

from transforms import ids
from transforms.schemas import EPISODES, FACTS, PROCEDURES, SUMMARIES, Table

TEXT_FORM = "dated-speaker-1"
"""Names the shape below; part of the vector space, so another shape never meets it in an index."""

DERIVED_TEXTS: dict[str, str] = {FACTS.name: "fact", SUMMARIES.name: "text", PROCEDURES.name: "policy"}
"""Derived tables whose rows are embedded, and the column that is, as it stands: it names its own dates."""
EMBEDDED: tuple[Table, ...] = (EPISODES, FACTS, SUMMARIES, PROCEDURES)


def vector_space(model_key: str) -> str:
    """The vector space of a model fed with this text form; vectors compare only inside one."""
    return f"{model_key}+{TEXT_FORM}"


def embedding_text(max_chars: int) -> pl.Expr:
    """``[1 May 2026] speaker: content``, cut to ``max_chars`` of content.

    A date and a speaker raise recall on questions that name either. Needs the columns
    ``event_at``, ``speaker``, ``role`` and ``content`` of ``schemas.EPISODES``.
    """
    day = pl.col("event_at").dt.strftime("[%-d %B %Y] ")
    who = pl.coalesce(pl.col("speaker"), pl.col("role"))
    prefix = pl.when(who.is_null()).then(pl.lit("")).otherwise(who + ": ")
    return day + prefix + pl.col("content").str.slice(0, max_chars)


def with_text_hash(episodes: pl.DataFrame, max_chars: int) -> pl.DataFrame:
    """Episodes with ``embedding_text`` and ``text_hash`` added."""
    frame = episodes.with_columns(embedding_text=embedding_text(max_chars))
    return frame.with_columns(text_hash=ids.row_ids(frame, "tenant_id", "embedding_text"))


def embedded_columns(table: Table) -> list[str]:
    """Columns that the text and the hash of a row of one of ``EMBEDDED`` are made of."""
    if table.name in DERIVED_TEXTS:
        return ["tenant_id", "tenant_bucket", DERIVED_TEXTS[table.name]]
    return ["tenant_id", "tenant_bucket", "event_at", "speaker", "role", "content"]


def hashed_texts(rows: pl.DataFrame, table: Table, max_chars: int) -> pl.DataFrame:
    """Rows of one of ``EMBEDDED`` with ``embedding_text`` and ``text_hash`` added."""
    if table.name not in DERIVED_TEXTS:
        return with_text_hash(rows, max_chars)
    frame = rows.with_columns(embedding_text=pl.col(DERIVED_TEXTS[table.name]).str.slice(0, max_chars))
    return frame.with_columns(text_hash=ids.row_ids(frame, "tenant_id", "embedding_text"))
