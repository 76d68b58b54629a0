"""Frames that topics are made from and end in: what goes in, its order, who owns a derived row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from transforms import ids
from transforms.declarations import INSTANT, VECTOR, Table
from transforms.derived import DECISIONS, TOPIC_MEMBERS, TOPICS
from transforms.topics.vectors import Floats

OWNER = ["tenant_id", "owner"]
WAITING = pl.Schema(
    {
        "tenant_id": pl.String(),
        "tenant_bucket": pl.Int32(),
        "owner": pl.String(),
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "session_id": pl.String(),
        "episode_id": pl.String(),
        "event_at": INSTANT,
        "ingested_at": INSTANT,
        "content": pl.String(),
        "importance": pl.Float32(),
        "vector": VECTOR,
    }
)
"""Episodes to be sorted into topics: not injected, with an owner; the vector null where there is none."""
MEMBERS = pl.Schema({**WAITING, "topic_id": pl.String()})
"""Episodes with the topic they are in."""


def _stored(table: Table) -> pl.Schema:
    return pl.Schema({n: t for n, t in table.polars.items() if n not in ("revision", "is_removed")})


TOPIC_ROWS = _stored(TOPICS)
MEMBER_ROWS = _stored(TOPIC_MEMBERS)
DECISION_ROWS = _stored(DECISIONS)


def in_order(episodes: pl.DataFrame) -> pl.DataFrame:
    """Rows by owner, session and time: a total order, so that none of the input's decides anything."""
    return episodes.sort(*OWNER, "session_id", "event_at", "episode_id", nulls_last=True)


def session_numbers(episodes: pl.DataFrame) -> pl.Series:
    """Int64 number of the session of each row of ``in_order``; a row without a session has its own."""
    alone = pl.when(pl.col("session_id").is_null()).then(pl.col("episode_id"))
    parts = pl.struct(*OWNER, "session_id", alone.alias("alone"))
    return episodes.select(parts.rle_id().cast(pl.Int64)).to_series()


def says_something(small_talk: float, min_bytes: int) -> pl.Expr:
    """Whether a row takes part: small talk and the shortest turns fit any topic, so they are in none."""
    long_enough = pl.col("content").str.len_bytes() >= min_bytes
    return long_enough.fill_null(False) & (pl.col("importance") > small_talk).fill_null(True)


def one_or_none(name: str) -> pl.Expr:
    """Aggregation: the value all rows share, null where they differ."""
    values = pl.col(name)
    return pl.when(values.n_unique() == 1).then(values.first()).otherwise(None).alias(name)


def topic_id(taken: set[str], tenant: str, owner: str, space: str, members: Iterable[str]) -> str:
    """Id of a new topic: of its first member, or of the first that no living topic is named by.

    A topic keeps its id also when a split takes its first member elsewhere, hence the second clause.
    """
    made = ""
    for member in members:
        made = ids.row_id(tenant, owner, space, member)
        if made not in taken:
            break
    while made in taken:
        made = ids.row_id(tenant, owner, space, made)
    taken.add(made)
    return made


def as_vectors(rows: Floats) -> pl.Series:
    """Rows as a series of list<float32>."""
    width = rows.shape[1] if len(rows) else 0
    flat = pl.Series("centroid", np.ascontiguousarray(rows, np.float32).reshape(-1))
    return (
        flat.reshape((len(rows), width)).arr.to_list()
        if width
        else flat.head(0).reshape((0, 1)).arr.to_list()
    )


def evidence(figures: Mapping[str, Any]) -> str:
    """Figures as JSON with sorted keys, floats to four places."""
    shown = {k: round(float(v), 4) if isinstance(v, float | np.floating) else v for k, v in figures.items()}
    return json.dumps(shown, sort_keys=True)


def filed(frame: pl.DataFrame, schema: pl.Schema, table: Table) -> pl.DataFrame:
    """The frame with the columns of ``schema``, their order and types, in the order of the table."""
    return frame.select(pl.col(n).cast(t) for n, t in schema.items()).sort(table.sort_by)
