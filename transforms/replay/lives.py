"""Who is judged: the memories of a replay, and what was seen of each and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.declarations import INSTANT
from transforms.forgetting.due import Wishes
from transforms.replay.calls import Calls
from transforms.replay.memory_rows import MEMORY_SCHEMA
from transforms.retention import is_pinned
from transforms.standing import is_held

Whole = NDArray[np.int64]
SEEN_SCHEMA = pl.Schema(
    {
        "tenant_id": pl.String(),
        "user_id": pl.String(),
        "agent_id": pl.String(),
        "session_id": pl.String(),
        "memory_id": pl.String(),
        "kind": pl.String(),
        "tier": pl.String(),
        "memory_importance": pl.Float64(),
        "event_at": INSTANT,
        "at": INSTANT,
    }
)
"""A memory that was seen at an instant, with what the log says of it and the scope of who asked."""
_KEY = ["tenant_id", "memory_id"]
_HOMES = {"semantic": "facts", "procedural": "procedures", "working": "working"}
"""Table of what a tier holds, where only the log tells of it; others are episodes or summaries."""
_GONE = ("forgotten", "traces", "cold")
"""Where a memory is listed that no night looks at any more."""


@dataclass(frozen=True)
class Lives:
    """Memories, and the instants at which each is asked for.

    Attributes:
        memories: ``memory_rows.MEMORY_SCHEMA`` with ``number``, ``covered_at`` (since when it need not
            wait for a summary), ``summarised_at`` (since when one is known), ``is_held`` and ``is_there``
            (whether nights still look at it); a row a memory, those that only the log knows last. Its
            ``stored_in`` is the table that the memory is or was of.
        seen: ``memory`` (its number) and ``event_at`` of each state that a memory was seen in.
        state_of: int64 (sightings): its row in ``seen``.
        at: int64 (sightings): when, microseconds since 1970.
        wishes: Periods and pins.
    """

    memories: pl.DataFrame
    seen: pl.DataFrame
    state_of: Whole
    at: Whole
    wishes: Wishes

    @property
    def memory_of(self) -> Whole:
        """By sighting, the number of its memory."""
        return self.seen["memory"].cast(pl.Int64).to_numpy()[self.state_of]


def seen_in(calls: Calls) -> pl.DataFrame:
    """``SEEN_SCHEMA``, a row a candidate of a call, in their order."""
    heads = calls.heads.select("tenant_id", "user_id", "agent_id", "session_id", at="recalled_at")
    rows = calls.rows.select("memory_id", "kind", "tier", "memory_importance", "event_at")
    return pl.concat([heads[calls.call_of], rows], how="horizontal").select(SEEN_SCHEMA.names())


def lives_of(seen: pl.DataFrame, memories: pl.DataFrame | None, wishes: Wishes | None = None) -> Lives:
    """Sightings with the memories they are of.

    A memory that was seen and is not among the memories is taken as the log describes it: of the default
    tier, with nothing for it to wait for.

    Args:
        seen: ``SEEN_SCHEMA``.
        memories: ``memory_rows.MEMORY_SCHEMA``, where it is known also ``covered_at``: since when a standing
            summary covers an episode, null for not at all. Without that column nothing waits for one.
        wishes: What people asked for. Those of today count at every instant: what a person wants kept is not
            counted as lost.
    """
    held = _shaped(pl.DataFrame(schema=MEMORY_SCHEMA) if memories is None else memories)
    told = wishes or Wishes()
    strangers = _strangers(seen, held)
    every = pl.concat([held, strangers]).with_row_index("number")
    pinned = every.filter(pl.col("is_pinned").fill_null(False)).select(_KEY)
    pins = pl.concat([pinned, *([] if told.pins is None else [told.pins])]).unique().sort(_KEY)
    asked = Wishes(told.periods, pins, told.holds)
    named = every.with_columns(
        is_held=is_held(told.holds, "memory_id"), is_pinned=is_pinned(pins, "memory_id")
    )
    states = seen.select(*_KEY, "event_at").unique().sort(*_KEY, "event_at").with_row_index("state")
    numbered = states.join(every.select(*_KEY, memory="number"), on=_KEY, how="left", maintain_order="left")
    places = seen.select(*_KEY, "event_at").join(
        states, on=[*_KEY, "event_at"], how="left", maintain_order="left"
    )
    at = seen["at"].to_physical().to_numpy().astype(np.int64)
    return Lives(
        named, numbered.select("memory", "event_at"), places["state"].cast(pl.Int64).to_numpy(), at, asked
    )


def _shaped(memories: pl.DataFrame) -> pl.DataFrame:
    """The memories once each, under the table they are or were of, with ``covered_at``."""
    is_gone = pl.col("stored_in").is_in(_GONE)
    is_told = "covered_at" in memories.columns
    covered = pl.col("covered_at" if is_told else "event_at")
    rows = memories.with_columns(
        # When retention took it out says what the policy of then did, and nothing of another.
        ended_at=pl.when(~is_gone).then("ended_at"),
        is_there=~is_gone,
        stored_in=pl.when(is_gone).then(_home()).otherwise("stored_in"),
        covered_at=pl.when(is_gone).then(pl.coalesce(covered, "event_at")).otherwise(covered),
        summarised_at=pl.when(~is_gone).then("covered_at") if is_told else pl.lit(None, INSTANT),
        known_at=pl.coalesce("known_at", "event_at"),
    )
    return rows.select(*MEMORY_SCHEMA.names(), "covered_at", "summarised_at", "is_there").unique(
        _KEY, keep="first", maintain_order=True
    )


def _home() -> pl.Expr:
    """The table of a memory by its tier and kind, where only the log tells of it."""
    is_summary = (pl.col("kind") == "summary") & (pl.col("tier") == "episodic")
    other = pl.when(is_summary).then(pl.lit("summaries")).otherwise(pl.lit("episodes"))
    return pl.coalesce(pl.col("tier").replace_strict(_HOMES, default=None, return_dtype=pl.String), other)


def _strangers(seen: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """Memories that only sightings tell of, as the first of each describes them."""
    unknown = seen.join(held, on=_KEY, how="anti").sort(*_KEY, "at", "event_at")
    first = unknown.unique(_KEY, keep="first", maintain_order=True)
    told = {"importance": pl.col("memory_importance"), "stored_in": _home(), "known_at": pl.col("event_at")}
    no = {"covered_at": pl.col("event_at"), "is_there": pl.lit(False), "is_injected": pl.lit(False)}
    given = {**told, **no, "is_pinned": pl.lit(False)}
    rows = first.with_columns(**given)
    missing = [pl.lit(None).alias(name) for name in held.columns if name not in rows.columns]
    return rows.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in held.schema.items())


def with_cover(memories: pl.DataFrame, refs: pl.DataFrame, after_seconds: int) -> pl.DataFrame:
    """Memories with ``covered_at``: since when a standing summary covers an episode, null for not at all.

    A summary does not tell when an episode came into it. The earliest instant at which it could is taken:
    when the episode was in the lake and old enough.

    Args:
        memories: ``memory_rows.MEMORY_SCHEMA``.
        refs: ``tenant_id`` and ``memory_id`` of the episodes that standing summaries cover.
        after_seconds: ``summaries.after_seconds``: the age at which an episode is summarised.
    """
    since = pl.max_horizontal("known_at", pl.col("event_at") + pl.duration(seconds=after_seconds))
    covered = refs.select(*_KEY, is_covered=pl.lit(True)).unique()
    rows = memories.join(covered, on=_KEY, how="left", maintain_order="left")
    return rows.with_columns(covered_at=pl.when("is_covered").then(since).cast(INSTANT)).drop("is_covered")
