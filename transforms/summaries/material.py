"""What a summary is made from: episodes, and what earlier summaries keep of those that are lost."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from transforms import ids
from transforms.policy import Policy
from transforms.schemas import INSTANT, TEXTS

WORKING_TIERS = ("transient", "session")
"""Retention tiers of working memory: what is to be forgotten within a day is not summarised."""

_FIELDS: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String,
    "role": pl.String,
    "by": pl.String,
    "episode_id": pl.String,
    "sources": TEXTS,
    "event_at": INSTANT,
    "start": pl.Int64,
    "end": pl.Int64,
    "is_cut": pl.Boolean,
    "trust": pl.Float64,
    "importance": pl.Float64,
    "score": pl.Float64,
    "expires_at": INSTANT,
}
SENTENCE = pl.Schema(_FIELDS)
"""One sentence of a summary, as ``summaries.sentences`` holds it; ``start`` and ``end`` are null where it
is no quote. ``score`` is what it was chosen by, but for how recent it was."""
CANDIDATES = pl.Schema({"summary_id": pl.String, **_FIELDS, "recent": pl.Float64})
"""A sentence a summary may hold; ``recent`` is 0 for the first episode of its topic to 1 for the last."""
RECENT_WEIGHT = 0.1
"""What is recent stands for what came of the matter."""
_INSTANTS = ("event_at", "expires_at")
_STORED = pl.Schema({k: pl.String if k in _INSTANTS else v for k, v in _FIELDS.items()})
_FORM = "%Y-%m-%dT%H:%M:%S%.6fZ"
_AS_TIME = "%Y-%m-%dT%H:%M:%S%.fZ"


def worth() -> pl.Expr:
    """What a candidate is ranked by."""
    return (pl.col("score") + RECENT_WEIGHT * pl.col("recent")).round(6).alias("worth")


@dataclass(frozen=True)
class Material:
    """What the summaries of some topics are made from.

    Args:
        episodes: Of topics that are to be summarised, with ``summary_id``, sorted by it and time.
        carried: ``CANDIDATES`` that rest on episodes the lake no longer holds.
        previous: Standing summaries with ``summary_id`` of topics that lost episodes.
        lost: ``summary_id`` and ``episode_id`` of covered episodes that expired.
    """

    episodes: pl.DataFrame
    carried: pl.DataFrame
    previous: pl.DataFrame
    lost: pl.DataFrame


def gather(
    episodes: pl.DataFrame, previous: pl.DataFrame, policy: Policy, expired: pl.Series | None
) -> Material:
    """Episodes and carried sentences of the topics that have enough of them.

    Args:
        episodes: See ``summarise``.
        previous: See ``summarise``.
        policy: Section summaries.
        expired: See ``summarise``.
    """
    held = _living(episodes)
    named = previous.with_columns(summary_id=ids.row_ids(previous, "tenant_id", "owner", "topic_id"))
    gone = pl.Series("episode_id", [], pl.String) if expired is None else expired.alias("episode_id")
    lost = (
        named.select("summary_id", episode_id="source_refs")
        .explode("episode_id", empty_as_null=False)
        .filter(pl.col("episode_id").is_in(gone.implode()))
        .join(episodes.select("episode_id"), on="episode_id", how="anti")
        .unique(maintain_order=True)
    )
    counts = pl.concat([held.select("summary_id"), lost.select("summary_id")])
    enough = (
        counts.group_by("summary_id").len().filter(pl.col("len") >= policy.summaries.min_episodes)
    ).select("summary_id")
    kept = held.join(enough, on="summary_id", how="semi", maintain_order="left")
    lost = lost.join(enough, on="summary_id", how="semi").sort("summary_id", "episode_id")
    lossy = named.join(lost, on="summary_id", how="semi").sort("summary_id")
    return Material(kept, _carried(lossy, lost, episodes["episode_id"]), lossy, lost)


def _living(episodes: pl.DataFrame) -> pl.DataFrame:
    held = episodes.filter(
        pl.col("owner").is_not_null()
        & pl.col("topic_id").is_not_null()
        & (pl.col("topic_id") != "")
        & ~pl.col("is_injected")
        & ~pl.col("retention_tier").is_in(WORKING_TIERS)
    )
    keys = held.select("tenant_id", "owner", "topic_id").unique(maintain_order=True)
    keys = keys.with_columns(summary_id=ids.row_ids(keys, "tenant_id", "owner", "topic_id"))
    named = held.join(keys, on=["tenant_id", "owner", "topic_id"], how="left")
    if "vector" not in named.columns:
        named = named.with_columns(vector=pl.lit(None, pl.List(pl.Float32)))
    return named.sort("summary_id", "event_at", "episode_id")


def _carried(previous: pl.DataFrame, lost: pl.DataFrame, living: pl.Series) -> pl.DataFrame:
    """Sentences that rest on a lost episode, and on none that was erased, as they stand."""
    sentences = read_sentences(previous)
    known = pl.concat([lost["episode_id"], living]).unique()
    gone = lost["episode_id"].unique()
    source = pl.element()
    is_sound = pl.col("sources").list.eval(source.is_in(known.implode())).list.all()
    is_lost = pl.col("sources").list.eval(source.is_in(gone.implode())).list.any()
    return sentences.filter(is_sound & is_lost & pl.col("expires_at").is_null())


def read_sentences(summaries: pl.DataFrame) -> pl.DataFrame:
    """``CANDIDATES`` of the column ``sentences``, a row each.

    Args:
        summaries: ``summary_id`` and ``sentences`` of ``schemas.SUMMARIES``.
    """
    if summaries.is_empty():
        return pl.DataFrame(schema=CANDIDATES)
    rows = summaries.select("summary_id", pl.col("sentences").str.json_decode(pl.List(pl.Struct(_STORED))))
    flat = rows.explode("sentences", empty_as_null=False).unnest("sentences")
    return (
        flat.with_columns(
            pl.col(name).str.to_datetime(_AS_TIME, time_unit="us", time_zone="UTC") for name in _INSTANTS
        )
        .with_columns(recent=pl.lit(0.0))
        .select(CANDIDATES.names())
    )


def write_sentences(sentences: pl.DataFrame) -> pl.DataFrame:
    """``summary_id`` and the JSON of its sentences, in the order of the rows.

    Args:
        sentences: ``CANDIDATES``.
    """
    shown = sentences.with_columns(pl.col(name).dt.strftime(_FORM) for name in _INSTANTS)
    lists: dict[str, list[dict[str, object]]] = {}
    for row in shown.select("summary_id", *SENTENCE).iter_rows(named=True):
        lists.setdefault(row.pop("summary_id"), []).append(row)
    texts = [json.dumps(rows, ensure_ascii=False) for rows in lists.values()]
    return pl.DataFrame(
        {"summary_id": list(lists), "sentences": texts},
        schema={"summary_id": pl.String, "sentences": pl.String},
    )
