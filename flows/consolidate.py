"""Consolidate: topics, summaries, facts, conversations and skills from the episodes that are new."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import polars as pl

from flows import consolidate_state, versions
from flows.commit import resume_versions, tidy
from flows.consolidate_plan import planned, portions_of_owners
from flows.consolidate_state import WRITTEN, Seen, State
from flows.consolidate_units import Done, consolidate, writer_of
from flows.embed import embed_tables
from flows.engine import units as engine_units
from flows.engine.run import require_all, run_units
from flows.engine.units import Unit
from flows.job import Job, StepResult, record, step
from flows.portions import OWNER
from flows.reclaim import reclaim
from lake import lineage, revisions, tables
from transforms.derived_memories import PUBLISHED
from transforms.embedding import EMBEDDED
from transforms.schemas import EPISODES, MODEL_RESULTS

NOTE_SECONDS = 60.0
"""How often a long run notes which buckets are done: what a killed one has to look at again."""


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

    Raises:
        UnitsError: Some buckets failed; the others are done, and the next run does these alone.
    """
    if owners is not None:
        return _rederive(job, owners, erased)
    with step(job, "consolidate") as result:
        resume_versions(job)
        embedding, not_embedded = StepResult("embed", result.started_at), list[engine_units.Done]()
        if not job.is_dry:  # a topic needs the vectors of its episodes
            embed_tables(job, EMBEDDED, embedding, not_embedded)
        run = _Run(
            job, lineage.mark(job.lake, EPISODES), State() if complete else consolidate_state.load(job)
        )
        units = planned(job, run.state) if run.episodes[0] >= 0 else []
        if units and not job.is_dry:
            consolidate_state.begin(job)
        run.take_back(units)
        if not units and run.state.is_reclaimed:
            require_all("embed", not_embedded)
            result.state = "unchanged"
            return result
        run.through(units)
        _tell(job, run.done, result)
        if job.is_dry:
            return result
        run.settle()
        embed_tables(job, PUBLISHED, embedding, not_embedded)
        result.tokens += embedding.tokens
        require_all("consolidate", [*run.ends, *not_embedded])
        if not run.done.rows_out and run.state.seen:
            result.state = "unchanged"
    record(job, result, read={EPISODES.name: run.episodes[0]}, written=_versions(job))
    return result


