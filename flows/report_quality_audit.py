"""The audit of one person or agent: every memory of theirs judged, compared and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from flows import metrics_read as read
from flows import retain_state
from flows.job import Job
from flows.retain_plan import Instructions, plan_bucket
from lake import revisions, tables
from lake.rights import tombstones
from transforms.errors import UsageError
from transforms.facts.belief import current
from transforms.forgetting.verdicts import KEYS
from transforms.health import audit, crowding
from transforms.health.audit import AUDITED
from transforms.retention import instant
from transforms.schemas import EPISODES, FACTS, PROCEDURES, SUMMARIES
from transforms.subjects import Subject

TABLES = (EPISODES, FACTS, SUMMARIES, PROCEDURES)
"""Tables of memories that recall may serve."""
PAIRS_SCHEMA = pl.Schema(
    {
        "left": pl.String(),
        "right": pl.String(),
        "cosine": pl.Float64(),
        "is_same_text": pl.Boolean(),
        "left_text": pl.String(),
        "right_text": pl.String(),
    }
)
_USED = ("used", "served", "score", "memory_id")
_MEMORY = ("memory_id", "kind", "text", "score", "importance", "served", "used", "access_count")
_LISTS = {
    "memories": (*_MEMORY, "event_at", "last_served_at", "expires_at", "is_pinned", "is_held", "state"),
    "never_used": (*_MEMORY, "event_at", "last_served_at"),
    "stale": ("why", "since_at", *_MEMORY, "served_retired", "is_pinned"),
    "forgotten_next": ("goes_at", "why", "state", *_MEMORY, "is_pinned", "is_held"),
}
"""Columns of the lists of memories."""


@dataclass(frozen=True)
class Audit:
    """What is known of one person's or agent's memories.

    Attributes:
        figures: Single values, as JSON has them.
        tables: By name; texts in them are cut to ``metrics.audit_chars``.
    """

    figures: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]


def audited(job: Job, subject: Subject) -> Audit:
    """Look through everything of a user or an agent that recall may serve.

    Args:
        job: On which lake, at which instant.
        subject: A user or an agent.

    Raises:
        UsageError: The lake holds nothing of the subject, or the subject was erased or has opted out.
    """
    bucket = job.lake.bucket(subject.tenant)
    memories = _memories(job, subject, bucket)
    if memories.is_empty():
        raise _nothing(job, subject)
    used = audit.use(_recalls(job, subject, bucket, memories), memories)
    counted = memories.join(used, on="memory_id", how="left", maintain_order="left")
    counted = counted.with_columns(pl.col("served", "used", "served_retired").fill_null(0))
    counted = counted.sort(_USED, descending=[True, True, True, False])
    facts = _facts(job, subject, bucket)
    compared = counted.head(job.policy.metrics.audit_rows)
    pairs, shown = _pairs(job, bucket, compared)
    found = {
        **_lists(job, bucket, counted),
        "stale_by_why": audit.stale_by_why(audit.stale(counted, job.policy, job.as_of)),
        "next_by_month": audit.next_by_month(audit.upcoming(counted, job.policy, job.as_of)),
        "near_duplicates": shown,
        "contradictions": _cut(job, audit.contradictions(facts, job.as_of)),
        "importance": audit.spread(counted, "importance"),
        "scores": audit.spread(counted, "score"),
        "capacity": audit.capacity(_owned(counted, subject), _holding(job, facts, subject), job.policy),
    }
    return Audit(_figures(job, subject, counted, found, pairs, compared.height), found)


def _memories(job: Job, subject: Subject, bucket: int) -> pl.DataFrame:
    """``AUDITED``: what is held of the subject, judged as retention would; refused rows are left out."""
    plan = plan_bucket(job, Instructions(retain_state.instructions_of(job)), bucket)
    refusing = tombstones.load(job.lake)
    found = []
    for table in TABLES:
        rows = plan.verdicts[table.name].filter(
            subject.owns(), (pl.col("known_at") <= instant(job.as_of)).fill_null(True)
        )
        if job.lake.pins:  # retention has taken these out: they come back from no version
            rows = rows.filter((pl.col("reason") != "forbidden_topic").fill_null(True))
        if table is EPISODES:
            rows = rows.filter(~pl.col("is_injected"))
        if table is PROCEDURES:
            rows = rows.filter((pl.col("kind") != "procedure") | pl.col("is_suggested"))
        named = rows.with_columns(table=pl.lit(table.name), memory_id=KEYS[table.name])
        missing = {n: pl.lit(None, t) for n, t in AUDITED.items() if n not in named.columns}
        shaped = named.filter(~refusing.is_refused(named.drop("episode_id", strict=False)))
        found.append(shaped.with_columns(**missing).select(list(AUDITED)).cast(AUDITED))
    return pl.concat(found)


def _facts(job: Job, subject: Subject, bucket: int) -> pl.DataFrame:
    """Facts of the subject that stand; refused ones are left out."""
    fixed = [pl.col("tenant_id") == subject.tenant]
    rows = tables.scan(job.lake, FACTS, buckets=[bucket]).filter(*fixed).collect()
    stood = revisions.alive(revisions.newest(FACTS, rows)).filter(subject.owns())
    named = stood.rename({"fact_id": "memory_id", "last_confirmed_at": "event_at"})
    return stood.filter(~tombstones.load(job.lake).is_refused(named))


def _recalls(job: Job, subject: Subject, bucket: int, memories: pl.DataFrame) -> pl.DataFrame:
    """Returned rows of the log, by whomever they were asked for, that name one of the memories."""
    window = read.Window(read.BEGINNING, job.as_of, subject.tenant)
    log = read.log_of(job, window, bucket, has_waiting=True)
    names = memories["memory_id"].implode()
    mine = log.filter("is_returned", pl.col("memory_id").is_in(names))
    return mine.select("memory_id", "is_used", "recalled_at").collect(engine="streaming")


def _pairs(job: Job, bucket: int, memories: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Memories that say nearly the same (``crowding.PAIRS_SCHEMA``), retired ones apart; and what is shown.

    That is ``PAIRS_SCHEMA``, equal texts and the nearest first, ``metrics.audit_shown`` of them.
    """
    standing = memories.filter(pl.col("retired_at").is_null())
    held = read.texts(job, bucket, standing.select("tenant_id", "memory_id"), read.served_space(job))
    rows = held.sort("memory_id")
    near = crowding.near_pairs(
        rows["content_hash"].to_list(), rows["vector"].to_list(), job.policy.recall.duplicate_cosine
    )
    order = ("is_same_text", "cosine", "left", "right")
    best = near.sort(order, descending=[True, True, False, False], nulls_last=True)
    head = best.head(job.policy.metrics.audit_shown)
    left, right = (rows[head[side].to_list()] for side in ("left", "right"))
    named = head.with_columns(
        left=left["memory_id"], right=right["memory_id"], left_text=left["text"], right_text=right["text"]
    )
    return near, _cut(job, named.select(list(PAIRS_SCHEMA)).cast(PAIRS_SCHEMA))


