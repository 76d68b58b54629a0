"""Every default number, in one frozen object; ``slowwave.toml`` overrides any of it.

No transform holds a literal of its own. Each field names its unit and is bounded, so a number that no
run could use is refused when it is read. ``None`` is never; TOML has no null, so a file says ``"never"``
for a lifetime (``retention.*_seconds``) or a half-life.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from transforms.policy_entries import (
    CENTURY_SECONDS,
    Instant,
    KeptKind,
    Kind,
    Name,
    Section,
    Share,
)
from transforms.policy_health import HealthPolicy
from transforms.policy_metrics import MetricsPolicy
from transforms.policy_plan import PlanPolicy
from transforms.policy_recall import (
    ContextPolicy,
    RecallLogPolicy,
    RecallPolicy,
    RoutingPolicy,
    SharingPolicy,
    WorkingPolicy,
)
from transforms.policy_retention import (
    CapacityPolicy,
    ColdPolicy,
    DecayPolicy,
    RetentionPolicy,
    RightsPolicy,
    StalenessPolicy,
)
from transforms.policy_sleep import (
    ClaimsPolicy,
    ConversationsPolicy,
    FactsPolicy,
    SkillsPolicy,
    SummariesPolicy,
    TopicsPolicy,
)
from transforms.policy_tune import TunePolicy
from transforms.policy_upkeep import UpkeepPolicy


class IngestPolicy(Section):
    """What may land, and in what portions."""

    min_event_at: Instant = datetime(2000, 1, 1, tzinfo=UTC)
    """Earliest believable event; anything before is a clock or unit error."""
    max_future_seconds: int = Field(86_400, ge=0, le=CENTURY_SECONDS)
    """How far after as-of an event may lie (clock skew, time zones)."""
    max_content_chars: int = Field(1_000_000, ge=1, le=1_000_000_000)
    """A longer message is quarantined whole."""
    max_id_chars: int = Field(512, ge=1, le=65_536)
    """Longest tenant, user, agent or session id."""
    batch_rows: int = Field(20_000, ge=1, le=10_000_000)
    """Rows a reader hands over at once."""
    batch_bytes: int = Field(64_000_000, ge=1, le=1_000_000_000_000)
    """Source bytes a reader hands over at once."""
    max_expansion_ratio: int = Field(200, ge=1, le=1_000_000)
    """Unpacked bytes over packed bytes of a .gz, .zst or zip member; more is taken for a bomb."""
    expansion_free_bytes: int = Field(256_000_000, ge=0, le=1_000_000_000_000_000)
    """Up to this unpacked size any ratio passes: small repetitive files pack very well."""
    sniff_bytes: int = Field(262_144, ge=4_096, le=1_000_000_000)
    """First bytes of a source that its format is told from."""
    max_reason_chars: int = Field(500, ge=1, le=1_000_000)
    """Longest failure_reason taken from the text of a failed tool call."""
    commit_rows: int = Field(150_000, ge=1, le=100_000_000)
    """Rows of one lake commit: more means fewer files, and more memory (about 1 KB a row)."""
    commit_bytes: int = Field(400_000_000, ge=1, le=1_000_000_000_000)
    """Bytes of one lake commit, of its rows or of a file read for it: long texts fill the memory, and spans
    tell few rows, long before there are commit_rows of them."""
    vacuum_after_hours: int = Field(24, ge=0, le=87_600)
    """Superseded files are kept this long, for readers that still hold an old version."""


class RedactPolicy(Section):
    """What is taken out before anything is stored, embedded or logged."""

    is_enabled: bool = True
    keep_kinds: tuple[KeptKind, ...] = Field((), strict=False)
    """Kinds left in place, such as ``email``; a tenant opts in here. Kinds of credentials cannot be kept."""
    keep_restricted_tenants: tuple[Name, ...] = Field((), strict=False)
    """Tenants whose payment and government ids stay readable. Credentials never do."""


class ImportancePolicy(Section):
    """Rule weights of importance, 0 to 1; a source's own value wins."""

    by_kind: dict[Kind, Share] = {
        "conversation": 0.4,
        "action": 0.4,
        "observation": 0.3,
        "outcome": 0.6,
        "summary": 0.6,
    }
    small_talk: float = Field(0.1, ge=0, le=1)
    preference_boost: float = Field(0.2, ge=0, le=1)
    decision_boost: float = Field(0.2, ge=0, le=1)
    failure_boost: float = Field(0.1, ge=0, le=1)
    success_boost: float = Field(0.1, ge=0, le=1)
    feedback_boost: float = Field(0.2, ge=0, le=1)

    @field_validator("by_kind")
    @classmethod
    def _has_the_fallback(cls, values: dict[str, float]) -> dict[str, float]:
        if "conversation" not in values:
            raise PydanticCustomError(
                "missing_kind", "Input should hold conversation, the fallback of others"
            )
        return values


