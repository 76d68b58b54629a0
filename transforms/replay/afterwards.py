"""What was said after a logged call: in its session, else with its person or agent."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from transforms.ids import SEPARATOR

SCOPE = ("user_id", "agent_id")
_PLACES = ("session_id", "user_id", "agent_id")
"""What tells where a call was made, the narrowest first. A call names the session it searched, if any."""


def call_heads(recalls: pl.DataFrame) -> pl.DataFrame:
    """Calls, a row each, by time.

    Args:
        recalls: ``schemas.RECALLS``.

    Returns:
        Scope, ``call_id``, ``query`` and ``recalled_at``, with ``place`` (where the call was made) and
        ``next_at``: when the next one was made there, null for the last.
    """
    names = ("call_id", "tenant_id", *_PLACES, "query", "recalled_at")
    calls = recalls.select(names).unique("call_id").sort("recalled_at", "call_id")
    placed = calls.with_columns(place=pl.coalesce(_place(name) for name in _PLACES))
    known = placed.filter(pl.col("place").is_not_null())
    return known.with_columns(next_at=pl.col("recalled_at").shift(-1).over("place"))


def afterwards(calls: pl.DataFrame, episodes: pl.DataFrame, minutes: float) -> pl.DataFrame:
    """Episodes after each call, where it was made, within some minutes.

    After a call that names no session, those of one session: the one that goes on first.

    Args:
        calls: From ``call_heads``.
        episodes: ``episode_id``, the columns of the scope, ``event_at`` and others.
        minutes: How long after the call.

    Returns:
        A row a call and episode: ``call_id``, ``recalled_at`` and ``next_at`` of the call, and the columns
        of ``episodes``; by call and time.
    """
    held = _by_place(calls, episodes)
    ranges = _ranges(calls, held, timedelta(minutes=minutes))
    met = ranges.join(held, on="row", how="inner").drop("row")
    in_scope = [
        pl.col(f"{n}_of_call").is_null() | pl.col(n).eq_missing(pl.col(f"{n}_of_call")) for n in SCOPE
    ]
    mine = met.filter(*in_scope).sort("recalled_at", "call_id", "event_at", "episode_id")
    is_one = pl.col("session_id").eq_missing(pl.col("session_id").first().over("call_id"))
    return mine.filter(is_one).drop(f"{n}_of_call" for n in SCOPE)


def _place(name: str) -> pl.Expr:
    return pl.concat_str(pl.lit(name), "tenant_id", name, separator=SEPARATOR)


def _by_place(calls: pl.DataFrame, episodes: pl.DataFrame) -> pl.DataFrame:
    """Episodes by place and time, numbered; each as often as places of calls hold it."""
    places = calls.select("place").unique()
    parts = [
        episodes.with_columns(place=_place(name)).join(places, on="place", how="semi") for name in _PLACES
    ]
    return pl.concat(parts).sort("place", "event_at", "episode_id").with_row_index("row")


def _ranges(calls: pl.DataFrame, held: pl.DataFrame, window: timedelta) -> pl.DataFrame:
    """Calls with ``row``: the numbers of the episodes after each, found without trying all pairs."""
    ends = pl.col("recalled_at") + window
    asked = calls.select(
        "call_id", "place", "recalled_at", "next_at", *(pl.col(n).alias(f"{n}_of_call") for n in SCOPE),
        after=pl.col("recalled_at") + timedelta(microseconds=1), until=ends,
    )  # fmt: skip
    found = held.select("place", "event_at", "row").sort("event_at", "row")
    first = asked.sort("after").join_asof(
        found.rename({"row": "first"}), left_on="after", right_on="event_at", by="place", strategy="forward",
        check_sortedness=False,
    ).drop("event_at")  # fmt: skip
    both = first.sort("until").join_asof(
        found.rename({"row": "last"}), left_on="until", right_on="event_at", by="place",
        strategy="backward", check_sortedness=False,
    ).drop("event_at")  # fmt: skip
    some = both.filter(pl.col("last") >= pl.col("first"))
    rows = pl.int_ranges(pl.col("first"), pl.col("last") + 1, dtype=pl.UInt32)
    return some.with_columns(row=rows).explode("row").drop("first", "last", "after", "until", "place")
