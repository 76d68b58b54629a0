"""Tables that consolidation derives from episodes; ``transforms.schemas`` gives them out with the others.

Most are revisioned: a change appends a row with the next ``revision`` of its key, a row that is gone
appends one with ``is_removed``. What stands is the highest revision of each key that is not removed.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from transforms.declarations import (
    INSTANT,
    OUTCOMES,
    RETENTION_TIERS,
    SENSITIVITIES,
    TEXTS,
    VECTOR,
    Column,
    Table,
    free_text,
    scope_columns,
)

OPERATIONS = ("ADD", "UPDATE", "DELETE", "NOOP")
CLAIM_SOURCES = ("inferred", "consolidated", "tool_result", "imported", "user_said")
"""Where a claim comes from, weakest first; imported: from the export of another memory store."""
POLARITIES = ("positive", "negative")
SENTIMENTS = ("negative", "neutral", "positive", "mixed")

_OWNER = Column(
    "owner",
    pl.String,
    "Whose it is, and the bound of every derivation: `user:` and the user, where the rows have one, else"
    " `agent:` and the agent",
    is_personal=True,
)
_REVISION = (
    Column("revision", pl.Int32, "1, 2, ... of its key; the highest stands"),
    Column("is_removed", pl.Boolean, "Whether this revision takes the row away"),
)


def _who() -> tuple[Column, ...]:
    """Tenant, bucket, owner, user and agent of a derived row."""
    tenant, bucket, agent, user, session = scope_columns()
    del session
    return tenant, bucket, _OWNER, user, agent


def _session() -> Column:
    return scope_columns()[-1]


def _privacy() -> tuple[Column, ...]:
    return (
        Column("importance", pl.Float32, "0 to 1"),
        Column("trust", pl.Float32, "0 to 1: the least of all it rests on"),
        Column("sensitivity", pl.String, "The most private of all it rests on", allowed=SENSITIVITIES),
    )


_REFS = Column("source_refs", TEXTS, "Episode ids it rests on, sorted", is_personal=True)

CLAIMS = Table(
    "claims",
    "One candidate fact as one extractor read it from one episode. Immutable; facts are folded from them.",
    (
        Column(
            "claim_id", pl.String, "Hash of tenant, episode, extractor and what is claimed", is_personal=True
        ),
        *_who(),
        _session(),
        Column("episode_id", pl.String, "Episode it was read from", is_personal=True),
        Column("extractor", pl.String, "Rules or model, with version"),
        Column("operation", pl.String, "assert, or retract what was claimed", allowed=("assert", "retract")),
        free_text("subject", "Whom or what it is about, as shown; `user` for the speaker"),
        free_text("subject_key", "Normalised subject"),
        Column("predicate", pl.String, "One of `transforms.predicates`"),
        free_text("aspect", "Which seat, drink, limit ...; empty where the predicate has none"),
        free_text("object", "What is claimed, as shown; empty where a retraction names none"),
        free_text("object_key", "Normalised object"),
        Column(
            "polarity",
            pl.String,
            "negative where it is denied: does not like, does not eat",
            allowed=POLARITIES,
        ),
        free_text("fact", "The claim as a sentence"),
        Column("confidence", pl.Float32, "0 to 1, as extracted"),
        *_privacy(),
        Column("source", pl.String, "What kind of evidence", allowed=CLAIM_SOURCES),
        free_text("speaker", "Name of who spoke", is_nullable=True),
        Column("span_start", pl.Int64, "First character of the evidence in the episode's content, from 0"),
        Column("span_end", pl.Int64, "One past its last character"),
        Column("valid_from", INSTANT, "Since when it holds: the time it names, else event_at"),
        Column("valid_until", INSTANT, "Until when, where the text says so", is_nullable=True),
        Column("event_at", INSTANT, "When it was said"),
        Column("recorded_at", INSTANT, "When its episode entered the lake"),
        Column("expires_at", INSTANT, "Expiry its source asked for", is_nullable=True),
    ),
    key=("claim_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "subject_key", "predicate", "event_at", "claim_id"),
)

FACTS = Table(
    "facts",
    "One fact over one span of validity: what the claims of one owner come to. Revisioned.",
    (
        Column("fact_id", pl.String, "Hash of tenant and the claim that opened it", is_personal=True),
        *_who(),
        Column("kind", pl.String, "fact or preference", allowed=("fact", "preference")),
        free_text("fact", "The fact as a sentence"),
        free_text("subject", "Whom or what it is about"),
        free_text("subject_key", "Normalised subject"),
        Column("predicate", pl.String, "One of `transforms.predicates`"),
        free_text("aspect", "Which seat, drink, limit ...; empty where none"),
        free_text("object", "What is claimed"),
        free_text("object_key", "Normalised object"),
        Column(
            "polarity",
            pl.String,
            "negative where it is denied: does not like, does not eat",
            allowed=POLARITIES,
        ),
        Column("confidence", pl.Float32, "0 to 1; rises with each further session that says so"),
        *_privacy(),
        Column("source", pl.String, "What kind of evidence", allowed=CLAIM_SOURCES),
        _REFS,
        Column("claim_ids", TEXTS, "Claims it rests on, by event", is_personal=True),
        Column("span_episode_id", pl.String, "Episode of the phrasing that is shown", is_personal=True),
        Column("span_start", pl.Int64, "First character of it in that episode, from 0"),
        Column("span_end", pl.Int64, "One past its last character"),
        Column("support", pl.Int32, "Claims that say so"),
        Column("session_count", pl.Int32, "Sessions they were made in"),
        Column("supersedes", pl.String, "Fact it replaced", is_nullable=True, is_personal=True),
        Column("superseded_by", pl.String, "Fact that replaced it", is_nullable=True, is_personal=True),
        Column("valid_from", INSTANT, "Since when it holds"),
        Column("valid_until", INSTANT, "First instant at which it no longer holds", is_nullable=True),
        Column("first_mentioned_at", INSTANT, "First claim"),
        Column("last_confirmed_at", INSTANT, "Last claim that says so"),
        Column("recorded_at", INSTANT, "When the lake first held it"),
        Column("retired_at", INSTANT, "When the lake learned that it no longer holds", is_nullable=True),
        Column("retired_reason", pl.String, "superseded, retracted or negated", is_nullable=True),
        Column("is_pinned", pl.Boolean, "Kept whatever its decay"),
        Column("retention_tier", pl.String, "Which TTL", allowed=RETENTION_TIERS),
        Column("expires_at", INSTANT, "Expiry its sources asked for", is_nullable=True),
        *_REVISION,
    ),
    key=("fact_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "subject_key", "predicate", "valid_from", "fact_id"),
)

DECISIONS = Table(
    "decisions",
    "What became of a claim, or why a topic was made, split or merged. Revisioned: the highest stands.",
    (
        Column("item_id", pl.String, "Claim or topic decided on", is_personal=True),
        *_who(),
        Column("item_kind", pl.String, "claim or topic", allowed=("claim", "topic")),
        Column("operation", pl.String, "What was done", allowed=(*OPERATIONS, "SPLIT", "MERGE")),
        Column("reason", pl.String, "Machine-readable reason, snake_case"),
        Column("result_id", pl.String, "Fact or topic it ended in", is_nullable=True, is_personal=True),
        Column(
            "other_id", pl.String, "Fact superseded, or topic merged away", is_nullable=True, is_personal=True
        ),
        free_text("evidence", "JSON: the figures behind it; never content"),
        Column("decided_at", INSTANT, "When the lake held what decided it"),
        *_REVISION,
    ),
    key=("item_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "item_id"),
)

TOPICS = Table(
    "topics",
    "One cluster of an owner's episodes in one vector space. Revisioned.",
    (
        Column("topic_id", pl.String, "Hash of tenant, owner and the first member", is_personal=True),
        *_who(),
        free_text("label", "Distinctive terms, best first", TEXTS),
        Column("size", pl.Int32, "Episodes in it"),
        Column("centroid", VECTOR, "Mean of its members' vectors, not normalised", is_personal=True),
        Column("space", pl.String, "Vector space of the centroid"),
        Column("first_event_at", INSTANT, "Its first episode"),
        Column("last_event_at", INSTANT, "Its last episode"),
        *_REVISION,
    ),
    key=("topic_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "topic_id"),
)

TOPIC_MEMBERS = Table(
    "topic_members",
    "Which topic an episode belongs to. Revisioned.",
    (
        Column("episode_id", pl.String, "The episode", is_personal=True),
        Column("tenant_id", pl.String, "Customer", is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id (partition)"),
        _OWNER,
        Column("topic_id", pl.String, "Its topic; empty while it fits none", is_personal=True),
        *_REVISION,
    ),
    key=("episode_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "topic_id", "episode_id"),
)

SUMMARIES = Table(
    "summaries",
    "One topic's older episodes in a few cited sentences. Revisioned.",
    (
        Column("summary_id", pl.String, "Hash of tenant, owner and topic", is_personal=True),
        *_who(),
        Column("topic_id", pl.String, "Its topic", is_personal=True),
        free_text("text", "What is shown"),
        Column(
            "source_refs",
            TEXTS,
            "Episodes it covers, sorted; those cited stand in the sentences",
            is_personal=True,
        ),
        free_text(
            "sentences",
            "JSON list of {text, role, by, episode_id, sources, event_at, start, end, is_cut, trust,"
            " importance, score, expires_at}: each sentence with its source; start and end are null where"
            " it is no quote",
        ),
        Column("missing_source_count", pl.Int32, "Episodes it covers that the lake no longer holds"),
        Column("method", pl.String, "extractive or model, with version"),
        *_privacy(),
        Column("first_event_at", INSTANT, "Its first episode"),
        Column("last_event_at", INSTANT, "Its last episode"),
        Column("recorded_at", INSTANT, "When the last of its episodes entered the lake"),
        Column("retention_tier", pl.String, "Which TTL", allowed=RETENTION_TIERS),
        Column("expires_at", INSTANT, "First expiry that a quoted source asked for", is_nullable=True),
        *_REVISION,
    ),
    key=("summary_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "topic_id"),
)

CONVERSATIONS = Table(
    "conversations",
    "One session: a title line, its topics, its mood. Revisioned.",
    (
        Column("conversation_id", pl.String, "Hash of tenant, owner and session", is_personal=True),
        *_who(),
        _session(),
        free_text("title", "One line"),
        free_text("topics", "Terms, best first", TEXTS),
        Column("sentiment", pl.Float32, "-1 to 1, of what the user said", is_nullable=True),
        Column("sentiment_label", pl.String, "In a word", is_nullable=True, allowed=SENTIMENTS),
        Column("turn_count", pl.Int32, "Episodes in it"),
        Column("user_turn_count", pl.Int32, "Of these, said by the user"),
        Column("user_chars", pl.Int64, "Characters the user wrote"),
        Column("started_at", INSTANT, "First episode"),
        Column("ended_at", INSTANT, "Last episode"),
        Column("method", pl.String, "rules or model, with version"),
        Column("sensitivity", pl.String, "The most private of its episodes", allowed=SENSITIVITIES),
        *_REVISION,
    ),
    key=("conversation_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "started_at", "conversation_id"),
)

ATTEMPTS = Table(
    "attempts",
    "One try at one task inside one session: the tools in order and how it ended. Revisioned.",
    (
        Column("attempt_id", pl.String, "Hash of tenant, owner, session and first episode", is_personal=True),
        *_who(),
        _session(),
        free_text("task_type", "What was tried"),
        free_text("tool_sequence", "Tools in order, repeats folded", TEXTS),
        Column("outcome", pl.String, "How it ended", is_nullable=True, allowed=OUTCOMES),
        free_text("failure_reason", "Why it failed", is_nullable=True),
        Column("is_transient", pl.Boolean, "Whether it failed for a reason that passes by itself"),
        Column(
            "reward", pl.Float32, "1 success, 0 failure, 0.5 partial, moved by feedback", is_nullable=True
        ),
        Column(
            "feedback",
            pl.String,
            "helpful, wrong or fine",
            is_nullable=True,
            allowed=("helpful", "wrong", "fine"),
        ),
        free_text("fix", "What worked after a failure, where the session says so", is_nullable=True),
        Column(
            "fix_episode_id",
            pl.String,
            "Episode that says the fix, where one was marked as that",
            is_nullable=True,
            is_personal=True,
        ),
        Column("fix_trust", pl.Float32, "Trust of that episode", is_nullable=True),
        Column(
            "fix_sensitivity",
            pl.String,
            "How private that episode is",
            is_nullable=True,
            allowed=SENSITIVITIES,
        ),
        free_text("tags", "Labels of its episodes, sorted", TEXTS),
        *_privacy(),
        _REFS,
        Column("event_at", INSTANT, "Its last episode"),
        *_REVISION,
    ),
    key=("attempt_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "task_type", "event_at", "attempt_id"),
)

PROCEDURES = Table(
    "procedures",
    "One skill, lesson or pattern, counted over attempts or conversations. Revisioned.",
    (
        Column("procedure_id", pl.String, "Hash of tenant, owner, kind and key", is_personal=True),
        *_who(),
        Column("kind", pl.String, "Which", allowed=("procedure", "lesson", "pattern")),
        free_text("trigger", "When to think of it: task type, tag or habit"),
        free_text("tool_sequence", "Tools in order; empty for lessons and patterns", TEXTS),
        free_text("policy", "What it says, as a sentence"),
        Column("success_count", pl.Int32, "Attempts that succeeded"),
        Column("failure_count", pl.Int32, "Attempts that failed, for a reason that lasts"),
        Column("success_rate", pl.Float32, "0 to 1", is_nullable=True),
        Column("average_reward", pl.Float32, "0 to 1", is_nullable=True),
        Column("helpful_count", pl.Int32, "Feedback: helpful"),
        Column("wrong_count", pl.Int32, "Feedback: wrong"),
        Column("fine_count", pl.Int32, "Feedback: fine"),
        Column("is_suggested", pl.Boolean, "Whether it is good enough to be offered"),
        *_privacy(),
        Column(
            "source_refs",
            TEXTS,
            "Episode ids it rests on, sorted; of a pattern, conversation ids",
            is_personal=True,
        ),
        Column("session_count", pl.Int32, "Sessions behind it"),
        Column("first_event_at", INSTANT, "First episode behind it"),
        Column("last_event_at", INSTANT, "Last episode behind it"),
        Column("retention_tier", pl.String, "Which TTL", allowed=RETENTION_TIERS),
        *_REVISION,
    ),
    key=("procedure_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "owner", "kind", "procedure_id"),
)

LINEAGE = Table(
    "lineage",
    "What a derived row rests on; written before the row itself.",
    (
        Column("derived_id", pl.String, "The derived row", is_personal=True),
        Column("derived_kind", pl.String, "Its table"),
        Column("source_id", pl.String, "The episode", is_personal=True),
        Column("tenant_id", pl.String, "Customer", is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id (partition)"),
    ),
    key=("derived_id", "source_id"),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "derived_id", "source_id"),
)

MODEL_RESULTS = Table(
    "model_results",
    "One answer of a language model to one request of one tenant: asked once, kept.",
    (
        Column("result_id", pl.String, "Hash of tenant, model, prompt version and request", is_personal=True),
        Column("tenant_id", pl.String, "Customer", is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id (partition)"),
        Column(
            "owner",
            pl.String,
            "Whose text it was shown; null where that is not known",
            is_nullable=True,
            is_personal=True,
        ),
        Column("task", pl.String, "claims, summary or conversation"),
        Column("model_key", pl.String, "Model and endpoint settings that change answers"),
        Column("prompt_version", pl.String, "Of the prompt and the answer's schema"),
        Column("source_refs", TEXTS, "Episodes it was shown", is_personal=True),
        free_text("answer", "What the model wrote, whole or cut; empty where it failed"),
        Column("error", pl.String, "Why there is none", is_nullable=True),
        Column("input_tokens", pl.Int64, "Tokens sent"),
        Column("output_tokens", pl.Int64, "Tokens received"),
        Column("answered_at", INSTANT, "When"),
    ),
    key=("result_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "result_id"),
)

DERIVED: Sequence[Table] = (
    CLAIMS,
    FACTS,
    DECISIONS,
    TOPICS,
    TOPIC_MEMBERS,
    SUMMARIES,
    CONVERSATIONS,
    ATTEMPTS,
    PROCEDURES,
    LINEAGE,
    MODEL_RESULTS,
)
