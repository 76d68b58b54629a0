"""The proxy where nobody says what was of use: what the agent says next repeats rare words of a memory.

A stand-in for a label, not one: an answer may use a memory in other words, or know the same from elsewhere.
Words of the question are left out, for any answer repeats them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from transforms.policy_tune import TunePolicy
from transforms.replay.afterwards import afterwards, call_heads
from transforms.replay.labels import GAINS_SCHEMA
from transforms.search_terms import QUESTION, hashed_terms
from transforms.search_text import search_texts

_LEAST_TERMS = 2
"""One word alone is found in an answer by chance."""
_KEY = ["call_id", "memory_id"]


def echo_gains(
    recalls: pl.DataFrame, texts: pl.DataFrame, episodes: pl.DataFrame, tune: TunePolicy
) -> pl.DataFrame:
    """Calls whose answer repeats a memory: that is of use, and no other candidate is.

    The answer is what assistants say where the call was made (``afterwards``), before the user speaks again,
    within ``echo_minutes``. Of each memory that was shown the ``echo_terms`` rarest words count, the
    rarer the more, but those of the question; it is of use where at least ``echo_share`` of them, by weight,
    stand in the answer. An answer that a memory was itself made from tells nothing of it.

    Args:
        recalls: ``schemas.RECALLS``.
        texts: ``memory_id``, ``text`` and ``source_refs`` (episodes that it rests on) of memories.
        episodes: ``episode_id``, the columns of the scope, ``role``, ``content``, ``event_at`` and
            ``is_injected`` of the sessions' episodes.
        tune: Section ``tune``.

    Returns:
        ``labels.GAINS_SCHEMA`` of the calls that had an answer and a memory whose text is known.
    """
    answers = _answers(call_heads(recalls), episodes, tune.echo_minutes)
    shown = recalls.filter("is_returned", pl.col("memory_id") != "").select(*_KEY, "query")
    asked = shown.join(answers.select("call_id").unique(), on="call_id", how="semi")
    rare = _rare_terms(texts, tune.echo_terms)
    if asked.is_empty() or rare.is_empty():
        return pl.DataFrame(schema=GAINS_SCHEMA)
    looked = _looked_for(asked, rare)
    repeated = _repeated(looked, answers, texts)
    whole = looked.group_by(_KEY).agg(whole=pl.col("weight").sum(), terms=pl.len())
    share = whole.join(repeated, on=_KEY, how="left").with_columns(
        share=pl.col("found").fill_null(0.0) / pl.col("whole")
    )
    is_echo = (pl.col("share") >= tune.echo_share) & (pl.col("terms") >= _LEAST_TERMS)
    judged = share.select(*_KEY, gain=is_echo.cast(pl.Float64))
    every = recalls.filter(pl.col("memory_id") != "").select(_KEY)
    of_calls = every.join(judged.select("call_id").unique(), on="call_id", how="semi")
    told = of_calls.join(judged, on=_KEY, how="left").with_columns(pl.col("gain").fill_null(0.0))
    return told.select(list(GAINS_SCHEMA)).sort(_KEY)


def _answers(calls: pl.DataFrame, episodes: pl.DataFrame, minutes: float) -> pl.DataFrame:
    """What assistants said next: ``call_id``, ``episode_id`` and ``content``."""
    near = afterwards(calls, episodes.filter(~pl.col("is_injected")), minutes)
    spoke = near.filter(pl.col("role") == "user").group_by("call_id").agg(user_at=pl.col("event_at").min())
    said = near.filter(pl.col("role") == "assistant").join(spoke, on="call_id", how="left")
    ends = pl.col("user_at").is_null() | (pl.col("event_at") < pl.col("user_at"))
    return said.filter(ends).select("call_id", "episode_id", "content")


def _rare_terms(texts: pl.DataFrame, count: int) -> pl.DataFrame:
    """The rarest terms of each memory: ``memory_id``, ``term`` and ``weight``, how rare it is."""
    held = texts.select("memory_id", "text").unique("memory_id", keep="first", maintain_order=True)
    terms = _terms(held, "memory_id", "text")
    holding = terms.group_by("term").agg(holding=pl.len())
    # As in BM25: ln(1 + (n - df + 0.5) / (df + 0.5)).
    rarity = ((held.height - pl.col("holding") + 0.5) / (pl.col("holding") + 0.5)).log1p()
    weighed = terms.join(holding.with_columns(weight=rarity), on="term", how="inner")
    ordered = weighed.sort("memory_id", "weight", "term", descending=[False, True, False])
    return (
        ordered.group_by("memory_id", maintain_order=True).head(count).select("memory_id", "term", "weight")
    )


def _looked_for(asked: pl.DataFrame, rare: pl.DataFrame) -> pl.DataFrame:
    """Rare terms of each shown memory that its question does not hold."""
    questions = asked.select("call_id", "query").unique("call_id")
    terms = _terms(questions, "call_id", "query")
    return (
        asked.select(_KEY)
        .join(rare, on="memory_id", how="inner")
        .join(terms, on=["call_id", "term"], how="anti")
    )


def _repeated(looked: pl.DataFrame, answers: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Weight of the looked-for terms that the answers of a call hold, but those made from that answer."""
    said = answers.select("episode_id", "content").unique("episode_id")
    terms = answers.select("call_id", "episode_id").join(
        _terms(said, "episode_id", "content"), on="episode_id", how="inner"
    )
    met = looked.join(terms, on=["call_id", "term"], how="inner")
    refs = texts.select("memory_id", episode_id="source_refs").explode("episode_id", empty_as_null=False)
    own = pl.concat([refs.drop_nulls(), texts.select("memory_id", episode_id="memory_id")])
    other = met.join(own, on=["memory_id", "episode_id"], how="anti")
    once = other.unique([*_KEY, "term"]).sort(*_KEY, "term")
    return once.group_by(_KEY).agg(found=pl.col("weight").sum())


def _terms(rows: pl.DataFrame, key: str, text: str) -> pl.DataFrame:
    """Terms of texts, each once a row: the key and ``term``."""
    terms, starts = hashed_terms(search_texts(rows[text].fill_null("")))
    owners = np.repeat(np.arange(rows.height), np.diff(starts))
    pairs = pl.DataFrame({key: rows[key].gather(owners), "term": terms})
    return pairs.filter(pl.col("term") != QUESTION).unique()
