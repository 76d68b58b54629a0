"""Policy of forgetting and of people's rights: lifetimes, decay, capacity, cold storage, due dates."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transforms.policy_entries import (
    CENTURY_SECONDS,
    YEAR_SECONDS,
    HalfLife,
    Lifetime,
    MemoryKind,
    Section,
    Share,
)


class RetentionPolicy(Section):
    """Time to live by tier, in seconds from event_at; null, in a file ``"never"``, is never."""

    transient_seconds: Lifetime = Field(3_600, gt=0, le=CENTURY_SECONDS)
    session_seconds: Lifetime = Field(86_400, gt=0, le=CENTURY_SECONDS)
    short_term_seconds: Lifetime = Field(7 * 86_400, gt=0, le=CENTURY_SECONDS)
    medium_term_seconds: Lifetime = Field(90 * 86_400, gt=0, le=CENTURY_SECONDS)
    long_term_seconds: Lifetime = Field(YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    permanent_seconds: Lifetime = Field(None, gt=0, le=CENTURY_SECONDS)
    default_tier: Literal["transient", "session", "short_term", "medium_term", "long_term", "permanent"] = (
        "medium_term"
    )
    user_cap_seconds: int = Field(3 * YEAR_SECONDS, gt=0, le=CENTURY_SECONDS)
    """A person's own retention period; caps every tier."""

    def ttl_seconds(self) -> dict[str, int | None]:
        """Seconds to live by tier name, the user's cap applied."""
        tiers = ("transient", "session", "short_term", "medium_term", "long_term", "permanent")
        raw: dict[str, int | None] = {t: getattr(self, f"{t}_seconds") for t in tiers}
        cap = self.user_cap_seconds
        return {t: (cap if s is None else min(s, cap)) for t, s in raw.items()}


class DecayPolicy(Section):
    """Half-lives in days by kind; null, in a file ``"never"``, does not decay."""

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


class ColdPolicy(Section):
    """Cold storage: kept, compressed, out of the index, readable on request."""

    after_days: float | None = Field(None, gt=0, le=36_500)
    """An episode not recalled for this long goes there; null, in a file ``"never"``, sends none."""


class RightsPolicy(Section):
    """When requests are due, and what their proof looks at."""

    erase_due_days: float = Field(30.0, gt=0, le=36_500)
    """An erasure must be done within this time of its request (one month in the GDPR)."""
    other_due_days: float = Field(30.0, gt=0, le=36_500)
    """Any other request."""
    late_after_seconds: int = Field(86_400, ge=0, le=CENTURY_SECONDS)
    """A removal by retention is late when it comes more than this after it was due: one nightly run."""
