"""The one home of every table: columns, units, keys, partitions, personal data.

Arrow, Polars, Delta and empty-frame forms, and the tables in ``docs/tables.md``, derive from
the declarations here and, for what consolidation derives, in ``transforms.derived``. All instants are
UTC microseconds. Ids are 32 lower-case hex digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from transforms.declarations import (
    INSTANT,
    KINDS,
    OUTCOMES,
    RETENTION_TIERS,
    SENSITIVITIES,
    TEXTS,
    VECTOR,
    Column,
    Table,
    fact_columns,
    free_text,
    scope_columns,
)
from transforms.derived import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    DERIVED,
    FACTS,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
)
from transforms.ledgers import COSTS, LEDGERS, METRICS
from transforms.rights_tables import COLD_COLUMN, FORGOTTEN, RECALLS, REMOVALS, REQUESTS, RIGHTS

__all__ = [
    "ATTEMPTS",
    "CLAIMS",
    "COLD",
    "CONVERSATIONS",
    "COSTS",
    "DECISIONS",
    "DERIVED",
    "DRAFTS",
    "EPISODES",
    "FACTS",
    "FORGOTTEN",
    "INSTANT",
    "KINDS",
    "LINEAGE",
    "MEMORIES",
    "METRICS",
    "MODEL_RESULTS",
    "OUTCOMES",
    "PROCEDURES",
    "QUARANTINE",
    "RECALLS",
    "REFUSALS",
    "REMOVALS",
    "REQUESTS",
    "RETENTION_TIERS",
    "RIGHTS",
    "RUNS",
    "SENSITIVITIES",
    "STORED",
    "SUMMARIES",
    "TEXTS",
    "TOPICS",
    "TOPIC_MEMBERS",
    "VECTOR",
    "VECTORS",
    "Column",
    "Table",
]

EPISODES = Table(
    "episodes",
    "One event: conversation turn, action, observation, outcome or summary. Immutable.",
    (
        Column("episode_id", pl.String, "Hash of tenant and natural key", is_personal=True),
        *scope_columns(),
        Column("month", pl.String, "Month of event_at, YYYY-MM (partition)"),
        Column("kind", pl.String, "What happened", allowed=KINDS),
        Column("role", pl.String, "user, assistant, tool, system or other", is_nullable=True),
        free_text("speaker", "Name of who spoke", is_nullable=True),
        free_text("content", "Redacted text"),
        Column("content_hash", pl.String, "Hash of tenant and normalised redacted text", is_personal=True),
        Column("content_chars", pl.Int64, "Length of content, code points"),
        free_text("tool_name", "Tool called", is_nullable=True),
        free_text("tool_arguments", "JSON", is_nullable=True),
        Column("steps", pl.Int32, "Steps the event took", is_nullable=True),
        Column("outcome", pl.String, "How it ended", is_nullable=True, allowed=OUTCOMES),
        free_text("failure_reason", "Why it failed", is_nullable=True),
        free_text("feedback", "What the user said of it", is_nullable=True),
        free_text("tags", "Labels from the source", TEXTS),
        Column("importance", pl.Float32, "0 to 1"),
        Column("sensitivity", pl.String, "How private", allowed=SENSITIVITIES),
        Column("redactions", TEXTS, "Kinds of secrets and PII found; taken out unless the policy keeps them"),
        Column("is_injected", pl.Boolean, "Recalled, injected or imported context: not read, not served"),
        Column("trust", pl.Float32, "0 to 1: user 1.0, assistant 0.7, tool and web 0.4"),
        Column("source", pl.String, "Input format"),
        free_text("source_file", "File name it came from", is_nullable=True),
        Column("source_line", pl.Int64, "Line or item number in it, from 1", is_nullable=True),
        Column(
            "parent_id",
            pl.String,
            "Source's id of the parent; of a shared copy, ids of the memory and of what that rests on",
            is_nullable=True,
            is_personal=True,
        ),
        Column("turn_index", pl.Int64, "Position inside the session", is_nullable=True),
        Column("retention_tier", pl.String, "Which TTL", allowed=RETENTION_TIERS),
        Column("expires_at", INSTANT, "Expiry the source asked for", is_nullable=True),
        Column("event_at", INSTANT, "When it happened; every TTL counts from here"),
        Column("ingested_at", INSTANT, "When it entered the lake"),
        free_text("metadata", "JSON of unknown source fields", is_nullable=True),
    ),
    key=("episode_id",),
    partition_by=("tenant_bucket", "month"),
    sort_by=("tenant_id", "user_id", "event_at", "episode_id"),
)

COLD = Table(
    "cold",
    "One episode kept apart: compressed, out of the index and of every night, readable on request.",
    (*EPISODES.columns, COLD_COLUMN),
    key=EPISODES.key,
    partition_by=EPISODES.partition_by,
    sort_by=EPISODES.sort_by,
)

VECTORS = Table(
    "vectors",
    "One embedding of one text of one tenant by one model.",
    (
        Column("tenant_id", pl.String, "Customer", is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id (partition)"),
        Column("text_hash", pl.String, "Hash of tenant and the embedded text", is_personal=True),
        Column("model_key", pl.String, "model @ revision / dimensions, and text form"),
        Column("dimensions", pl.Int32, "Length of vector"),
        Column("vector", VECTOR, "L2-normalised", is_personal=True),
        Column("embedded_at", INSTANT, "When"),
    ),
    key=("tenant_id", "text_hash", "model_key"),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "text_hash"),
)

QUARANTINE = Table(
    "quarantine",
    "One refused input row, with the reason and where it came from.",
    (
        Column("quarantine_id", pl.String, "Hash of reason, place and raw text", is_personal=True),
        Column("tenant_id", pl.String, "Customer, where known", is_nullable=True, is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id (partition)"),
        Column("user_id", pl.String, "Person, where known", is_nullable=True, is_personal=True),
        Column("reason", pl.String, "Machine-readable reason"),
        Column("detail", pl.String, "One sentence for a person; never content", is_nullable=True),
        free_text("raw", "The row, redacted"),
        Column("source", pl.String, "Input format", is_nullable=True),
        free_text("source_file", "File it came from", is_nullable=True),
        Column("source_line", pl.Int64, "Line or item number, from 1", is_nullable=True),
        Column("retry_count", pl.Int32, "How often it was tried again"),
        Column("quarantined_at", INSTANT, "When"),
    ),
    key=("quarantine_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "quarantine_id"),
)

RUNS = Table(
    "runs",
    "One ledger row a step of a run.",
    (
        Column("run_id", pl.String, "Hash of step, as-of and start"),
        Column("step", pl.String, "ingest, embed, publish, nightly"),
        Column("state", pl.String, "done, unchanged or failed"),
        Column("as_of_at", INSTANT, "The instant the run reasoned at"),
        Column("started_at", INSTANT, "When"),
        Column("rows_in", pl.Int64, "Rows read"),
        Column("rows_out", pl.Int64, "Rows written"),
        Column("rejected", pl.Int64, "Rows quarantined or refused"),
        Column("duplicates", pl.Int64, "Rows already held"),
        Column("versions_read", pl.String, "JSON: table -> lake version read"),
        Column("versions_written", pl.String, "JSON: table -> lake version written"),
        Column("policy_hash", pl.String, "Hash of the policy in force"),
        Column("model_key", pl.String, "Embedding model", is_nullable=True),
        Column("tokens", pl.Int64, "Tokens sent to a model endpoint"),
        Column("seconds", pl.Float64, "Wall time"),
        Column("peak_bytes", pl.Int64, "Peak resident memory of the process"),
        Column("generation", pl.String, "Index generation published", is_nullable=True),
        Column("error", pl.String, "Error code", is_nullable=True),
    ),
    key=("run_id",),
)

MEMORIES = Table(
    "memories",
    "One row of the published index: what recall reads.",
    (
        Column(
            "memory_id", pl.String, "Id of the episode (later: fact, procedure) it shows", is_personal=True
        ),
        Column("tenant_id", pl.String, "Customer", is_personal=True),
        Column("user_id", pl.String, "Person", is_nullable=True, is_personal=True),
        Column("agent_id", pl.String, "Agent", is_nullable=True, is_personal=True),
        Column("session_id", pl.String, "Conversation or run", is_nullable=True, is_personal=True),
        Column("kind", pl.String, "conversation, action, observation, outcome, summary, ..."),
        Column("tier", pl.String, "working, episodic, semantic or procedural"),
        Column("role", pl.String, "Who", is_nullable=True),
        Column("speaker", pl.String, "Name of who spoke", is_nullable=True, is_personal=True),
        Column("text", pl.String, "What is shown", is_personal=True),
        Column("search_text", pl.String, "What full-text search reads", is_personal=True),
        Column("content_hash", pl.String, "For near-duplicate removal", is_personal=True),
        Column("outcome", pl.String, "How it ended", is_nullable=True),
        Column("failure_reason", pl.String, "Why it failed", is_nullable=True, is_personal=True),
        Column("importance", pl.Float32, "0 to 1"),
        Column("access_count", pl.Int32, "Recalls folded in"),
        Column("sensitivity", pl.String, "normal, personal or restricted"),
        Column("trust", pl.Float32, "0 to 1"),
        Column("source_refs", TEXTS, "Episode ids it rests on"),
        Column("event_at", INSTANT, "When it happened"),
        Column("last_accessed_at", INSTANT, "Last recall, else event_at"),
        Column("expires_at", INSTANT, "First instant at which it is no longer served", is_nullable=True),
        Column("vector", VECTOR, "L2-normalised embedding of one model"),
        *fact_columns(),
    ),
    key=("memory_id",),
    sort_by=("tenant_id", "user_id", "event_at", "memory_id"),
)

DRAFTS = Table(
    "drafts",
    "What a reader hands over: one untrusted row, not yet validated. Not stored.",
    (
        Column("natural_id", pl.String, "The source's own id of the row", is_nullable=True),
        Column("tenant_id", pl.String, "Null: take the caller's default", is_nullable=True),
        Column("agent_id", pl.String, "Null: take the caller's default", is_nullable=True),
        Column("user_id", pl.String, "Null: take the caller's default", is_nullable=True),
        Column("session_id", pl.String, "Null: take the caller's default", is_nullable=True),
        Column("kind", pl.String, "Null: from role", is_nullable=True),
        Column("role", pl.String, "As in the source", is_nullable=True),
        Column("speaker", pl.String, "Name of who spoke", is_nullable=True),
        Column("content", pl.String, "Text, unredacted", is_nullable=True),
        Column("tool_name", pl.String, "Tool called", is_nullable=True),
        Column("tool_arguments", pl.String, "JSON", is_nullable=True),
        Column("steps", pl.Int32, "Steps the event took", is_nullable=True),
        Column("outcome", pl.String, "success, failure or partial", is_nullable=True),
        Column("failure_reason", pl.String, "Why it failed", is_nullable=True),
        Column("feedback", pl.String, "What the user said of it", is_nullable=True),
        Column("tags", TEXTS, "Labels", is_nullable=True),
        Column("importance", pl.Float64, "0 to 1; null: by rule", is_nullable=True),
        Column("retention_tier", pl.String, "Null: the policy's default", is_nullable=True),
        Column("event_at", pl.String, "ISO 8601; naive needs the caller's zone", is_nullable=True),
        Column("expires_at", pl.String, "ISO 8601", is_nullable=True),
        Column("parent_id", pl.String, "The source's id of the parent", is_nullable=True),
        Column("turn_index", pl.Int64, "Position inside the session", is_nullable=True),
        Column("is_injected", pl.Boolean, "Recalled or injected context", is_nullable=True),
        Column("metadata", pl.String, "JSON of unknown fields", is_nullable=True),
        Column("source_file", pl.String, "File name", is_nullable=True),
        Column("source_line", pl.Int64, "Line or item number, from 1", is_nullable=True),
        Column("exported", pl.String, "JSON of the episode that an export has it from", is_nullable=True),
    ),
    key=(),
)

REFUSALS = Table(
    "refusals",
    "An input row that could not be read or may not land. Not stored; becomes quarantine.",
    (
        Column("reason", pl.String, "Machine-readable reason, snake_case"),
        Column("detail", pl.String, "One sentence for a person; never content", is_nullable=True),
        Column("raw", pl.String, "The row as text, unredacted"),
        Column("tenant_id", pl.String, "Customer, where known", is_nullable=True),
        Column("user_id", pl.String, "Person, where known", is_nullable=True),
        Column("source_file", pl.String, "File name", is_nullable=True),
        Column("source_line", pl.Int64, "Line or item number, from 1", is_nullable=True),
    ),
    key=(),
)

STORED: Sequence[Table] = (EPISODES, VECTORS, QUARANTINE, RUNS, *DERIVED, COLD, *RIGHTS, *LEDGERS)
