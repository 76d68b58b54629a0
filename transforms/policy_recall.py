"""Policies of recall online: scoring, routing, packing, working memory, sharing, the recall log."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from transforms.policy_entries import MemoryTier, Name, Section, Share


class RecallPolicy(Section):
    """Scoring of recall. The five weights sum to 1."""

    relevance_weight: float = Field(0.35, ge=0, le=1)
    recency_weight: float = Field(0.20, ge=0, le=1)
    importance_weight: float = Field(0.20, ge=0, le=1)
    frequency_weight: float = Field(0.10, ge=0, le=1)
    type_weight: float = Field(0.15, ge=0, le=1)
    type_bonus: dict[MemoryTier, Share] = {
        "working": 0.3,
        "procedural": 0.2,
        "semantic": 0.0,
        "episodic": 0.0,
    }
    success_boost: float = Field(0.1, ge=0, le=1)
    """Added to importance where the outcome was a success."""
    vector_share: float = Field(0.7, ge=0, le=1)
    """Share of the cosine in relevance; the rest is BM25 scaled to the best of the candidates."""
    candidates: int = Field(50, ge=1, le=10_000)
    """Rows fetched by each of vector and full-text search."""
    default_k: int = Field(10, ge=1, le=10_000)
    duplicate_cosine: float = Field(0.92, ge=0, le=1)
    relevance_floor: dict[Name, Share] = {}
    """Least relevance to be packed, by model key; score scales differ between models."""
    derived_floor_ratio: float = Field(0.5, ge=0, le=1)
    """A fact, summary or skill less relevant than this part of the best candidate is not recalled."""
    fresh_rows: int = Field(2_000, ge=0, le=1_000_000)
    """Newest rows of the scope, landed or ingested but not published, that recall also reads."""
    max_sensitivity: Literal["normal", "personal", "restricted"] = "restricted"
    """Rows more private than this are not served. A scope's own caller sees all of it by default: an
    allergy is worth remembering. Numbers and credentials are redacted at write whatever this says."""

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> RecallPolicy:
        total = (
            self.relevance_weight
            + self.recency_weight
            + self.importance_weight
            + self.frequency_weight
            + self.type_weight
        )
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the five recall weights sum to {total:.4f}, not 1")
        return self


class ContextPolicy(Section):
    """Packing of a context. Shares sum to 1."""

    shares: dict[MemoryTier, Share] = {
        "working": 0.40,
        "semantic": 0.25,
        "episodic": 0.20,
        "procedural": 0.15,
    }
    default_budget_tokens: int = Field(2_000, ge=1, le=10_000_000)
    encoding: Literal["o200k_base", "cl100k_base"] = "o200k_base"
    candidates: int = Field(50, ge=1, le=10_000)
    """Rows recalled for packing."""
    min_summarised_share: float = Field(0.5, ge=0, le=1)
    """A row that does not fit is summarised if what is left is above this part of its tier's share."""
    min_summary_tokens: int = Field(12, ge=1, le=1_000_000_000)
    """A summary of fewer tokens says too little to be shown (about one short sentence)."""
    max_chars_per_token: int = Field(8, ge=1, le=1_000)
    """A row longer than this times the tokens left is taken not to fit, uncounted (prose: 4 to 5)."""

    @field_validator("shares")
    @classmethod
    def _sum_to_one(cls, shares: dict[str, float]) -> dict[str, float]:
        total = sum(shares.values())
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the shares of a context sum to {total:.4f}, not 1")
        return shares


class RoutingPolicy(Section):
    """How a query is read before it is searched for."""

    base_facts: int = Field(20, ge=0, le=1_000)
    """Newest-confirmed facts of the user that a context always holds."""


class WorkingPolicy(Section):
    """Working memory of an open session."""

    window_rows: int = Field(15, ge=1, le=1_000)
    """Newest rows that a session is reloaded with."""
    window_hours: float = Field(24.0, gt=0, le=8_760)
    """Rows older than this are not reloaded."""


class SharingPolicy(Section):
    """Sharing between agents and tenants."""

    min_tenants: int = Field(3, ge=3, le=1_000_000)
    """Tenants that must stand behind a pattern before others see it, anonymised."""


class RecallLogPolicy(Section):
    """The trace that recalls leave, for tuning and for decay."""

    sample_ratio: float = Field(1.0, ge=0, le=1)
    """Share of calls that are logged; 0 logs none."""
    candidates: int = Field(50, ge=1, le=1_000)
    """Most rows logged of one call, returned or not."""
