"""Accesses of memories as they were at any instant: what decay and recall knew then, and nothing later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.replay.calls import Calls, microseconds

Mode = Literal["logged", "served", "used"]
MODES: tuple[Mode, ...] = ("logged", "served", "used")
NO_ACCESS = -(2**63)
"""Instant of a memory that was never accessed."""
_MEMORY = ("tenant_id", "memory_id")
_SESSION = ("user_id", "agent_id", "session_id")
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Access:
    """Accesses of each candidate as of its call.

    Attributes:
        access_count: int64 (rows of the calls): accesses before the call.
        seen_us: int64 (rows of the calls): the last of them, microseconds since 1970; ``event_at`` of the
            memory where there was none.
    """

    access_count: Whole
    seen_us: Whole


def access_states(calls: Calls, recalls: pl.DataFrame, modes: Sequence[Mode] = MODES) -> dict[Mode, Access]:
    """Accesses of each candidate of each call, as they were at the call's own time.

    ``logged`` is what the log says: what the index held, which a night had folded in. ``served`` and ``used``
    are what ``access.fold`` of all strictly earlier calls comes to under that ``decay.refresh``: what a
    policy knows that folds every access in at once. The log does not tell when an agent said that it used a
    memory; the call's own time is taken.

    Args:
        calls: Whose candidates.
        recalls: ``schemas.RECALLS``, in any order: also calls that are not replayed, and earlier ones.
        modes: Which are wanted.
    """
    found: dict[Mode, Access] = {}
    at = np.repeat(microseconds(calls.heads["recalled_at"]), np.diff(calls.starts))
    tenants = calls.heads["tenant_id"].gather(pl.Series(calls.call_of))
    events = microseconds(calls.rows["event_at"])
    for mode in modes:
        if mode == "logged":
            counts = calls.rows["access_count"].to_numpy().astype(np.int64)
            found[mode] = Access(counts, microseconds(calls.rows["last_accessed_at"]))
            continue
        past = Accesses.of(recalls, mode)
        memories = past.numbers(pl.DataFrame([tenants, calls.rows["memory_id"]]))
        count, last = past.before(memories, at)
        found[mode] = Access(count, np.where(count > 0, last, events))
    return found


def told_accesses(recalls: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Accesses that no row is on record for, but of which candidates tell: when each was accessed last.

    A log that begins in the middle, or that holds a sample of the calls, would else have a memory never
    accessed before it. Of each such access only the instant is known: it counts as a session of its own.

    Args:
        recalls: ``schemas.RECALLS``: candidates, whether they were returned or not.
        known: The same: accesses that are on record.

    Returns:
        ``schemas.RECALLS``: a returned row at each such instant, in the order of tenant, memory and instant.
    """
    is_one = (pl.col("last_accessed_at") > pl.col("event_at")) & (
        pl.col("last_accessed_at") < pl.col("recalled_at")
    )
    instants = [*_MEMORY, "recalled_at"]
    found = recalls.filter(pl.col("rank") > 0, is_one).sort("recalled_at", "call_id", "rank")
    told = found.unique([*_MEMORY, "last_accessed_at"], keep="first", maintain_order=True).with_columns(
        recalled_at="last_accessed_at",
        session_id=pl.lit(None, pl.String),
        call_id=pl.concat_str(pl.lit("told "), "memory_id", pl.col("last_accessed_at").to_physical()),
        is_returned=True,
        is_used=pl.lit(None, pl.Boolean),
    )
    return told.join(known.filter("is_returned"), on=instants, how="anti").sort(instants)


@dataclass(frozen=True)
class Accesses:
    """Every access there was, by memory and time.

    Attributes:
        memories: ``tenant_id``, ``memory_id`` and ``number``, of each memory that was accessed.
        starts: int64 (memories + 1): where the accesses of each begin.
        at: int64 (accesses): when, microseconds since 1970, ascending within a memory.
    """

    memories: pl.DataFrame
    starts: Whole
    at: Whole

    @classmethod
    def of(cls, recalls: pl.DataFrame, refresh: Literal["served", "used"]) -> Accesses:
        """Accesses by the rules of ``access.fold``: the first recall of a session counts, and no other.

        Args:
            recalls: ``schemas.RECALLS``, in any order; of it tenant, user, agent, session, call, memory,
                ``recalled_at``, ``is_returned`` and ``is_used``.
            refresh: ``decay.refresh``: whether every returned memory was accessed, or the used ones.
        """
        known = recalls.lazy().filter("is_returned")
        if refresh == "used":
            known = known.filter(pl.col("is_used").fill_null(False))
        alone = pl.when(pl.col("session_id").is_null()).then("call_id")
        sessions = known.group_by(*_MEMORY, *_SESSION, call=alone).agg(at=pl.col("recalled_at").min())
        found = sessions.select(*_MEMORY, "at").sort(*_MEMORY, "at").collect()
        memories = found.group_by(_MEMORY, maintain_order=True).agg(pl.len()).with_row_index("number")
        starts = np.concatenate([[0], np.cumsum(memories["len"].to_numpy())]).astype(np.int64)
        return cls(memories.drop("len"), starts, microseconds(found["at"]))

    def numbers(self, memories: pl.DataFrame) -> Whole:
        """Number of each memory (``tenant_id``, ``memory_id``) by row; -1 for one never accessed."""
        found = memories.select(_MEMORY).join(self.memories, on=_MEMORY, how="left", maintain_order="left")
        return found["number"].cast(pl.Int64).fill_null(-1).to_numpy()

    def before(self, memories: Whole, at: Whole, *, is_inclusive: bool = False) -> tuple[Whole, Whole]:
        """How often each was accessed before an instant, and when last (``NO_ACCESS``: never).

        Args:
            memories: int64: numbers of memories.
            at: int64, as many: instants, microseconds since 1970.
            is_inclusive: Whether an access at the very instant counts, as it does for a night.
        """
        held = np.where(memories >= 0, memories, 0)
        places = self._places(held, at, "right" if is_inclusive else "left")
        count = np.where(memories >= 0, places - self.starts[held], 0) if self.at.size else np.zeros_like(at)
        last = np.full(at.shape, NO_ACCESS, np.int64)
        known = count > 0
        last[known] = self.at[places[known] - 1]
        return count, last

    def _places(self, memories: Whole, at: Whole, side: Literal["left", "right"]) -> Whole:
        """Where an instant would stand among a memory's accesses: one search for all of them."""
        instants, keys = self._keys
        wanted = memories * (instants.size + 1) + np.searchsorted(instants, at, side)
        return np.searchsorted(keys, wanted).astype(np.int64)

    @cached_property
    def _keys(self) -> tuple[Whole, Whole]:
        """Instants of all accesses, each once, and memory and instant of each access as one number.

        An instant is told by its place among all of them.
        """
        instants = np.unique(self.at)
        owners = np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))
        return instants, owners * (instants.size + 1) + np.searchsorted(instants, self.at)
