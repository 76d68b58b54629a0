"""Policies of recall online: scoring, routing, packing, working memory, sharing, the recall log."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, field_validator

from transforms.policy_entries import MemoryTier, Name, Section, Share
from transforms.weights import Choice, Weights, weights_of


class RecallPolicy(Section):
    """Scoring of recall."""

    weights: Choice = "five"
    """Weights of the factors: ``five``, ``three`` (relevance, recency, importance), ``two`` (relevance,
    recency), or a table of numbers that sum to 1, in which a factor left out weighs nothing."""
    agents: dict[Name, Choice] = {}
    """The same by agent id, for calls that name that agent."""
    type_bonus: dict[MemoryTier, Share] = {
        "working": 0.3,
        "procedural": 0.2,
        "semantic": 0.0,
        "episodic": 0.0,
    }
    success_boost: float = Field(0.1, ge=0, le=1)
    """Added to importance where the outcome was a success."""
    vector_share: float = Field(0.3, ge=0, le=1)
    """Share of the vectors in relevance; the rest is of the question's words."""
    usual_spread: float = Field(0.1, gt=0, le=1)
    """Spread (standard deviation) of a question's cosine to rows that have nothing to do with it."""
    usual_rows: int = Field(20, ge=1, le=1_000_000)
    """Rows of that spread counted in, so that a scope of few rows does not take chance for meaning."""
    most_spreads: float = Field(5.0, gt=0, le=100)
    """So many spreads above the usual cosine is as good as every word of the question held once."""
    bm25_k1: float = Field(1.2, gt=0, le=10)
    """How soon repeating a word stops to count."""
    bm25_b: float = Field(0.3, ge=0, le=1)
    """How much a long row is held against it; 0 not at all."""
    previous_weight: float = Field(0.65, ge=0, le=1)
    """Weight of a word of the turn before, in the same session."""
    earlier_weight: float = Field(0.3, ge=0, le=1)
    """Weight of a word of the turn before that one."""
    next_weight: float = Field(0.3, ge=0, le=1)
    """Weight of a word of the turn after."""
    neighbour_vectors: float = Field(0.3, ge=0, le=1)
    """Part of these weights by which the vectors of the neighbours count."""
    session_weight: float = Field(3.2, ge=0, le=100)
    """Weight of a word that every row of a very long session holds once, for each of its rows."""
    session_rows: float = Field(20.0, gt=0, le=1_000_000)
    """Rows without the word counted in, so that a session of few rows is not one row."""
    neighbour_terms: float = Field(100.0, gt=0, le=1_000_000)
    """Mean length in words at which half of the weights of neighbours and session is left."""
    substance_terms: float = Field(20.0, ge=0, le=1_000_000)
    """Length in words at which a row counts as it is; a shorter one says little."""
    substance_share: float = Field(0.3, ge=0, le=0.5)
    """Part of relevance that an empty row loses, and a very long one gains."""
    question_share: float = Field(0.1, ge=0, le=1)
    """Part of relevance that a row loses that ends in a question: it asks and does not tell."""
    speaker_share: float = Field(0.3, ge=0, le=10)
    """Added to the relevance of rows of the one speaker that a question names, as a part of it."""
    closeness_power: float = Field(6.0, ge=0, le=100)
    """The other factors of a row count by (its relevance over the best one's) to this power, so that a row
    must be at least some four fifths as relevant to be lifted by recency. 0: they count in full."""
    candidates: int = Field(50, ge=1, le=10_000)
    """Most relevant rows of the scope that are scored by all factors."""
    default_k: int = Field(10, ge=1, le=10_000)
    duplicate_cosine: float = Field(0.92, ge=0, le=1)
    diversity_share: float = Field(0.2, ge=0, le=1)
    """Which rows are returned: each loses this share of the best score times its cosine to the likest row
    that is returned before it. 0: the best ones, however alike."""
    relevance_floor: dict[Name, Share] = {}
    """Least relevance to be packed, by vector space, in place of the floor that publish measures for it."""
    floor_share: float = Field(0.95, ge=0, le=0.999)
    """A row is packed if it is nearer to the question than so large a share of unrelated texts is, as
    publish measured it in the model's own space; 0 asks for nothing."""
    floor_words: float = Field(0.3, ge=0, le=10)
    """A row that holds so large a part of the question's words, rare ones counting more, is packed
    however far it is."""
    floor_cleared: float = Field(0.4, ge=0, le=1)
    """The floor is used for questions of a script only where so large a share of texts that follow each
    other in a session are nearer than 0.95 of unrelated ones: else it would cut what it is to let through."""
    rerank_rows: int = Field(20, ge=0, le=1_000)
    """Most relevant rows that the configured reranker reads; below 2 it is not asked."""
    rerank_share: float = Field(0.7, ge=0, le=1)
    """Weight of the reranker in the order of those rows; the rest is their relevance."""
    derived_floor_ratio: float = Field(0.5, ge=0, le=1)
    """A fact, summary or skill less relevant than this part of the best candidate is not recalled."""
    digest_turns_ratio: float = Field(0.3, ge=0, le=1)
    """A turn so relevant, as a part of the best row, answers for itself: a summary of it comes after it."""
    digest_share: float = Field(0.8, ge=0, le=1)
    """Such a summary is at most so relevant as a part of the least of those turns; 1: as relevant."""
    hint_relevance: float = Field(0.1, ge=0, le=1)
    """A past attempt or a skill less relevant to the task at hand than this gives no hint."""
    fresh_rows: int = Field(2_000, ge=0, le=1_000_000)
    """Newest rows of the scope, landed or ingested but not published, that recall also reads."""
    as_of_rows: int = Field(200_000, ge=1, le=100_000_000)
    """Most episodes of a scope that an answer as of the past is made from: it reads them all, about 4 KB
    of memory each."""
    max_sensitivity: Literal["normal", "personal", "restricted"] = "restricted"
    """Rows more private than this are not served. A scope's own caller sees all of it by default: an
    allergy is worth remembering. Numbers and credentials are redacted at write whatever this says."""

    def weights_for(self, agent: str | None) -> Weights:
        """The weights of a call of an agent, or of one that names none."""
        return weights_of(self.agents.get(agent, self.weights) if agent else self.weights)


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
    output_reserve_tokens: int = Field(4_096, ge=0, le=10_000_000)
    """Kept for the model's answer where a budget is reckoned from its window."""
    base_share: float = Field(0.20, ge=0, le=1)
    """Part of the budget for the facts that every context of a user begins with; taken from the share of
    semantic memories."""
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


