"""What retention takes out of tenant buckets or some owners of one, table by table, with why.

Nothing is written here. A verdict looks at rows of its own owner only, so small buckets are judged together,
and one that is too large for the memory in parts of whole owners, see ``flows.retain_judged``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from flows.job import Job
from flows.retain_parts import WHOLE, Part, rows_of
from flows.retain_remove import known_expr, tier_expr
from lake import revisions, tables
from transforms.forgetting.access import fold
from transforms.forgetting.due import LIGHT, Wishes, judged, with_capacity
from transforms.forgetting.verdicts import (
    KEYS,
    SINCE,
    claim_verdicts,
    dated,
    evicted,
    judged_rows,
    surplus_facts,
    surplus_rows,
    trace_verdicts,
    with_scores,
)
from transforms.retention import expiry_expr, instant, is_live
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    INSTANT,
    LINEAGE,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    SUMMARIES,
    Table,
)
from transforms.standing import Standing
from transforms.topics_forbidden import DERIVED_TEXT_COLUMNS, TEXT_COLUMNS, forbidden

MATCH: dict[str, list[str]] = {
    RECALLS.name: ["call_id", "memory_id"],
    LINEAGE.name: ["derived_id"],
    "vectors": ["tenant_id", "text_hash"],
}
"""Columns that name a row, where they are not the key."""
SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
_LIVING = (FACTS, SUMMARIES, PROCEDURES, CONVERSATIONS, ATTEMPTS)
_TRACES = (RECALLS, QUARANTINE, MODEL_RESULTS)
_TRACE_COLUMNS = {
    *SCOPE, "tenant_bucket", "call_id", "memory_id", "recalled_at", "quarantine_id", "quarantined_at",
    "result_id", "answered_at", "source_refs", "owner",
}  # fmt: skip

_DECIDING = {
    *SCOPE, *revisions.REVISION, *SINCE.values(), "tenant_bucket", "owner", "kind", "importance",
    "retention_tier", "expires_at", "recorded_at", "retired_at", "valid_from", "valid_until", "subject_key",
    "predicate", "aspect", "is_suggested", "topic_id", "episode_id", "source_refs", "claim_ids",
}  # fmt: skip
"""Columns of derived rows that decide on them, or tell what rests on what: the text of a row is none."""


@dataclass(frozen=True)
class Instructions:
    """What people asked for, as retention needs it.

    Args:
        all: Everything that stands.
        looked_at: When retention last looked. What was due by then and is still there has become due
            since, by a wish, another policy, or a hold that was released: it is not late before.
    """

    all: Sequence[Standing]
    looked_at: datetime | None = None

    @property
    def wishes(self) -> Wishes:
        """Periods, pins and holds."""
        return Wishes.of(self.all)

    @property
    def forbidding(self) -> list[Standing]:
        """Those that forbid a topic."""
        return [one for one in self.all if one.forbidden_topics]


@dataclass(frozen=True)
class Plan:
    """Verdicts of some buckets, or of a part of one.

    Args:
        verdicts: By table: match columns, ``tenant_id``, ``tenant_bucket``, ``tier``, ``reason``, ``due_at``,
            ``known_at`` (when the lake got the row, or retention last looked), ``state``, ``next_at``, and of
            episodes and cold ones ``month``.
        rows: How many were judged.
    """

    verdicts: dict[str, pl.DataFrame]
    rows: int

    def going(self, table: Table) -> pl.DataFrame:
        """Rows of a table that go."""
        return self.verdicts[table.name].filter(pl.col("state") == "goes")


def match_of(table: Table) -> list[str]:
    """Columns that name a row of a table, or all revisions of one."""
    return MATCH.get(table.name, list(table.key))


def plan_bucket(job: Job, told: Instructions, bucket: int) -> Plan:
    """Judge every row of one bucket; see ``plan_buckets``."""
    return plan_buckets(job, told, [bucket])


def plan_buckets(
    job: Job,
    told: Instructions,
    buckets: Sequence[int],
    part: Part = WHOLE,
    access: pl.LazyFrame | None = None,
) -> Plan:
    """Judge every row of some buckets, or of some of their owners.

    Args:
        job: At which instant, by which policy.
        told: What people asked for.
        buckets: Which.
        part: Which owners of them.
        access: ``access_of`` the buckets, where it is known already.
    """
    of = _Of(job, told, buckets, part)
    access = access_of(job, buckets) if access is None else access
    recalled = None if access.head(1).collect().is_empty() else access
    derived = {table.name: _derived(of, table) for table in _LIVING}
    episodes = _episodes(of, recalled, derived[SUMMARIES.name])
    held = episodes.filter("is_held").select("episode_id")
    found = {name: _judged(of, name, rows, held) for name, rows in derived.items()}
    for table in (FACTS, SUMMARIES, PROCEDURES):
        key = table.key[0]
        found[table.name] = with_scores(found[table.name], recalled, key, job.policy, job.as_of)
    facts = found[FACTS.name]
    found[FACTS.name] = evicted(facts, surplus_facts(facts, job.policy, job.as_of), "fact_id", job.as_of)
    counted = {EPISODES.name: episodes} | {t.name: found[t.name] for t in (FACTS, SUMMARIES, PROCEDURES)}
    for name, gone in surplus_rows(counted, job.policy).items():
        found[name] = evicted(counted[name], gone, KEYS[name], job.as_of)
    found |= _with_known(found)
    found[CLAIMS.name] = _claims(of, found[FACTS.name])
    living = found[EPISODES.name].filter(pl.col("state") != "goes").select("episode_id")
    found |= {table.name: _traces(of, table, living, held) for table in _TRACES}
    found[COLD.name] = _cold(of)
    looked = instant(told.looked_at) if told.looked_at else pl.lit(None, INSTANT)
    tiered = {
        name: rows.with_columns(
            tier_expr(rows.columns), known_at=pl.max_horizontal(known_expr(rows.columns), looked)
        )
        for name, rows in found.items()
    }
    return Plan(tiered, sum(rows.height for rows in tiered.values()))


def access_of(job: Job, buckets: Sequence[int]) -> pl.LazyFrame:
    """``access.ACCESS_SCHEMA`` of buckets: a memory may be recalled by others than its owner."""
    recalls = tables.scan(job.lake, RECALLS, buckets=buckets)
    return fold(recalls, job.policy.decay, job.as_of).collect(engine="streaming").lazy()


@dataclass(frozen=True)
class _Of:
    """What is judged, and by what."""

    job: Job
    told: Instructions
    buckets: Sequence[int]
    part: Part

    def scan(self, table: Table) -> pl.LazyFrame:
        """Rows of a table."""
        return rows_of(self.job, table, self.buckets, self.part)


def _derived(of: _Of, table: Table) -> pl.DataFrame:
    """What stands of a derived table, with its lifetime; its text only where topics are forbidden."""
    rows = of.scan(table).select(_columns(of, table)).collect()
    stood = revisions.alive(revisions.newest_rows(table, rows))
    return dated(stood.with_columns(known_expr(stood.columns)), table, of.job.policy, of.told.wishes)


def _columns(of: _Of, table: Table) -> list[str]:
    wanted = {*table.key, *_DECIDING, *(DERIVED_TEXT_COLUMNS if of.told.forbidding else ())}
    return [name for name in table.names if name in wanted]


def _with_known(found: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Verdicts of tables that do not tell when the lake got a row, with when it got the last of its sources.

    Null where none of them is there any more. Only rows past their time are looked at.
    """
    late = pl.col("reason") == "expired"
    if not any(found[table.name].filter(late).height for table in (CONVERSATIONS, ATTEMPTS, PROCEDURES)):
        return {}
    episodes, talks = found[EPISODES.name], found[CONVERSATIONS.name]
    who = ["tenant_id", "owner", "session_id"]
    came = episodes.group_by(who).agg(pl.col("known_at").max())
    talks = talks.drop("known_at").join(came, on=who, how="left", nulls_equal=True, maintain_order="left")
    named = [episodes.select("known_at", ref="episode_id"), talks.select("known_at", ref="conversation_id")]
    sources, known = pl.concat(named), {CONVERSATIONS.name: talks}
    for table in (ATTEMPTS, PROCEDURES):
        rows, key = found[table.name], table.key[0]
        refs = rows.filter(late).select(key, ref="source_refs").explode("ref")
        last = refs.join(sources, on="ref").group_by(key).agg(pl.col("known_at").max())
        known[table.name] = rows.drop("known_at").join(last, on=key, how="left", maintain_order="left")
    return known


