"""Policy of forgetting and of people's rights: lifetimes, decay, capacity, cold storage, due dates."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from transforms.policy_entries import (
    CENTURY_SECONDS,
    YEAR_SECONDS,
    Days,
    HalfLife,
    Lifetime,
    MemoryKind,
    Section,
    Share,
)

Tier = Literal["transient", "session", "short_term", "medium_term", "long_term", "permanent"]


class RetentionPolicy(Section):
    """Time to live by tier, in seconds from event_at; null, in a file ``"never"``, is never."""

    transient_seconds: Lifetime = Field(3_600, gt=0, le=CENTURY_SECONDS)
    session_seconds: Lifetime = Field(86_400, gt=0, le=CENTURY_SECONDS)
    short_term_seconds: Lifetime = Field(7 * 86_400, gt=0, le=CENTURY_SECONDS)
    medium_term_seconds: Lifetime = Field(90 * 86_400, gt=0, le=CENTURY_SECONDS)
    long_term_seconds: Lifetime = Field(YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    permanent_seconds: Lifetime = Field(None, gt=0, le=CENTURY_SECONDS)
    default_tier: Tier = "medium_term"
    by_kind_seconds: dict[MemoryKind, Lifetime] = {}
    """A kind named here lives so long at most, whatever its tier; a pinned row is exempt."""
    user_cap_seconds: int = Field(3 * YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    """A person's own retention period; caps every tier."""
    conversations_tier: Tier = "long_term"
    """Lifetime of the line about a conversation, from its last episode."""
    attempts_tier: Tier = "permanent"
    """Lifetime of an attempt, from its last episode: skills are counted over them."""
    quarantine_seconds: Lifetime = Field(90 * 86_400, gt=0, le=CENTURY_SECONDS)
    """Lifetime of a refused row, from when it was refused."""
    recalls_seconds: Lifetime = Field(YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    """Lifetime of the trace of a recall."""
    model_results_seconds: Lifetime = Field(YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    """Lifetime of a model's kept answer; one on an episode that is gone goes with it."""

    @field_validator("by_kind_seconds")
    @classmethod
    def _are_lifetimes(cls, values: dict[str, int | None]) -> dict[str, int | None]:
        if any(s is not None and not 0 < s <= CENTURY_SECONDS for s in values.values()):
            raise PydanticCustomError("no_lifetime", "Input should lie above 0 and within a century")
        return values

    def tier_seconds(self) -> dict[str, int | None]:
        """Seconds to live by tier name, without anybody's cap."""
        return {t: getattr(self, f"{t}_seconds") for t in get_args(Tier)}

    def ttl_seconds(self) -> dict[str, int | None]:
        """Seconds to live by tier name, the user's cap applied."""
        cap = self.user_cap_seconds
        return {t: (cap if s is None else min(s, cap)) for t, s in self.tier_seconds().items()}


class DecayPolicy(Section):
    """The retention score, and half-lives in days by kind; null, in a file ``"never"``, does not decay.

    score = priority x (importance_weight x importance + recency_weight x recency + frequency_weight x
    frequency), with recency = 0.5 ** (days since the last access / half-life).
    """

    half_life_days: dict[MemoryKind, HalfLife] = {
        "conversation": 7.0,
        "action": 7.0,
        "observation": 7.0,
        "outcome": 7.0,
        "summary": 30.0,
        "preference": 90.0,
        "fact": None,
        "procedure": None,
        "lesson": None,
        "pattern": None,
    }
    frequency_scale: float = Field(50.0, gt=1, le=1_000_000_000)
    """frequency = min(1, ln(1 + accesses) / ln(scale))."""
    importance_weight: float = Field(0.5, ge=0, le=1)
    recency_weight: float = Field(0.35, ge=0, le=1)
    frequency_weight: float = Field(0.15, ge=0, le=1)
    forget_below: Share = 0.15
    """A memory with a lower score is forgotten, once a summary covers it."""
    refresh: Literal["served", "used"] = "served"
    """Which recalls count as accesses: all, or those of which the agent says that it used the memory."""
    fade_after_days: Days = Field(None, gt=0, le=36_500)
    """From this age on the priority of an episode is fade_factor; null, in a file ``"never"``, keeps it 1."""
    fade_factor: Share = 0.5
    fade_more_after_days: Days = Field(None, gt=0, le=36_500)
    """From this age on it is fade_more_factor."""
    fade_more_factor: Share = 0.2
    unconfirmed_after_days: Days = Field(None, gt=0, le=36_500)
    """A fact not confirmed for so long counts with unconfirmed_factor of its confidence."""
    unconfirmed_factor: Share = 0.5
    archive_below_confidence: Share = 0.0
    """A fact of less confidence is archived: kept, and no longer served."""


class StalenessPolicy(Section):
    """What nobody asked for in a long time and nobody will miss."""

    is_enabled: bool = True
    after_days: float = Field(30.0, gt=0, le=36_500)
    """A memory not accessed for this long is stale ..."""
    below_importance: Share = 0.3
    """... where its importance is below this."""


class CapacityPolicy(Section):
    """Most that is kept for one user; the lowest retention score goes first."""

    facts: int = Field(100, ge=1, le=1_000_000_000)
    """Facts and preferences."""
    indexed_rows: int = Field(10_000, ge=1, le=1_000_000_000)
    """Memories of every kind."""
    episodes: int = Field(500, ge=1, le=1_000_000_000)
    """Episodes in detail."""
    content_chars: int = Field(100_000_000, ge=1, le=1_000_000_000_000_000)
    """Characters of the episodes' content in all, about 100 MB."""


class ColdPolicy(Section):
    """Cold storage: kept, compressed, out of the index, readable on request."""

    after_days: Days = Field(None, gt=0, le=36_500)
    """An episode not recalled for this long goes there; null, in a file ``"never"``, sends none."""


class RightsPolicy(Section):
    """When requests are due, and what their proof looks at."""

    erase_due_days: float = Field(30.0, gt=0, le=36_500)
    """An erasure must be done within this time of its request (one month in the GDPR)."""
    other_due_days: float = Field(30.0, gt=0, le=36_500)
    """Any other request."""
    late_after_seconds: int = Field(86_400, ge=0, le=CENTURY_SECONDS)
    """A removal by retention is late when it comes more than this after it was due: one nightly run."""