CONTEXT_PRESETS: dict[str, dict[str, int]] = {
    "small": {"default_budget_tokens": 2_000, "candidates": 50},
    "large": {"default_budget_tokens": 16_000, "candidates": 400},
}
"""Values of ``ContextPolicy`` for a prompt with little room and for one with much."""


class RoutingPolicy(Section):
    """How a query is read before it is searched for."""

    base_facts: int = Field(20, ge=0, le=1_000)
    """Newest-confirmed facts of the user that a context always holds."""
    is_enabled: bool = True
    """Whether questions are read for times, sessions and keys; else all are searched alike."""
    exact_facts: int = Field(8, ge=0, le=1_000)
    """Most facts of one key that are fetched whatever their similarity; a key of more singles none out."""
    exact_strength: float = Field(0.6, ge=0, le=1)
    """Share of a fact's key that a question must name: subject, predicate, aspect, object."""
    exact_relevance: float = Field(0.8, ge=0, le=1)
    """Least relevance of a fact named in full; of one named in part, so much less."""
    source_share: float = Field(0.5, ge=0, le=1)
    """Part of that relevance which the episodes behind such a fact have at least, and of a newer message's
    which a fact has at most that the message replaces."""
    answers_ratio: float = Field(0.9, ge=0, le=1)
    """Where no rule reads the language: a newer message replaces a fact if it answers the question so well,
    as a part of how well the episodes behind the fact do."""
    range_share: float = Field(0.5, ge=0, le=1)
    """Part of its relevance that a row far from a preferred range of time loses; 0 prefers none."""
    told_after_days: float = Field(3.0, ge=0, le=3_650)
    """What happened is told later: so many days after a range half of that part is lost."""
    told_before_days: float = Field(1.0, ge=0, le=3_650)
    """And what was planned is told before: the same in days before a range."""
    open_minutes: float = Field(10.0, ge=0, le=10_080)
    """A session with a row in the last so many minutes is going on: it is not the last session."""


class WorkingPolicy(Section):
    """Working memory of an open session."""

    window_rows: int = Field(15, ge=1, le=1_000)
    """Newest rows that a session is reloaded with."""
    window_hours: float = Field(24.0, gt=0, le=8_760)
    """Rows older than this are not reloaded."""
    window_tokens: int = Field(4_000, ge=1, le=10_000_000)
    """Most tokens of the window's rows, counted as bytes / 4; whole turns beyond it are summed up."""
    row_tier: Literal["transient", "session", "short_term", "medium_term", "long_term"] = "session"
    """Retention tier of the rows that a session adds; a row may name its own."""
    state_tier: Literal["transient", "session"] = "session"
    """Whose time to live the task state has, from its last change."""
    summary_rows: int = Field(8, ge=1, le=1_000)
    """Least rows that are summed up together, in whole turns; until then their beginnings stand for them."""
    summary_tokens: int = Field(300, ge=10, le=100_000)
    """Longest running summary of what left the window, counted as bytes / 4."""
    summary_sentences: int = Field(8, ge=1, le=1_000)
    """Most sentences of it."""
    state_items: int = Field(50, ge=1, le=10_000)
    """Newest entries kept of each list of the task state."""
    state_chars: int = Field(2_000, ge=1, le=1_000_000)
    """A longer text of the task state is cut."""
    rewrite_bytes: int = Field(200_000, ge=1_000, le=1_000_000_000)
    """A session's file above this is written anew with what is still in its window."""

    @property
    def span(self) -> timedelta:
        """How far back a window reaches."""
        return timedelta(hours=self.window_hours)


class SharingPolicy(Section):
    """Sharing between agents and tenants."""

    default_k: int = Field(5, ge=1, le=100)
    """Memories that one share gives at most, where the call names no number."""
    candidates: int = Field(40, ge=1, le=1_000)
    """Best memories of the giver that one share looks at, those that it may not give among them."""
    trust: float = Field(0.4, ge=0, le=1)
    """Most trust of a copy where the grant names none: that of a tool, for nobody said it to this agent."""
    min_tenants: int = Field(3, ge=3, le=1_000_000)
    """Tenants that must stand behind a pattern before others see it, anonymised."""
    pattern_trust: float = Field(0.4, ge=0, le=1)
    """Trust of such a pattern: nobody of the reader's own tenant vouches for it."""


class RecallLogPolicy(Section):
    """The trace that recalls leave, for tuning and for decay."""

    sample_ratio: float = Field(1.0, ge=0, le=1)
    """Share of calls that are logged; 0 logs none."""
    candidates: int = Field(50, ge=1, le=1_000)
    """Most rows logged of one call; those that were returned always are."""
    queue_calls: int = Field(1_000, ge=1, le=1_000_000)
    """Calls that wait to be written, about 15 KB each; more than that are dropped, and counted."""
    flush_seconds: float = Field(1.0, ge=0, le=3_600)
    """So long calls are gathered before they are written together; a crash loses that much of the log."""