def _episodes(of: _Of, access: pl.LazyFrame | None, summaries: pl.DataFrame) -> pl.DataFrame:
    job, rows = of.job, of.scan(EPISODES)
    banned = _forbidden_episodes(rows, of.told)
    light = rows.select(*LIGHT, "tenant_bucket", "month", known_at="ingested_at")
    found = judged(light, access, job.policy, job.as_of, of.told.wishes, banned)
    live = summaries.filter(is_live(job.as_of))
    covered = live.select(episode_id="source_refs").explode("episode_id").drop_nulls()
    return with_capacity(found, covered, job.policy, job.as_of)


def _forbidden_episodes(rows: pl.LazyFrame, told: Instructions) -> pl.DataFrame | None:
    """Episodes that mention a forbidden topic; only rows of who forbade one are read."""
    if not told.forbidding:
        return None
    concerned = pl.any_horizontal([one.subject.owns() for one in told.forbidding])
    texts = [name for name in TEXT_COLUMNS if name in EPISODES.names]
    mine = rows.filter(concerned).select("episode_id", *SCOPE, *texts).collect(engine="streaming")
    return mine.filter(forbidden(mine, told.forbidding)).select("episode_id")


def _judged(of: _Of, name: str, rows: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    forbidding, wishes = of.told.forbidding, of.told.wishes
    banned = forbidden(rows, forbidding, DERIVED_TEXT_COLUMNS) if forbidding else None
    return judged_rows(rows, of.job.as_of, wishes, key=KEYS[name], is_forbidden=banned, held_refs=held)


def _claims(of: _Of, facts: pl.DataFrame) -> pl.DataFrame:
    job, forbidding = of.job, of.told.forbidding
    claims = of.scan(CLAIMS).select(_columns(of, CLAIMS)).with_columns(known_at="recorded_at").collect()
    banned = forbidden(claims, forbidding, DERIVED_TEXT_COLUMNS) if forbidding else None
    return claim_verdicts(claims, facts, job.policy, job.as_of, of.told.wishes, banned)


def _traces(of: _Of, table: Table, living: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    columns = [name for name in table.names if name in _TRACE_COLUMNS]
    rows = of.scan(table).select(columns).collect()
    return trace_verdicts(rows, table, of.job.policy, of.job.as_of, of.told.wishes, living, held)


def _cold(of: _Of) -> pl.DataFrame:
    """Verdicts on episodes kept apart: they expire as the others do."""
    wishes = of.told.wishes
    due = expiry_expr(of.job.policy.retention, wishes.periods, wishes.pins)
    columns = [
        "episode_id", *SCOPE, "tenant_bucket", "kind", "retention_tier", "expires_at", "event_at", "month",
        "ingested_at",
    ]  # fmt: skip
    held = of.scan(COLD)
    banned = _forbidden_episodes(held, of.told)
    rows = held.select(columns).with_columns(due).collect()
    is_banned = None if banned is None else rows["episode_id"].is_in(banned["episode_id"].implode())
    return judged_rows(rows, of.job.as_of, wishes, key="episode_id", is_forbidden=is_banned)
