"""Consolidate: topics, summaries, facts, conversations and skills from the episodes that are new."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from flows.commit import tidy
from flows.consolidate_facts import FactsDone, consolidate_facts
from flows.consolidate_sessions import consolidate_sessions
from flows.consolidate_summaries import consolidate_summaries
from flows.consolidate_topics import consolidate_topics
from flows.embed import embed_tables
from flows.job import Job, StepResult, record, step
from flows.notes import hint, mark_of
from flows.portions import OWNER, Portion, Scope, portions
from flows.reclaim import reclaim
from lake import lineage, revisions, tables
from lake.revisions import Writer
from transforms import ids
from transforms.claims.extract import EXTRACTOR
from transforms.derived_memories import PUBLISHED
from transforms.embedding import EMBEDDED
from transforms.schemas import DERIVED, EPISODES, LINEAGE, MODEL_RESULTS

STATE = "state/consolidated.json"
RULES_VERSION = 1
"""Raise it when the transforms come to other rows of the same episodes: all is derived anew then."""
SECTIONS = ("topics", "summaries", "claims", "facts", "conversations", "skills", "embed")
_WRITTEN = [LINEAGE, *(t for t in DERIVED if t not in (LINEAGE, MODEL_RESULTS))]
"""In the order of their commits: a derived row is never without its lineage."""


@dataclass
class Done:
    """What a run came to."""

    facts: FactsDone = field(default_factory=FactsDone)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def pending(self) -> int:
        """Items that wait for a model: the next run asks again."""
        return self.facts.pending + self.counts["pending"]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints; the diff of facts apart."""
        facts = {name: self.facts.counts[name] for name in CHANGES}
        return {
            "claims": self.facts.claims,
            "claims_refused": dict(sorted(self.facts.refused.items())),
            "facts": facts,
            "decisions": dict(sorted(self.facts.reasons.items())),
            **{name: self.counts[name] for name in COUNTS},
            "pending": self.pending,
        }


CHANGES = ("added", "confirmed", "merged", "superseded", "retired", "withdrawn")
COUNTS = (
    "topics_add",
    "topics_split",
    "topics_merge",
    "joined",
    "waiting",
    "summaries",
    "conversations",
    "attempts",
    "skills",
)


@dataclass(frozen=True)
class _Seen:
    """What the last complete run saw."""

    version: int
    as_of: datetime


def run_consolidate(
    job: Job,
    *,
    complete: bool = False,
    owners: pl.DataFrame | None = None,
    erased: pl.DataFrame | None = None,
) -> StepResult:
    """Derive what the episodes since the last run change; unchanged costs a few reads.

    Args:
        job: The run; where ``job.is_dry``, nothing is written.
        complete: Derive everything anew, and remove what has no source any more.
        owners: ``tenant_id`` and ``owner`` of the only ones to derive anew, after an erasure; what they
            had of episodes that are gone leaves the files, too.
        erased: ``tenant_id``, ``owner`` and ``session_id`` of erased episodes; with ``owners``.

    Returns:
        rows_in: episodes looked at; rows_out: rows written (or, dry, that would be); rejected: claims
        refused. The detail holds counts, and for a dry run ``diff``: each fact added, confirmed,
        superseded, retired or withdrawn.
    """
    if owners is not None:
        return _rederive(job, owners, erased)
    with step(job, "consolidate") as result, tables.held_open():
        embedding = StepResult("embed", result.started_at)
        if not job.is_dry:  # a topic needs the vectors of its episodes
            embed_tables(job, EMBEDDED, embedding)
        marks = {table.name: lineage.mark(job.lake, table) for table in (EPISODES, *_WRITTEN)}
        seen = None if complete else _load(job)
        scope = _scope(job, seen)
        if scope is None:
            result.state = "unchanged"
            return result
        done, writer = Done(), Writer(job.lake, _WRITTEN, job.is_dry, job.policy.ingest.commit_rows)
        _run(job, scope, writer, done, result)
        result.rows_out, result.rejected = writer.rows_written, done.facts.refused.total()
        result.detail = {**done.as_dict(), **_spent(job)}
        if job.is_dry or job.has_diff:
            result.detail["diff"] = done.facts.diff
        if job.is_dry:
            return result
        if scope.is_complete:
            reclaim(job)
        if writer.rows_written:
            _tidy(job)
        embed_tables(job, PUBLISHED, embedding)
        result.tokens += embedding.tokens
        if not done.pending:
            _remember(job, marks[EPISODES.name])
        if not writer.rows_written and seen:
            result.state = "unchanged"
    record(job, result, read={EPISODES.name: marks[EPISODES.name][0]}, written=_versions(job))
    return result


