"""One unit of consolidation: topics, summaries, facts, conversations and skills of some whole owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flows.consolidate_facts import FactsDone, consolidate_facts
from flows.consolidate_plan import scope_of
from flows.consolidate_sessions import consolidate_sessions
from flows.consolidate_state import WRITTEN
from flows.consolidate_summaries import consolidate_summaries
from flows.consolidate_topics import consolidate_topics
from flows.job import Job
from flows.portions import Portion, portion_of
from lake import tables
from lake.revisions import Writer

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
_COUNTERS = ("refused", "counts", "reasons")


@dataclass
class Done:
    """What a unit, or all of a run, came to.

    Attributes:
        facts: Of facts and claims.
        counts: Of everything else.
        rows_in: Episodes looked at.
        rows_out: Rows written or, dry, that would be.
    """

    facts: FactsDone = field(default_factory=FactsDone)
    counts: Counter[str] = field(default_factory=Counter)
    rows_in: int = 0
    rows_out: int = 0

    @property
    def pending(self) -> int:
        """Items that wait for a model: the next run asks again."""
        return self.facts.pending + self.counts["pending"]

    def told(self) -> dict[str, Any]:
        """As JSON, for ``add``."""
        facts = {name: dict(getattr(self.facts, name)) for name in _COUNTERS}
        return {
            "facts": {**facts, **{name: getattr(self.facts, name) for name in ("claims", "pending", "diff")}},
            "counts": dict(self.counts),
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
        }

    def add(self, told: Mapping[str, Any]) -> None:
        """Count what a unit gave back."""
        facts = told["facts"]
        self.facts.claims += facts["claims"]
        self.facts.pending += facts["pending"]
        for name in _COUNTERS:
            getattr(self.facts, name).update(facts[name])
        self.facts.diff += facts["diff"]
        self.counts.update(told["counts"])
        self.rows_in += told["rows_in"]
        self.rows_out += told["rows_out"]

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


def consolidate_unit(job: Job, payload: dict[str, Any]) -> dict[str, Any]:
    """Derive what the new episodes of some buckets change, and write it.

    Run again after a kill it comes to the same rows, and writes those that are missing.

    Args:
        job: The run.
        payload: Of ``consolidate_plan.planned``.

    Returns:
        ``Done`` as JSON. Only a run that shows each change, which stays in its process, gets ``facts.diff``.
    """
    done = Done()
    with tables.held_open():
        writer = writer_of(job)
        part, parts = payload["part"]
        consolidate(portion_of(job, scope_of(payload), writer, payload["buckets"], (part, parts)), done)
        writer.flush()
    done.rows_out = writer.rows_written
    return done.told()


def writer_of(job: Job) -> Writer:
    """Takes up what changes; lineage is committed first."""
    return Writer(job.lake, WRITTEN, job.is_dry, job.policy.ingest.commit_rows)


def consolidate(portion: Portion, done: Done) -> None:
    """Derive what a portion's new episodes change; its writer holds it."""
    done.rows_in += portion.fresh.height
    memberships = consolidate_topics(portion, done.counts)
    consolidate_summaries(portion, memberships, done.counts)
    consolidate_facts(portion, done.facts)
    consolidate_sessions(portion, done.counts)
