"""Every default number, in one frozen object; ``slowwave.toml`` overrides any of it.

No transform holds a literal of its own. Each field names its unit.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IngestPolicy(_Section):
    """What may land, and in what portions."""

    min_event_at: datetime = datetime(2000, 1, 1, tzinfo=UTC)
    """Earliest believable event; anything before is a clock or unit error."""
    max_future_seconds: int = 86_400
    """How far after as-of an event may lie (clock skew, time zones)."""
    max_content_chars: int = 1_000_000
    """A longer message is quarantined whole."""
    max_id_chars: int = 512
    """Longest tenant, user, agent or session id."""
    batch_rows: int = 50_000
    """Rows a reader hands over at once."""
    batch_bytes: int = 64_000_000
    """Source bytes a reader hands over at once."""
    max_expansion_ratio: int = 200
    """Unpacked bytes over packed bytes of a .gz, .zst or zip member; more is taken for a bomb."""
    expansion_free_bytes: int = 256_000_000
    """Up to this unpacked size any ratio passes: small repetitive files pack very well."""
    sniff_bytes: int = 262_144
    """First bytes of a source that its format is told from."""
    max_reason_chars: int = 500
    """Longest failure_reason taken from the text of a failed tool call."""
    commit_rows: int = 250_000
    """Rows of one lake commit: more means fewer files, and more memory (about 1 KB a row)."""
    commit_bytes: int = 400_000_000
    """Bytes of one lake commit: long texts fill the memory long before there are commit_rows of them."""
    compact_above_files: int = 2_000
    """Compact a table after a run that leaves it with more files than this."""
    vacuum_after_hours: int = 24
    """Superseded files are kept this long, for readers that still hold an old version."""


class RedactPolicy(_Section):
    """What is taken out before anything is stored, embedded or logged."""

    is_enabled: bool = True
    keep_kinds: tuple[str, ...] = ()
    """Kinds left in place, such as ``email``; a tenant opts in here."""
    keep_restricted_tenants: tuple[str, ...] = ()
    """Tenants whose payment and government ids stay readable. Credentials never do."""


class ImportancePolicy(_Section):
    """Rule weights of importance, 0 to 1; a source's own value wins."""

    by_kind: dict[str, float] = {
        "conversation": 0.4,
        "action": 0.4,
        "observation": 0.3,
        "outcome": 0.6,
        "summary": 0.6,
    }
    small_talk: float = 0.1
    preference_boost: float = 0.2
    decision_boost: float = 0.2
    failure_boost: float = 0.1
    success_boost: float = 0.1
    feedback_boost: float = 0.2


class TrustPolicy(_Section):
    """Trust by role, 0 to 1 (policies: tool and web content enters at most at 0.4)."""

    user: float = 1.0
    assistant: float = 0.7
    system: float = 0.7
    tool: float = 0.4
    other: float = 0.4


class RetentionPolicy(_Section):
    """Time to live by tier, in seconds from event_at; null is never."""

    transient_seconds: int | None = 3_600
    session_seconds: int | None = 86_400
    short_term_seconds: int | None = 7 * 86_400
    medium_term_seconds: int | None = 90 * 86_400
    long_term_seconds: int | None = 365 * 86_400
    permanent_seconds: int | None = None
    default_tier: Literal["transient", "session", "short_term", "medium_term", "long_term", "permanent"] = (
        "medium_term"
    )
    user_cap_seconds: int = 3 * 365 * 86_400
    """A person's own retention period; caps every tier."""

    def ttl_seconds(self) -> dict[str, int | None]:
        """Seconds to live by tier name, the user's cap applied."""
        tiers = ("transient", "session", "short_term", "medium_term", "long_term", "permanent")
        raw: dict[str, int | None] = {t: getattr(self, f"{t}_seconds") for t in tiers}
        cap = self.user_cap_seconds
        return {t: (cap if s is None else min(s, cap)) for t, s in raw.items()}


class DecayPolicy(_Section):
    """Half-lives in days by kind; null does not decay."""

    half_life_days: dict[str, float | None] = {
        "conversation": 7.0,
        "action": 7.0,
        "observation": 7.0,
        "outcome": 7.0,
        "summary": 30.0,
        "preference": 90.0,
        "fact": None,
        "procedure": None,
    }
    frequency_scale: float = 50.0
    """frequency = min(1, ln(1 + accesses) / ln(scale))."""


