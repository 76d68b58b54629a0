"""The numbers of consolidation: topics, summaries, claims, facts, conversations and skills."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transforms.policy_entries import CENTURY_SECONDS, Section, Share


class TopicsPolicy(Section):
    """Clusters of an owner's episodes."""

    join_cosine: float = Field(0.5, ge=0, le=1)
    """An episode joins the nearest topic whose centroid is at least this close."""
    merge_cosine: float = Field(0.7, ge=0, le=1)
    """Clusters whose centroids are at least this close on average are one topic."""
    min_size: int = Field(3, ge=2, le=1_000_000)
    """Fewer episodes make no topic; they wait for more."""
    label_terms: int = Field(4, ge=1, le=50)
    """Terms of a label."""


class SummariesPolicy(Section):
    """Digests of older episodes."""

    after_seconds: int = Field(7 * 86_400, ge=0, le=CENTURY_SECONDS)
    """Episodes older than this are summarised."""
    min_episodes: int = Field(3, ge=1, le=1_000_000)
    """A topic with fewer such episodes is not summarised yet."""
    max_sentences: int = Field(8, ge=1, le=1_000)
    max_tokens: int = Field(300, ge=10, le=100_000)
    """Longest summary."""
    detail: Literal["keep_until_ttl", "drop_after_summary"] = "keep_until_ttl"
    """What becomes of summarised episodes: served until their own expiry, or no longer once summarised."""


class ClaimsPolicy(Section):
    """What is read from an episode."""

    min_confidence: float = Field(0.5, ge=0, le=1)
    """Least confidence of what a user said to become a fact."""
    max_tool_confidence: float = Field(0.4, ge=0, le=1)
    """What a tool or a web page says enters at most at this."""


class FactsPolicy(Section):
    """How claims are folded into facts."""

    merge_cosine: float = Field(0.92, ge=0, le=1)
    """Objects of one subject and predicate at least this close say the same."""
    min_sessions: int = Field(3, ge=1, le=1_000)
    """Independent sessions an inferred claim needs; from as many on tool results count as consolidated."""
    confirm_gain: Share = 0.5
    """Each further session that says so takes this part of what is missing to 1."""
    retention_tier: Literal["medium_term", "long_term", "permanent"] = "long_term"
    """Time to live of a fact, counted from its last confirmation."""


class ConversationsPolicy(Section):
    """Title and mood of a session."""

    max_title_chars: int = Field(80, ge=10, le=1_000)
    topic_terms: int = Field(4, ge=1, le=50)


class SkillsPolicy(Section):
    """Procedures, lessons and patterns."""

    min_attempts: int = Field(3, ge=1, le=1_000_000)
    """Attempts before a procedure is suggested."""
    min_success_rate: float = Field(0.7, ge=0, le=1)
    """It is suggested above this."""
    min_conversations: int = Field(20, ge=1, le=1_000_000)
    """Conversations of a user before habits are read from them."""