@dataclass
class _Run:
    """A run over its units.

    Args:
        job: What to run.
        episodes: Mark of the version that it reads.
        state: How far the buckets were before.
    """

    job: Job
    episodes: lineage.Mark
    state: State
    done: Done = field(default_factory=Done)
    ends: list[engine_units.Done] = field(default_factory=list)
    _left: Counter[int] = field(default_factory=Counter)
    _is_complete: bool = False
    _edited: set[int] = field(default_factory=set)
    _owed: set[int] = field(default_factory=set)

    def through(self, units: Sequence[Unit]) -> None:
        """Run the units, and note now and then which buckets are done."""
        self._left = Counter([*self._owed, *(bucket for unit in units for bucket in unit.buckets)])
        self._is_complete = any(unit.payload["files"] is None for unit in units)
        # A list of each change holds words of people, which no worker gives back.
        job = replace(self.job, recipe=None) if self.job.has_diff else self.job
        noted = time.monotonic()
        for end in run_units(job, units, "consolidate"):
            self.ends.append(end)
            if end.result is not None:
                self.done.add(end.result)
            if end.result is not None and not _waits(end.result):
                self._left.subtract(end.unit.buckets)
            if time.monotonic() - noted >= NOTE_SECONDS and not self.job.is_dry:
                self.note()
                noted = time.monotonic()

    def take_back(self, units: Sequence[Unit]) -> None:
        """Derive anew, whole, who has a new version of an episode: what the text before said stands no more.

        In this process, because a unit names nobody.
        """
        files = {unit.buckets: unit.payload["files"] for unit in units if unit.payload["files"]}
        for buckets, names in files.items():
            edited = versions.edited_sessions(self.job, buckets, names)
            if edited.is_empty():
                continue
            writer, pending = writer_of(self.job), self.done.pending
            owners = edited.select(OWNER).unique(maintain_order=True)
            for portion in portions_of_owners(self.job, owners, edited, writer):
                consolidate(portion, self.done)
                writer.settle()
            writer.flush()
            self.done.rows_out += writer.rows_written
            self._edited.update(buckets)
            if self.done.pending > pending:
                self._owed.update(buckets)

    def settle(self) -> None:
        """Remove what has no source any more, note how far the buckets are, and keep files few."""
        job, failed = self.job, {b for end in self.ends if end.failure for b in end.unit.buckets}
        is_reclaimed = self.state.is_reclaimed and not self._is_complete
        # A unit that broke off leaves lineage that the one after it writes once more.
        due = {*self._edited, *self.state.behind} if is_reclaimed else set(range(job.lake.buckets))
        if due:
            reclaim(job, sorted(due - failed))
        if self.done.rows_out and not failed:
            _tidy(job)
        self.note(is_reclaimed=is_reclaimed or not failed)

    def note(self, *, is_reclaimed: bool = False) -> None:
        """Note how far the buckets are: those that are not done yet stay where they were."""
        before = self.state.seen
        as_of = max(self.job.as_of, before.as_of) if before else self.job.as_of
        behind = {bucket: self.state.of(bucket) for bucket, left in self._left.items() if left > 0}
        state = State(Seen(self.episodes[0], as_of), behind, is_reclaimed)
        consolidate_state.save(self.job, self.episodes, state)


def _waits(told: Mapping[str, Any]) -> bool:
    """Whether a unit has items that wait for a model: the next run asks again."""
    return bool(told["facts"]["pending"] or told["counts"].get("pending"))


def _tell(job: Job, done: Done, result: StepResult) -> None:
    result.rows_in, result.rows_out = done.rows_in, done.rows_out
    result.rejected = done.facts.refused.total()
    result.detail = {**done.as_dict(), **_spent(job)}
    if job.is_dry or job.has_diff:
        result.detail["diff"] = done.facts.diff


def _rederive(job: Job, owners: pl.DataFrame, erased: pl.DataFrame | None) -> StepResult:
    """Derive some owners anew from what remains, and leave nothing of what is gone in any file."""
    with step(job, "consolidate") as result, tables.held_open():
        named = owners.select(OWNER).unique()
        done, writer = Done(), writer_of(job)
        with job.progress.task("consolidate", None) as advance:
            for portion in portions_of_owners(job, named, erased, writer):
                consolidate(portion, done)
                writer.settle()
                advance(portion.fresh.height)
            writer.flush()
        reclaim(job, sorted({job.lake.bucket(tenant) for tenant in named["tenant_id"]}))
        for table in WRITTEN:
            if "revision" in table.names:
                revisions.purge(job.lake, table, named)
        embedding = StepResult("embed", result.started_at)
        embed_tables(job, PUBLISHED, embedding)
        result.rows_in, result.rows_out, result.tokens = done.rows_in, writer.rows_written, embedding.tokens
        result.detail = done.as_dict()
    return result


def _tidy(job: Job) -> None:
    """Drop revisions that stand no more, once they are the greater part, and bound the number of files."""
    for table in WRITTEN:
        if "revision" in table.names:
            revisions.squeeze(job.lake, table)
    tidy(job, *WRITTEN, *([MODEL_RESULTS] if job.model else []))


def _spent(job: Job) -> dict[str, Any]:
    """What the model cost; nothing where there is none."""
    return {} if job.model is None else {"model": asdict(job.model.spent)}


def _versions(job: Job) -> Mapping[str, int]:
    return {table.name: tables.version(job.lake, table) for table in WRITTEN}