def _rederive(job: Job, owners: pl.DataFrame, erased: pl.DataFrame | None) -> StepResult:
    """Derive some owners anew from what remains, and leave nothing of what is gone in any file."""
    with step(job, "consolidate") as result, tables.held_open():
        now = _micros(job.as_of - timedelta(seconds=job.policy.summaries.after_seconds))
        named = owners.select(OWNER).unique()
        done, writer = Done(), Writer(job.lake, _WRITTEN, commit_rows=job.policy.ingest.commit_rows)
        _run(job, Scope(None, (now, now), named, erased), writer, done, result)
        buckets = sorted({job.lake.bucket(tenant) for tenant in named["tenant_id"]})
        reclaim(job, buckets)
        for table in _WRITTEN:
            if "revision" in table.names:
                revisions.purge(job.lake, table, named)
        embedding = StepResult("embed", result.started_at)
        embed_tables(job, PUBLISHED, embedding)
        result.rows_out, result.tokens = writer.rows_written, embedding.tokens
        result.detail = done.as_dict()
    return result


def _run(job: Job, scope: Scope, writer: Writer, done: Done, result: StepResult) -> None:
    with job.progress.task("consolidate", None) as advance:
        for portion in portions(job, scope, writer):
            result.rows_in += portion.fresh.height
            _consolidate(portion, done)
            writer.settle()
            advance(portion.fresh.height)
        writer.flush()


def _consolidate(portion: Portion, done: Done) -> None:
    memberships = consolidate_topics(portion, done.counts)
    consolidate_summaries(portion, memberships, done.counts)
    consolidate_facts(portion, done.facts)
    consolidate_sessions(portion, done.counts)


def _scope(job: Job, seen: _Seen | None) -> Scope | None:
    """What there is to look at; None where there is nothing."""
    age = timedelta(seconds=job.policy.summaries.after_seconds)
    now = _micros(job.as_of - age)
    if seen is None:
        return Scope(None, (now, now)) if tables.version(job.lake, EPISODES) >= 0 else None
    # A run at an earlier instant than the last one takes no summary back.
    then = _micros(seen.as_of - age)
    files = tables.added_files(job.lake, EPISODES, seen.version)
    return Scope(files, (then, max(then, now))) if files or now > then else None


def _micros(instant: datetime) -> int:
    return round(instant.timestamp() * 1_000_000)


def method_of(job: Job) -> str:
    """Names everything that changes what is derived of the same episodes, but for the episodes."""
    policy = {name: getattr(job.policy, name).model_dump(mode="json") for name in SECTIONS}
    model = None if job.model is None else job.model.key
    told = {"policy": policy, "rules": [RULES_VERSION, EXTRACTOR], "model": model, "space": job.space}
    return ids.digest(json.dumps(told, sort_keys=True))


def _load(job: Job) -> _Seen | None:
    """What the last run by this method saw; None where that is not known: then all is derived anew."""
    record = hint(job, STATE)
    try:
        if record["method"] != method_of(job):
            return None
        marks = {t: mark_of(record["marks"][t.name]) for t in (EPISODES, *_WRITTEN)}
        seen = _Seen(marks[EPISODES][0], datetime.fromisoformat(record["as_of"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return seen if all(lineage.holds(job.lake, t, mark) for t, mark in marks.items()) else None


def _remember(job: Job, episodes: lineage.Mark) -> None:
    marks = {table.name: lineage.mark(job.lake, table) for table in _WRITTEN}
    seen = _load(job)
    as_of = max(job.as_of, seen.as_of) if seen else job.as_of
    record = {
        "method": method_of(job),
        "as_of": as_of.isoformat(),
        "marks": {**marks, EPISODES.name: episodes},
    }
    job.lake.storage.write(STATE, json.dumps(record).encode())


def _tidy(job: Job) -> None:
    """Drop revisions that stand no more, once they are the greater part, and bound the number of files."""
    for table in _WRITTEN:
        if "revision" in table.names:
            revisions.squeeze(job.lake, table)
    tidy(job, *_WRITTEN, *([MODEL_RESULTS] if job.model else []))


def _spent(job: Job) -> dict[str, Any]:
    """What the model cost; nothing where there is none."""
    return {} if job.model is None else {"model": asdict(job.model.spent)}


def _versions(job: Job) -> Mapping[str, int]:
    return {table.name: tables.version(job.lake, table) for table in _WRITTEN}
