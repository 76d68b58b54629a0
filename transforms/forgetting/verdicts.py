"""What becomes of rows other than episodes at an instant: derived rows, traces, refused rows, answers."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from transforms import retention
from transforms.facts.belief import current
from transforms.forgetting.access import with_access
from transforms.forgetting.among import among
from transforms.forgetting.capacity import over_capacity
from transforms.forgetting.due import Wishes
from transforms.forgetting.score import scored
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    INSTANT,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    SUMMARIES,
    Table,
)
from transforms.standing import is_held

SINCE = {
    FACTS.name: "last_confirmed_at",
    SUMMARIES.name: "last_event_at",
    PROCEDURES.name: "last_event_at",
    CONVERSATIONS.name: "ended_at",
    ATTEMPTS.name: "event_at",
}
"""From when on a derived row lives."""
KEYS = {EPISODES.name: "episode_id"} | {
    table.name: table.key[0] for table in (FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS)
}
IS_SERVED = {
    EPISODES.name: ~pl.col("is_injected"),
    FACTS.name: pl.col("retired_at").is_null(),
    PROCEDURES.name: (pl.col("kind") != "procedure") | pl.col("is_suggested"),
}
"""Which rows of a table can be recalled, where not all of them can."""
STATES = ("stays", "goes", "held", "waiting")
_SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
_SLOT = ["tenant_id", "owner", "subject_key", "predicate", "aspect"]
_AFTER_ALL = datetime(9000, 1, 1, tzinfo=UTC)


def dated(rows: pl.DataFrame, table: Table, policy: Policy, wishes: Wishes) -> pl.DataFrame:
    """Derived rows with ``event_at``, ``kind``, ``retention_tier`` and their effective ``expires_at``."""
    tiers = {
        CONVERSATIONS.name: policy.retention.conversations_tier,
        ATTEMPTS.name: policy.retention.attempts_tier,
    }
    given = {
        "kind": pl.lit("summary" if table is SUMMARIES else "conversation"),
        "retention_tier": pl.lit(tiers.get(table.name)),
        "expires_at": pl.lit(None, INSTANT),
        "session_id": pl.lit(None, pl.String),
    }
    missing = {name: value for name, value in given.items() if name not in rows.columns}
    shaped = rows.with_columns(event_at=SINCE[table.name], **missing)
    due = retention.expiry_expr(policy.retention, wishes.periods, wishes.pins, key=table.key[0])
    return shaped.with_columns(due, is_pinned=retention.is_pinned(wishes.pins, table.key[0]))


def judged_rows(
    rows: pl.DataFrame,
    as_of: datetime,
    wishes: Wishes,
    *,
    key: str | None = None,
    is_forbidden: pl.Series | None = None,
    held_refs: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Rows with ``reason``, ``due_at``, ``next_at`` and ``state``, by their expiry and forbidden topics.

    Args:
        rows: ``expires_at``, and the scope columns as far as the table has them.
        as_of: The instant.
        wishes: Holds.
        key: Column with the row's own id, for holds on one memory.
        is_forbidden: By row, whether it mentions a topic that its person has forbidden.
        held_refs: ``episode_id`` of episodes under hold: what rests on one, by ``source_refs``, is held.
    """
    now = retention.instant(as_of)
    scope = {name: pl.lit(None, pl.String) for name in _SCOPE if name not in rows.columns}
    forbidden = pl.lit(False) if is_forbidden is None else pl.lit(is_forbidden)
    held = is_held(wishes.holds, key)
    if held_refs is not None and held_refs.height and "source_refs" in rows.columns:
        refs = pl.lit(held_refs["episode_id"].implode())
        held = held | (pl.col("source_refs").list.set_intersection(refs).list.len() > 0)
    marked = rows.with_columns(**scope).with_columns(
        is_held=held.fill_null(False),
        reason=pl.when(forbidden)
        .then(pl.lit("forbidden_topic"))
        .when(pl.col("expires_at") <= now)
        .then(pl.lit("expired")),
        next_at=pl.when(pl.col("expires_at") > now).then("expires_at"),
    )
    due = pl.when(pl.col("reason") == "expired").then("expires_at").when(pl.col("reason").is_not_null())
    return stated(marked.with_columns(due_at=due.then(now)))


