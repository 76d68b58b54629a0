"""Which memories were of use in a logged call: said by the agent, by the user, or read off the answer.

Each function gives gains, ``GAINS_SCHEMA``: of a call and a memory 1 of use, 0 not. What no gain is given of
is not known. Only calls in which something was of use tell one order of candidates from another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from transforms.errors import InputError
from transforms.replay.afterwards import afterwards, call_heads
from transforms.skills.lexicons import feedback_word

GAINS_SCHEMA = pl.Schema({"call_id": pl.String(), "memory_id": pl.String(), "gain": pl.Float64()})
SOURCES = ("used", "feedback", "echo")
"""Where labels come from, the surest first."""
_KEY = ["call_id", "memory_id"]
_GAIN_OF = {"helpful": 1.0, "wrong": 0.0}
"""What a user says of an answer; that it is fine tells nothing of what it was made of."""


def used_gains(recalls: pl.DataFrame) -> pl.DataFrame:
    """Calls of which the agent said what it used: that is of use, and no other candidate is.

    A candidate that was never shown could not be used, and counts as not of use all the same: only a
    labelled set tells more. Its ``is_returned`` is false.

    Args:
        recalls: ``schemas.RECALLS``.
    """
    is_used = pl.col("is_used").fill_null(False)
    told = recalls.filter(is_used.any().over("call_id"))
    return _gains(told.with_columns(gain=is_used.cast(pl.Float64)))


def feedback_gains(recalls: pl.DataFrame, said: pl.DataFrame, minutes: float) -> pl.DataFrame:
    """Calls whose user said afterwards that the answer helped, or that it was wrong.

    Said where the call was made (``afterwards``), within some minutes and up to the next call there; the last
    word counts. It is said of all that was returned; of candidates that were not shown nothing is known.

    Args:
        recalls: ``schemas.RECALLS``.
        said: Episodes with feedback: ``tenant_id``, ``user_id``, ``agent_id``, ``session_id``, ``event_at``,
            ``episode_id`` and ``feedback``, as people wrote it.
        minutes: How long after the call.
    """
    words = said.with_columns(word=feedback_word(pl.col("feedback")))
    telling = words.filter(pl.col("word").is_in(list(_GAIN_OF)))
    after = afterwards(call_heads(recalls), telling, minutes)
    mine = after.filter(pl.col("next_at").is_null() | (pl.col("event_at") <= pl.col("next_at")))
    last = mine.sort("event_at", "episode_id").group_by("call_id").agg(pl.col("word").last())
    gains = last.with_columns(gain=pl.col("word").replace_strict(_GAIN_OF, return_dtype=pl.Float64))
    shown = recalls.filter("is_returned").select(_KEY)
    return _gains(shown.join(gains, on="call_id", how="inner"))


def imported_gains(recalls: pl.DataFrame, table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Gains of a labelled set that was made elsewhere.

    Candidates of a labelled call that the set does not name are not of use. A memory of a set that was no
    candidate of its call can be ranked by no policy.

    Args:
        recalls: ``schemas.RECALLS``.
        table: ``memory_id``, ``gain`` (0 to 1; 1 where the column is missing), and ``call_id``, or ``query``
            (as logged) and optionally ``tenant_id`` and ``user_id``: every call that asked it.

    Returns:
        The gains, and how many labelled memories were no candidates.

    Raises:
        InputError: Columns are missing, a gain is outside of 0 to 1, or one memory of a call has two.
    """
    asked = _by_call(recalls, _checked(table))
    calls = asked.select("call_id").unique()
    rows = recalls.filter(pl.col("rank") > 0).select(_KEY).join(calls, on="call_id", how="semi")
    named = rows.join(asked, on=_KEY, how="left")
    return _gains(named.with_columns(pl.col("gain").fill_null(0.0))), asked.join(
        rows, on=_KEY, how="anti"
    ).height


def useful_calls(gains: pl.DataFrame) -> pl.Series:
    """``call_id`` of the calls in which something was of use, ascending."""
    return gains.filter(pl.col("gain") > 0)["call_id"].unique().sort()


def chosen(found: Mapping[str, int], least: int) -> str:
    """The surest source with enough labelled calls; with too few everywhere, that with the most.

    Args:
        found: Labelled calls by source.
        least: How many are enough.

    Returns:
        One of ``SOURCES``, or ``none``.
    """
    for name in SOURCES:
        if found.get(name, 0) >= least:
            return name
    best = max(SOURCES, key=lambda name: found.get(name, 0))
    return best if found.get(best, 0) else "none"


def with_gain(recalls: pl.DataFrame, gains: pl.DataFrame) -> pl.DataFrame:
    """The rows of calls in which something was of use, with ``gain``; null where it is not known."""
    calls = useful_calls(gains).to_frame()
    rows = recalls.join(calls, on="call_id", how="semi", maintain_order="left")
    return rows.join(gains, on=_KEY, how="left", maintain_order="left")


def _gains(rows: pl.DataFrame) -> pl.DataFrame:
    """Gains of candidates, in a total order."""
    return rows.filter(pl.col("memory_id") != "").select(list(GAINS_SCHEMA)).sort(_KEY)


def _checked(table: pl.DataFrame) -> pl.DataFrame:
    missing = [] if "memory_id" in table.columns else ["memory_id"]
    missing += [] if {"call_id", "query"} & set(table.columns) else ["call_id (or query)"]
    if missing:
        raise InputError(
            f"the labels have no column {', '.join(missing)}",
            "Give call_id, or query and user_id; memory_id; gain.",
        )
    gain = pl.col("gain").cast(pl.Float64, strict=False) if "gain" in table.columns else pl.lit(1.0)
    rows = table.with_columns(gain=gain)
    outside = int(rows.select((~pl.col("gain").is_between(0, 1)).fill_null(True).sum()).item())
    if outside:
        raise InputError(
            f"{outside:,} labels have a gain that is not from 0 to 1", "0 is of no use, 1 of full use."
        )
    return rows


def _by_call(recalls: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Labels with the call of each; one row a call and memory."""
    if "call_id" in table.columns:
        known = table.with_columns(pl.col("call_id").cast(pl.String), pl.col("memory_id").cast(pl.String))
        rows = known.join(recalls.select("call_id").unique(), on="call_id", how="semi")
    else:
        names = ["query", *(n for n in ("tenant_id", "user_id") if n in table.columns)]
        texts = table.with_columns(pl.col(n).cast(pl.String) for n in (*names, "memory_id"))
        calls = recalls.select("call_id", *names).unique()
        rows = texts.join(calls, on=names, how="inner", nulls_equal=True)
    twice = _twice(rows)
    if twice:
        raise InputError(f"{twice:,} memories of a call have two gains", "Label each memory of a call once.")
    return rows.select(list(GAINS_SCHEMA)).unique()


def _twice(rows: pl.DataFrame) -> int:
    counted = rows.select(list(GAINS_SCHEMA)).unique().group_by(_KEY).len()
    return counted.filter(pl.col("len") > 1).height


def told(found: Mapping[str, int], label: str, sources: Sequence[str] = SOURCES) -> str:
    """One sentence: how many calls each source labels, and which is taken."""
    counts = ", ".join(f"{name} {found[name]:,}" for name in (*sources, "imported") if name in found)
    return f"labelled calls: {counts or 'none'}; taken: {label}"
