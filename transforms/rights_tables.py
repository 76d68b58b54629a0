"""Tables of forgetting and of people's rights; ``transforms.schemas`` gives them out with the others."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from transforms.declarations import INSTANT, RETENTION_TIERS, Column, Table, free_text, scope_columns
from transforms.subjects import SUBJECT_KINDS

REQUEST_KINDS = (
    "erase",
    "export",
    "correct",
    "pin",
    "unpin",
    "forbid_topic",
    "allow_topic",
    "opt_out",
    "opt_in",
    "period",
    "hold",
    "release",
)
REQUEST_STATES = ("open", "held", "failed", "done")
"""``held``: done but for rows under legal hold; ``failed``: tried, and tried again with the next night."""
REQUESTERS = ("subject", "controller", "authority", "operator")
REMOVAL_REASONS = ("expired", "stale", "decayed", "over_capacity", "forbidden_topic", "cold", "orphaned")

RECALL_VERBS = ("search", "context", "restore")
"""What a recalled row was an answer to; ``restore`` is somebody bringing cold episodes back."""

RECALLS = Table(
    "recalls",
    "One candidate of one call, returned or not: the trace that decay folds in and that tuning replays."
    " A call that found nothing is one row of rank 0 without a memory.",
    (
        Column("call_id", pl.String, "One call of search or context", is_personal=True),
        *scope_columns(),
        Column("month", pl.String, "Month of recalled_at, YYYY-MM (partition)"),
        Column("memory_id", pl.String, "What was recalled; empty: nothing", is_personal=True),
        Column("kind", pl.String, "Kind of the memory"),
        Column("tier", pl.String, "Tier of the memory"),
        Column("outcome", pl.String, "Outcome of the memory", is_nullable=True),
        free_text("query", "What was asked, redacted"),
        Column("verb", pl.String, "What was called", allowed=RECALL_VERBS),
        Column("route", pl.String, "How the query was read"),
        Column("rank", pl.Int32, "1 is best; 0 of no memory"),
        Column("score", pl.Float64, "Weighted sum of the factors, 0 to 1"),
        Column("relevance", pl.Float64, "Factor, 0 to 1"),
        Column("recency", pl.Float64, "Factor, 0 to 1"),
        Column("importance", pl.Float64, "Factor, 0 to 1"),
        Column("frequency", pl.Float64, "Factor, 0 to 1"),
        Column("type", pl.Float64, "Factor, 0 to 1"),
        Column("closeness", pl.Float64, "What the factors but relevance are multiplied by, 0 to 1"),
        Column("cosine", pl.Float64, "Of the memory's vector to the query's", is_nullable=True),
        Column("word_match", pl.Float64, "BM25 of the memory's words", is_nullable=True),
        Column("memory_importance", pl.Float64, "Importance of the memory, before any boost"),
        Column("access_count", pl.Int64, "Recalls of the memory that were folded in by then"),
        Column("last_accessed_at", INSTANT, "Its last access that was folded in by then, or event_at"),
        Column("event_at", INSTANT, "When what the memory tells of happened"),
        Column("tokens", pl.Int32, "Tokens of the memory", is_nullable=True),
        Column("is_returned", pl.Boolean, "Whether the caller was given it; of a context, packed rows only"),
        Column("is_packed", pl.Boolean, "Whether it went into a context"),
        Column("is_used", pl.Boolean, "Whether the agent says it used it", is_nullable=True),
        Column("weighting", pl.String, "Preset of the weights, or own: and the five numbers"),
        Column("policy_hash", pl.String, "Policy of the reader"),
        Column("seconds", pl.Float64, "From the call to its answer; null: not measured", is_nullable=True),
        Column("budget_tokens", pl.Int32, "Room of a context; null for a search", is_nullable=True),
        Column("generation", pl.String, "Live generation that was searched", is_nullable=True),
        Column("recalled_at", INSTANT, "When, and the instant that the factors are as of"),
    ),
    key=("call_id", "memory_id"),
    partition_by=("tenant_bucket", "month"),
    sort_by=("tenant_id", "user_id", "recalled_at", "call_id", "rank"),
)

RECALL_CALLS = Table(
    "recall_calls",
    "One call as it waits in a segment of the log; no table of the lake, but text that is sealed like one.",
    (
        Column("call_id", pl.String, "One call of search or context", is_personal=True),
        *scope_columns(),
        free_text("query", "What was asked, redacted"),
    ),
    key=("call_id",),
)

FORGOTTEN = Table(
    "forgotten",
    "One episode that retention took out of the lake: ids and instants, never content. What was derived of"
    " it stands until its own time.",
    (
        Column("episode_id", pl.String, "The episode", is_personal=True),
        *scope_columns(),
        Column("reason", pl.String, "Why", allowed=REMOVAL_REASONS),
        Column("retention_tier", pl.String, "Its TTL", allowed=RETENTION_TIERS),
        Column("event_at", INSTANT, "When it happened"),
        Column("due_at", INSTANT, "When it was due to go"),
        Column("removed_at", INSTANT, "When it went"),
    ),
    key=("episode_id",),
    partition_by=("tenant_bucket",),
    sort_by=("tenant_id", "user_id", "event_at", "episode_id"),
)

COLD_COLUMN = Column("cooled_at", INSTANT, "When it left the tables that nights read")

REMOVALS = Table(
    "removals",
    "The ledger of retention: one row a run, tenant, table, tier and reason. Counts only.",
    (
        Column("run_id", pl.String, "Run of retain"),
        Column("as_of_at", INSTANT, "The instant the run reasoned at"),
        Column("tenant_hash", pl.String, "Salted hash of the tenant"),
        Column("table", pl.String, "Where the rows stood"),
        Column("tier", pl.String, "Retention tier; empty where the table has none"),
        Column("reason", pl.String, "Why", allowed=REMOVAL_REASONS),
        Column("rows_due", pl.Int64, "Rows that were due"),
        Column("rows_removed", pl.Int64, "Rows that went"),
        Column("rows_held", pl.Int64, "Rows kept under legal hold"),
        Column("rows_waiting", pl.Int64, "Rows that wait for their summary"),
        Column("rows_late", pl.Int64, "Of those that went: later than the grace period after they were due"),
        Column("oldest_due_at", INSTANT, "First instant at which one of them was due", is_nullable=True),
    ),
    key=("run_id", "tenant_hash", "tier", "reason", "table"),
)

REQUESTS = Table(
    "requests",
    "One request of a person, a controller or an authority. Append-only: the highest revision stands.",
    (
        Column("request_id", pl.String, "Random id"),
        Column("kind", pl.String, "What is asked for", allowed=REQUEST_KINDS),
        Column("subject_kind", pl.String, "About what", allowed=SUBJECT_KINDS),
        Column("subject_hash", pl.String, "Salted hash of the subject"),
        Column("tenant_hash", pl.String, "Salted hash of its tenant"),
        Column("basis", pl.String, "Legal basis, from a closed list or as given"),
        Column("requested_by", pl.String, "Who asked", allowed=REQUESTERS),
        Column("requested_at", INSTANT, "When"),
        Column("due_at", INSTANT, "By when it must be done"),
        Column("state", pl.String, "Where it stands", allowed=REQUEST_STATES),
        Column("closed_at", INSTANT, "When it was done", is_nullable=True),
        Column("evidence", pl.String, "JSON: counts, hashes and error codes; never content"),
        Column("revision", pl.Int32, "1, 2, ... of the request; the highest stands"),
        Column("is_removed", pl.Boolean, "Always false: a request is never taken away"),
    ),
    key=("request_id",),
)

RIGHTS: Sequence[Table] = (RECALLS, FORGOTTEN, REMOVALS, REQUESTS)