def _lists(job: Job, bucket: int, counted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The lists of memories, each cut to ``metrics.audit_shown`` rows, with their texts."""
    most = job.policy.metrics.audit_shown
    lists = {
        "memories": counted,
        "never_used": audit.never_used(counted),
        "stale": audit.stale(counted, job.policy, job.as_of),
        "forgotten_next": audit.upcoming(counted, job.policy, job.as_of),
    }
    heads = {name: rows.head(most) for name, rows in lists.items()}
    wanted = pl.concat([rows.select("tenant_id", "memory_id") for rows in heads.values()]).unique()
    said = read.texts(job, bucket, wanted, None).select("memory_id", "text")
    shown = {
        name: rows.join(said, on="memory_id", how="left", maintain_order="left").select(_LISTS[name])
        for name, rows in heads.items()
    }
    return {name: _cut(job, rows) for name, rows in shown.items()}


def _cut(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose texts are no longer than ``metrics.audit_chars``."""
    most = job.policy.metrics.audit_chars
    names = [n for n in ("text", "left_text", "right_text", "left_fact", "right_fact") if n in rows.columns]
    long = {n: pl.col(n).str.slice(0, most - 1) + "…" for n in names}
    return rows.with_columns(
        pl.when(pl.col(n).str.len_chars() > most).then(cut).otherwise(n).alias(n) for n, cut in long.items()
    )


def _owned(counted: pl.DataFrame, subject: Subject) -> pl.DataFrame:
    """Memories that count against the subject's own budgets: an agent's are those of no user."""
    return counted.filter(pl.col("owner") == f"{subject.kind}:{subject.user or subject.agent}")


def _holding(job: Job, facts: pl.DataFrame, subject: Subject) -> int:
    return _owned(current(facts, job.as_of), subject).height


def _figures(
    job: Job,
    subject: Subject,
    counted: pl.DataFrame,
    found: Mapping[str, pl.DataFrame],
    pairs: pl.DataFrame,
    compared: int,
) -> dict[str, Any]:
    """Single values of the audit; ``compared``: memories that near duplicates were looked for among."""
    stale = audit.stale(counted, job.policy, job.as_of)
    coming = audit.upcoming(counted, job.policy, job.as_of)
    near = pl.concat([pairs["left"], pairs["right"]]).n_unique()
    return {
        "subject": subject.as_dict(),
        "memories": counted.height,
        "kinds": dict(counted.group_by("kind").len().sort("kind").iter_rows()),
        "never_served": counted.filter(pl.col("served") == 0).height,
        "used_memories": counted.filter(pl.col("used") > 0).height,
        "compared": compared,
        "near_pairs": pairs.height,
        "near_memories": near,
        "stale": dict(stale.group_by("why").len().sort("why").iter_rows()),
        "served_retired": int(counted["served_retired"].sum()),
        "contradictions": found["contradictions"].height,
        "due": coming.filter(pl.col("reason").is_not_null()).height,
        "pinned": int(counted["is_pinned"].sum()),
        "held": int(counted["is_held"].sum()),
    }


def _nothing(job: Job, subject: Subject) -> UsageError:
    """Why there is nothing to show."""
    refusing = tombstones.load(job.lake)
    if refusing.of(subject) or refusing.of(Subject(subject.tenant)):
        return UsageError(
            f"this {subject.kind} was erased or has opted out, and nothing of it is shown",
            "slowwave requests lists what was asked for.",
        )
    name = subject.user or subject.agent
    return UsageError(
        f"the lake holds no memory of {subject.kind} {name} in tenant {subject.tenant}",
        "Check the ids; rows that were landed and not ingested yet come with the next night.",
    )
