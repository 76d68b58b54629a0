"""Whether each candidate would still have been there at its call's own time, under each of many policies.

A policy is taken to have been in force always. A memory is served until it expires, exactly; what is stale,
decayed, cold or over a budget goes with the first night from then on, for good, and is missing from later
calls. Accesses, memories and summaries that a night could not know do not change what it does.

What is taken for known: accesses are those of the log, also where another policy would have shown another
memory instead; what people asked for stands as it does today; a standing summary covers an episode from the
instant it could have been made. What the policy of then removed and nobody was shown is neither in the log
nor in the lake, so it takes no room in anybody's budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from transforms.declarations import INSTANT
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.replay import fading
from transforms.replay.access import Accesses
from transforms.replay.budgets import Crowd, crowd_of, evicted_nights
from transforms.replay.calls import Calls
from transforms.replay.fading import Stretches
from transforms.replay.lives import SEEN_SCHEMA, Lives, lives_of, seen_in
from transforms.replay.nights import NEVER, Nights

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]
REASONS = ("expired", "stale", "decayed", "cold", "over_capacity", "summarised")
"""Why a memory is gone; of reasons of one night the first counts."""
_HELD = 128
"""Results of one rule that are kept for the next policies; each is 8 bytes a memory."""


@dataclass(frozen=True)
class Masks:
    """Which candidates are there, by policy.

    Attributes:
        groups: Positions of policies (int64) that come to the same, and which rows of the calls are there
            under them (bool); None: all of them.
    """

    groups: list[tuple[Whole, Flags | None]]


@dataclass
class Past:
    """Memories and accesses prepared once, and judged under any policy.

    Attributes:
        lives: Memories and sightings.
        recalls: ``schemas.RECALLS``.
        nights: When what is due goes.
        until_us: The last instant that is asked for.
    """

    lives: Lives
    recalls: pl.DataFrame
    nights: Nights
    until_us: int
    _accesses: dict[str, Accesses] = field(default_factory=dict)
    _stretches: dict[str, Stretches] = field(default_factory=dict)
    _crowds: dict[str, Crowd] = field(default_factory=dict)
    _found: dict[str, Whole] = field(default_factory=dict)

    @classmethod
    def made(
        cls,
        seen: pl.DataFrame,
        memories: pl.DataFrame | None,
        recalls: pl.DataFrame,
        wishes: Wishes | None = None,
        *,
        nights: Nights | None = None,
        until: datetime | None = None,
    ) -> Past:
        """Prepare.

        Args:
            seen: ``lives.SEEN_SCHEMA``: who is asked for, and when.
            memories: See ``lives.lives_of``; for budgets all memories of their owners.
            recalls: ``schemas.RECALLS``: accesses; also those that are not asked for, and earlier ones.
            wishes: What people asked for.
            nights: Daily ones at midnight UTC where not given.
            until: The last instant that is asked for; that of the last sighting where not given.
        """
        lives = lives_of(seen, memories, wishes)
        last = seen["at"].max() if until is None else until
        until_us = int(pl.Series([last], dtype=INSTANT).to_physical().fill_null(0)[0])
        return cls(lives, recalls, nights or Nights(), until_us)

    def masks(self, policies: Sequence[Policy]) -> Masks:
        """Which sightings each policy would have served; policies that come to the same share a group."""
        groups: dict[bytes, tuple[list[int], Flags | None]] = {}
        by_setting: dict[str, bytes] = {}
        for position, policy in enumerate(policies):
            setting = _setting(policy)
            if setting not in by_setting:
                alive = self.alive(policy)
                by_setting[setting] = b"" if alive.all() else np.packbits(alive).tobytes()
                groups.setdefault(by_setting[setting], ([], None if alive.all() else alive))
            groups[by_setting[setting]][0].append(position)
        return Masks([(np.array(held, np.int64), alive) for held, alive in groups.values()])

    def alive(self, policy: Policy) -> Flags:
        """Which sightings a policy would have served; bool (sightings)."""
        nights = np.minimum.reduce(self.gone(policy))[self._memory_of_state]
        # What a night takes out is missing from the next instant on; what expires, from that one on.
        limits = np.minimum(self._expires(policy), np.where(nights == NEVER, NEVER, nights + 1))
        found: Flags = (self.lives.at < limits[self.lives.state_of]) & self._exists
        return found

    def lost(self, policy: Policy) -> NDArray[np.int8]:
        """By sighting, the place in ``REASONS`` of why the memory was gone; -1: it was there.

        One that did not exist yet is taken for gone by the first reason.
        """
        memory, at = self.lives.memory_of, self.lives.at
        found = np.full(at.shape, -1, np.int8)
        earliest = np.full(at.shape, NEVER, np.int64)
        for place, nights in enumerate(self.gone(policy), start=1):
            goes = nights[memory]
            is_first = (goes < at) & (goes < earliest)
            found[is_first], earliest[is_first] = place, goes[is_first]
        expires = self._expires(policy)[self.lives.state_of]
        found[(expires <= at) & (expires <= earliest)] = 0
        found[~self._exists] = 0
        return found

    @cached_property
    def _exists(self) -> Flags:
        """Which sightings are of a memory that was there: it had happened, or was in the lake."""
        known = pl.min_horizontal("known_at", "event_at").to_physical()
        born = self.lives.memories.select(known)["known_at"].to_numpy().astype(np.int64)
        event = self.lives.seen["event_at"].to_physical().to_numpy().astype(np.int64)
        found: Flags = np.minimum(born[self._memory_of_state], event)[self.lives.state_of] <= self.lives.at
        return found

    @cached_property
    def _memory_of_state(self) -> Whole:
        return self.lives.seen["memory"].cast(pl.Int64).to_numpy()

    def _expires(self, policy: Policy) -> Whole:
        return self._kept("seen", policy, _EXPIRY, lambda: fading.expiries(self.lives, policy))

    def gone(self, policy: Policy) -> tuple[Whole, ...]:
        """Night that takes each memory out by each of ``REASONS`` but the first; int64 (memories) each."""
        refresh, size = policy.decay.refresh, self.lives.memories.height
        stretches, nights = self._cut(refresh), self.nights
        found = {
            "stale": lambda: fading.stale_nights(stretches, policy, nights, size),
            "decayed": lambda: fading.decayed_nights(stretches, policy.decay, nights, size),
            "cold": lambda: fading.cold_nights(stretches, policy, nights, size),
            "summarised": lambda: fading.summarised_nights(self.lives, policy, nights),
        }
        sections = {"stale": _STALENESS, "decayed": _DECAY, "cold": _COLD, "summarised": _SUMMARIES}
        stale, decayed, cold, summarised = (
            self._kept(name, policy, sections[name], make) for name, make in found.items()
        )
        fades = np.minimum.reduce([stale, decayed, cold])
        return stale, decayed, cold, self._evicted(policy, fades), summarised

    def standing(self, policy: Policy) -> Flags:
        """Which memories of the lake stand at ``until`` under a policy; bool (memories)."""
        nights = np.minimum.reduce(self.gone(policy))
        known = self.lives.memories["known_at"].to_physical().to_numpy() <= self.until_us
        is_there = self.lives.memories["is_there"].to_numpy()
        stands: Flags = known & is_there & (nights > self.until_us) & (self._leaves(policy) > self.until_us)
        return stands

    def _leaves(self, policy: Policy) -> Whole:
        return self._kept("lives", policy, _EXPIRY, lambda: fading.last_instants(self.lives, policy))

    def _evicted(self, policy: Policy, fades: Whole) -> Whole:
        accesses = self._accesses_of(policy.decay.refresh)
        size = self.lives.memories.height
        name = policy.decay.refresh + policy.capacity.model_dump_json()
        if name not in self._crowds:
            self._crowds = {name: crowd_of(self.lives, accesses, policy.capacity, self.nights, self.until_us)}
        crowd = self._crowds[name]
        if crowd.rows.is_empty():
            return np.full(size, NEVER, np.int64)

        def make() -> Whole:
            early, late = (np.minimum(i, fades) for i in fading.known_instants(self.lives, policy))
            return evicted_nights(crowd, accesses, (early, late), policy, self.until_us, size)

        return self._remembered(f"evicted {_setting(policy)}", make)

    def _accesses_of(self, refresh: str) -> Accesses:
        if refresh not in self._accesses:
            self._accesses[refresh] = Accesses.of(self.recalls, "used" if refresh == "used" else "served")
        return self._accesses[refresh]

    def _cut(self, refresh: str) -> Stretches:
        if refresh not in self._stretches:
            accesses = self._accesses_of(refresh)
            self._stretches[refresh] = fading.stretches_of(self.lives, accesses, self.until_us)
        return self._stretches[refresh]

    def _kept(self, name: str, policy: Policy, sections: Sequence[str], make: Callable[[], Whole]) -> Whole:
        told = [getattr(policy, section).model_dump_json() for section in sections]
        return self._remembered(" ".join([name, policy.decay.refresh, *told]), make)

    def _remembered(self, key: str, make: Callable[[], Whole]) -> Whole:
        """What a rule came to, made once; the oldest results go."""
        if key not in self._found:
            while len(self._found) >= _HELD:
                del self._found[next(iter(self._found))]
            self._found[key] = make()
        return self._found[key]


_EXPIRY, _STALENESS, _DECAY, _COLD = ("retention",), ("staleness",), ("decay",), ("cold",)
_SUMMARIES = ("summaries",)
_FORGETTING = ("retention", "staleness", "decay", "cold", "capacity", "summaries")


def _setting(policy: Policy) -> str:
    """All of a policy that decides who is there."""
    return " ".join(getattr(policy, section).model_dump_json() for section in _FORGETTING)


def survival(
    calls: Calls,
    memories: pl.DataFrame | None,
    policies: Sequence[Policy],
    recalls: pl.DataFrame,
    wishes: Wishes | None = None,
) -> Masks:
    """Which candidates of calls each policy would still have had; see ``Past`` for many rounds.

    Args:
        calls: Whose candidates.
        memories: ``memory_rows.MEMORY_SCHEMA``, also those that were never recalled, which fill budgets;
            None: the candidates alone.
        policies: Which.
        recalls: ``schemas.RECALLS``: accesses; also those of calls that are not replayed, and earlier ones.
        wishes: What people asked for.
    """
    return Past.made(seen_in(calls), memories, recalls, wishes).masks(policies)


def held(
    memories: pl.DataFrame,
    policies: Sequence[Policy],
    as_of: datetime,
    recalls: pl.DataFrame,
    wishes: Wishes | None = None,
    *,
    row_bytes: float | None = None,
) -> pl.DataFrame:
    """How much of the lake would stand at an instant, had each policy been in force always.

    Args:
        memories: ``memory_rows.MEMORY_SCHEMA`` of whole owners.
        policies: Which.
        as_of: The instant.
        recalls: ``schemas.RECALLS``: accesses.
        wishes: What people asked for.
        row_bytes: Bytes that the index takes for a row, measured; None: not known.

    Returns:
        ``policy`` (position), ``rows`` that the index would hold, and ``index_bytes`` (null: not known).
    """
    past = Past.made(pl.DataFrame(schema=SEEN_SCHEMA), memories, recalls, wishes, until=as_of)
    served = ~past.lives.memories["is_injected"].fill_null(False).to_numpy()
    counts = [int((past.standing(policy) & served).sum()) for policy in policies]
    rows = pl.Series("rows", counts, pl.Int64)
    size = pl.lit(None) if row_bytes is None else pl.col("rows") * row_bytes
    return pl.DataFrame([pl.Series("policy", range(len(rows)), pl.Int64), rows]).with_columns(
        index_bytes=size.cast(pl.Int64)
    )