class RecallPolicy(_Section):
    """Scoring of recall. The five weights sum to 1."""

    relevance_weight: float = Field(0.35, ge=0, le=1)
    recency_weight: float = Field(0.20, ge=0, le=1)
    importance_weight: float = Field(0.20, ge=0, le=1)
    frequency_weight: float = Field(0.10, ge=0, le=1)
    type_weight: float = Field(0.15, ge=0, le=1)
    type_bonus: dict[str, float] = {
        "working": 0.3,
        "procedural": 0.2,
        "semantic": 0.0,
        "episodic": 0.0,
    }
    success_boost: float = Field(0.1, ge=0, le=1)
    """Added to importance where the outcome was a success."""
    vector_share: float = Field(0.7, ge=0, le=1)
    """Share of the cosine in relevance; the rest is BM25 scaled to the best of the candidates."""
    candidates: int = Field(50, ge=1)
    """Rows fetched by each of vector and full-text search."""
    default_k: int = Field(10, ge=1)
    duplicate_cosine: float = Field(0.92, ge=0, le=1)
    relevance_floor: dict[str, float] = {}
    """Least relevance to be packed, by model key; score scales differ between models."""
    fresh_rows: int = 2_000
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


class ContextPolicy(_Section):
    """Packing of a context. Shares sum to 1."""

    shares: dict[str, float] = {
        "working": 0.40,
        "semantic": 0.25,
        "episodic": 0.20,
        "procedural": 0.15,
    }
    default_budget_tokens: int = 2_000
    encoding: Literal["o200k_base", "cl100k_base"] = "o200k_base"
    candidates: int = 50
    """Rows recalled for packing."""
    min_summarised_share: float = 0.5
    """A row that does not fit is summarised if what is left is above this part of its tier's share."""
    min_summary_tokens: int = Field(12, ge=1)
    """A summary of fewer tokens says too little to be shown (about one short sentence)."""
    max_chars_per_token: int = Field(8, ge=1)
    """A row longer than this times the tokens left is taken not to fit and is not counted; most of
    packing's time is counting. Prose has 4 to 5 characters a token."""

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> ContextPolicy:
        total = sum(self.shares.values())
        if abs(total - 1.0) > 1e-6 or min(self.shares.values()) < 0:
            raise ValueError(f"the shares of a context sum to {total:.4f}, not 1")
        return self


class PublishPolicy(_Section):
    """The index and its quality gate."""

    keep_generations: int = Field(3, ge=1)
    check_queries: int = Field(50, ge=1)
    min_recall_ratio: float = Field(0.95, ge=0, le=1)
    """recall@10 against exact search on the sample of check_queries."""
    large_scope_rows: int = 20_000
    """A scope above this gets a table of its own with an approximate index."""


class EmbedPolicy(_Section):
    """Portions of embedding work."""

    batch_rows: int = 20_000
    """Rows embedded and committed together."""
    max_text_chars: int = 8_000
    """Text beyond this is not embedded (about the 2,000 tokens a record of the policy)."""


class RunPolicy(_Section):
    """Behaviour of a run beside another one."""

    on_busy: Literal["wait", "decline"] = "decline"
    busy_wait_seconds: float = 600.0
    step_retries: int = Field(2, ge=0)
    """How often a step under Prefect is tried again after a storage or endpoint error."""
    step_retry_seconds: float = Field(30.0, ge=0)
    """Pause before such a try: longer than a short outage, far shorter than a night."""


class Policy(_Section):
    """All of it."""

    ingest: IngestPolicy = IngestPolicy()
    redact: RedactPolicy = RedactPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    trust: TrustPolicy = TrustPolicy()
    retention: RetentionPolicy = RetentionPolicy()
    decay: DecayPolicy = DecayPolicy()
    embed: EmbedPolicy = EmbedPolicy()
    publish: PublishPolicy = PublishPolicy()
    recall: RecallPolicy = RecallPolicy()
    context: ContextPolicy = ContextPolicy()
    run: RunPolicy = RunPolicy()

    def hash(self) -> str:
        """16 hex digits that change with any number of the policy."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