class TrustPolicy(Section):
    """Trust by role, 0 to 1 (policies: tool and web content enters at most at 0.4)."""

    user: float = Field(1.0, ge=0, le=1)
    assistant: float = Field(0.7, ge=0, le=1)
    system: float = Field(0.7, ge=0, le=1)
    tool: float = Field(0.4, ge=0, le=1)
    other: float = Field(0.4, ge=0, le=1)


class PublishPolicy(Section):
    """The index and its quality gate."""

    keep_generations: int = Field(3, ge=1, le=1_000)
    check_queries: int = Field(50, ge=1, le=10_000)
    min_recall_ratio: float = Field(0.95, ge=0, le=1)
    """recall@10 against exact search on the sample of check_queries."""
    min_vector_ratio: float = Field(0.99, ge=0, le=1)
    """Least share of published rows that have a vector; more without one were never embedded."""
    bare_rows_allowed: int = Field(10, ge=0, le=1_000_000_000)
    """So many rows without a vector pass whatever their share; none with one passes only at ratio 0."""
    large_scope_rows: int = Field(20_000, ge=1, le=1_000_000_000)
    """A scope above this gets a table of its own with an approximate index."""
    rebuild_above_ratio: float = Field(0.2, ge=0, le=1)
    """Share of rows appended since the index was built whole; above it publish builds it whole again."""
    hidden_days: float = Field(7.0, ge=0, le=3_650)
    """Longest that rows which went may stay in the live index's files, hidden from every search; 0 builds
    the index whole each time. Erasure does not wait for it."""


class EmbedPolicy(Section):
    """Portions of embedding work."""

    batch_rows: int = Field(20_000, ge=1, le=10_000_000)
    """Rows embedded and committed together."""
    max_text_chars: int = Field(8_000, ge=1, le=1_000_000)
    """Text beyond this is not embedded (about the 2,000 tokens a record of the policy)."""


class RunPolicy(Section):
    """Behaviour of a run beside another one."""

    on_busy: Literal["wait", "decline"] = "decline"
    busy_wait_seconds: float = Field(600.0, ge=0, le=604_800)
    step_retries: int = Field(2, ge=0, le=100)
    """How often a step under Prefect is tried again after a storage or endpoint error."""
    step_retry_seconds: float = Field(30.0, ge=0, le=86_400)
    """Pause before such a try: longer than a short outage, far shorter than a night."""
    progress_seconds: float = Field(30.0, ge=0.1, le=86_400)
    """Between two log lines, or two updates in Prefect, of a step that takes long."""


class Policy(BaseModel):
    """All of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ingest: IngestPolicy = IngestPolicy()
    redact: RedactPolicy = RedactPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    trust: TrustPolicy = TrustPolicy()
    retention: RetentionPolicy = RetentionPolicy()
    decay: DecayPolicy = DecayPolicy()
    staleness: StalenessPolicy = StalenessPolicy()
    capacity: CapacityPolicy = CapacityPolicy()
    cold: ColdPolicy = ColdPolicy()
    rights: RightsPolicy = RightsPolicy()
    embed: EmbedPolicy = EmbedPolicy()
    topics: TopicsPolicy = TopicsPolicy()
    summaries: SummariesPolicy = SummariesPolicy()
    claims: ClaimsPolicy = ClaimsPolicy()
    facts: FactsPolicy = FactsPolicy()
    conversations: ConversationsPolicy = ConversationsPolicy()
    skills: SkillsPolicy = SkillsPolicy()
    publish: PublishPolicy = PublishPolicy()
    recall: RecallPolicy = RecallPolicy()
    context: ContextPolicy = ContextPolicy()
    routing: RoutingPolicy = RoutingPolicy()
    working: WorkingPolicy = WorkingPolicy()
    sharing: SharingPolicy = SharingPolicy()
    recall_log: RecallLogPolicy = RecallLogPolicy()
    tune: TunePolicy = TunePolicy()
    upkeep: UpkeepPolicy = UpkeepPolicy()
    health: HealthPolicy = HealthPolicy()
    metrics: MetricsPolicy = MetricsPolicy()
    plan: PlanPolicy = PlanPolicy()
    run: RunPolicy = RunPolicy()

    def hash(self) -> str:
        """16 hex digits that change with any number of the policy."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