def stated(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with ``state``: ``stays``, ``goes`` or ``held``."""
    state = pl.when(pl.col("reason").is_null()).then(pl.lit("stays"))
    return rows.with_columns(state=state.when("is_held").then(pl.lit("held")).otherwise(pl.lit("goes")))


def evicted(rows: pl.DataFrame, gone: pl.DataFrame, key: str, as_of: datetime) -> pl.DataFrame:
    """Judged rows, where those that ``gone`` names by the key go for want of room."""
    over = pl.col("reason").is_null() & pl.col(key).is_in(gone[key].implode())
    state = pl.when("is_held").then(pl.lit("held")).otherwise(pl.lit("goes"))
    return rows.with_columns(
        reason=pl.when(over).then(pl.lit("over_capacity")).otherwise("reason"),
        due_at=pl.when(over).then(retention.instant(as_of)).otherwise("due_at"),
        state=pl.when(over).then(state).otherwise("state"),
    )


def surplus_rows(judged: dict[str, pl.DataFrame], policy: Policy) -> dict[str, pl.DataFrame]:
    """Rows that an owner has too many of, of all kinds together that can be recalled.

    Args:
        judged: Judged and scored rows by table.
        policy: Section capacity.

    Returns:
        By table, its key column alone.
    """
    columns = ("tenant_id", "owner", "score", "is_pinned", "event_at")
    parts = []
    for name, rows in judged.items():
        served = rows.filter(pl.col("reason").is_null() & IS_SERVED.get(name, pl.lit(True)))
        parts.append(served.select(*columns, table=pl.lit(name), id=pl.col(KEYS[name])))
    over = over_capacity(pl.concat(parts), policy.capacity.indexed_rows, "id")
    return {n: over.filter(pl.col("table") == n).select(pl.col("id").alias(KEYS[n])) for n in judged}


def with_scores(
    rows: pl.DataFrame, access: pl.LazyFrame | None, key: str, policy: Policy, as_of: datetime
) -> pl.DataFrame:
    """Derived rows with accesses and their retention ``score``."""
    found = with_access(rows.lazy(), access, key)
    return scored(found, policy.decay, as_of).drop("forgotten_at").collect()


def surplus_facts(facts: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Facts that an owner has too many of, with what they had replaced.

    Only facts that hold are counted. With one that goes, the retired ones about the same go too: the next
    consolidation would take the last of them for true again.

    Args:
        facts: Judged and scored rows of ``schemas.FACTS`` that stand.
        policy: Section capacity.
        as_of: The instant at which they must hold.

    Returns:
        Rows of ``facts``.
    """
    staying = facts.filter(pl.col("reason").is_null())
    holding = current(staying, _AFTER_ALL, as_of)
    over = over_capacity(holding, policy.capacity.facts, "fact_id")
    if over.is_empty():
        return over
    replaced = staying.join(holding, on="fact_id", how="anti").filter(~pl.col("is_pinned"))
    return pl.concat([over, replaced.join(over, on=_SLOT, how="semi", nulls_equal=True)], how="diagonal")


def claim_verdicts(
    claims: pl.DataFrame,
    facts: pl.DataFrame,
    policy: Policy,
    as_of: datetime,
    wishes: Wishes,
    is_forbidden: pl.Series | None = None,
) -> pl.DataFrame:
    """Claims with their verdict: they go with their fact; one that ended in none goes at its own time.

    Args:
        claims: ``schemas.CLAIMS`` of whole owners, with ``known_at``.
        facts: Judged rows of ``schemas.FACTS``, with ``known_at``: all that stand.
        policy: Section retention, and the tier of facts.
        as_of: The instant.
        wishes: Periods and holds.
        is_forbidden: By claim, whether it mentions a topic that its person has forbidden.
    """
    is_gone = pl.col("state") == "goes"
    kept = facts.filter(~is_gone).select(pl.col("claim_ids").explode().drop_nulls()).to_series()
    going = facts.filter(is_gone).sort("fact_id")
    cited = going.select("state", "reason", "due_at", "known_at", claim_id="claim_ids").explode("claim_id")
    with_fact = cited.filter(~among("claim_id", kept)).unique("claim_id", keep="first", maintain_order=True)
    tier = pl.lit(policy.facts.retention_tier)
    due = retention.expiry_expr(policy.retention, wishes.periods)
    rows = claims.with_columns(retention_tier=tier, kind=pl.lit("fact")).with_columns(due)
    rows = judged_rows(rows, as_of, wishes, key="claim_id", is_forbidden=is_forbidden)
    is_banned = (pl.col("reason") == "forbidden_topic").fill_null(False)
    is_kept = among("claim_id", kept) & ~is_banned
    named = with_fact.select("claim_id", fact_reason="reason", fact_due_at="due_at", fact_known_at="known_at")
    joined = rows.join(named, on="claim_id", how="left", maintain_order="left")
    return stated(
        joined.with_columns(
            reason=pl.when(~is_kept).then(pl.coalesce("fact_reason", "reason")),
            due_at=pl.when(~is_kept).then(pl.coalesce("fact_due_at", "due_at")),
            known_at=pl.coalesce("fact_known_at", "known_at"),
            next_at=pl.when(~is_kept).then("next_at"),
        ).drop("fact_reason", "fact_due_at", "fact_known_at")
    )


def trace_verdicts(
    rows: pl.DataFrame,
    table: Table,
    policy: Policy,
    as_of: datetime,
    wishes: Wishes,
    living: pl.DataFrame,
    held_refs: pl.DataFrame,
) -> pl.DataFrame:
    """Recalls, refused rows and kept answers past their time; an answer on an episode that is gone, too.

    Args:
        rows: Of one of the three tables.
        table: Which.
        policy: Section retention.
        as_of: The instant.
        wishes: Periods and holds.
        living: ``episode_id`` of those that stay in the lake.
        held_refs: ``episode_id`` of episodes under hold.
    """
    spans = {
        RECALLS.name: (policy.retention.recalls_seconds, "recalled_at", wishes.periods),
        QUARANTINE.name: (policy.retention.quarantine_seconds, "quarantined_at", wishes.periods),
        MODEL_RESULTS.name: (policy.retention.model_results_seconds, "answered_at", None),
    }
    seconds, since, periods = spans[table.name]
    due = rows.with_columns(expires_at=retention.due_after(seconds, since, periods))
    key = "memory_id" if table is RECALLS else table.key[0]
    found = judged_rows(due, as_of, wishes, key=key, held_refs=held_refs)
    if table is not MODEL_RESULTS:
        return found
    refs = found.select("result_id", episode_id="source_refs").explode("episode_id")
    lost = refs.drop_nulls().join(living, on="episode_id", how="anti")["result_id"].unique()
    is_lost = pl.col("reason").is_null() & pl.col("result_id").is_in(lost.implode())
    return stated(
        found.with_columns(
            reason=pl.when(is_lost).then(pl.lit("orphaned")).otherwise("reason"),
            due_at=pl.when(is_lost).then(retention.instant(as_of)).otherwise("due_at"),
        )
    )
