"""Episodes and vectors to rows of the index: what is served, under which expiry, in which order."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from transforms import retention
from transforms.declarations import fact_columns
from transforms.forgetting.access import with_access
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.schemas import MEMORIES
from transforms.scopes import copied_from
from transforms.search_text import search_texts

TIER = "episodic"


def memories(
    episodes: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
    access: pl.DataFrame | None = None,
    wishes: Wishes | None = None,
) -> pl.DataFrame:
    """Rows of ``schemas.MEMORIES`` that are live at ``as_of``, sorted by scope and time.

    Args:
        episodes: ``schemas.EPISODES`` of whole scopes, with ``text_hash``.
        vectors: ``text_hash`` and ``vector`` of one vector space; a text without one is found by
            its words only and carries an empty vector.
        policy: Retention.
        as_of: Rows whose expiry is at or before this instant are left out.
        access: ``access.ACCESS_SCHEMA``: recalls folded in; None where nothing was recalled.
        wishes: Retention periods and pins of people.

    Returns:
        Memories; injected context is never among them.
    """
    served = live(episodes, policy, as_of, wishes)
    joined = served.join(vectors.unique("text_hash"), on="text_hash", how="left", maintain_order="left")
    return (
        with_access(joined.lazy(), None if access is None else access.lazy(), "episode_id")
        .collect()
        .with_columns(
            memory_id="episode_id",
            tier=pl.lit(TIER),
            text="content",
            search_text=search_texts(joined["content"]),
            source_refs=pl.concat_list("episode_id", copied_from().fill_null([])),
            vector=pl.col("vector").fill_null(pl.lit([], pl.List(pl.Float32))),
            **{column.name: pl.lit(None, column.dtype) for column in fact_columns()},
        )
        .select(MEMORIES.names)
        .sort(MEMORIES.sort_by)
    )


def live(
    episodes: pl.DataFrame, policy: Policy, as_of: datetime, wishes: Wishes | None = None
) -> pl.DataFrame:
    """Episodes that may be served at ``as_of``, with their effective ``expires_at``."""
    served = episodes.filter(~pl.col("is_injected"))
    asked = wishes or Wishes()
    due = retention.expiry_expr(policy.retention, asked.periods, asked.pins)
    return served.with_columns(expires_at=due).filter(retention.is_live(as_of))
