"""Builds one generation: from the live one and what changed since, where that will do, else whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from flows.job import Job
from flows.publish_changes import Since, changed_ids, since
from flows.publish_counts import Served, bucket_groups, served_of, summed
from flows.publish_rows import Wanted, changed_frames
from flows.publish_units import written
from flows.published import SOURCES, wishes_of
from lake.index import Generation, Manifest, TableEntry
from lake.index_background import measured
from lake.index_build import finish, remove_generation
from lake.index_checks import Check, calibrated, run_checks
from lake.index_scans import bare_ids, bare_rows
from lake.index_update import update
from lake.opened import held_open
from transforms.errors import CheckError, LakeError, StorageError
from transforms.schemas import SUMMARIES

_OF_TABLES = frozenset({"marks", *(table.name for table in SOURCES)})
"""Inputs that rows tell of; where any other changed, everything may have."""


MEASURED_SHARE = 10
"""How near unrelated texts come is measured again once one row in so many is new: it is measured in 400."""


@dataclass(frozen=True)
class Made:
    """A generation that passed its checks; nothing points to it yet.

    Attributes:
        manifest: As it was written.
        checks: What they said.
        served: What it was checked against.
        how: ``whole`` or ``updated``.
        appended: Rows that came; of a whole one all.
        removed: Rows that went; of a whole one not counted.
    """

    manifest: Manifest
    checks: list[Check]
    served: Served
    how: str = "whole"
    appended: int = 0
    removed: int = 0

    def told(self) -> dict[str, Any]:
        """How it was built."""
        counts = {"appended": self.appended, "removed": self.removed} if self.how == "updated" else {}
        return {"built": self.how, **counts}


def build(job: Job, name: str, inputs: dict[str, Any], source: Manifest | None) -> Made:
    """Write and check a generation.

    Args:
        job: The run, of one model.
        name: Of the new generation.
        inputs: What it is made of (``flows.published.inputs_of``).
        source: The live generation of that model, where it may be built on.

    Raises:
        CheckError: A check failed.
        StorageError: The disk is full or the store fails.
        UnitsError: A part could not be written.
    """
    if source is not None and _may_update(job, source, inputs):
        try:
            made = _updated(job, name, inputs, source)
        except (CheckError, LakeError, StorageError):  # whatever is wrong with it, the tables have it all
            made = None
        if made is not None:
            return made
        remove_generation(job.lake, name)
    return _whole(job, name, inputs)


def _may_update(job: Job, source: Manifest, inputs: dict[str, Any]) -> bool:
    """Whether what changed since can be told from rows, and what is hidden may stay so."""
    old = source.inputs
    if source.large is None or old.keys() != inputs.keys() or len(old["marks"]) != len(SOURCES):
        return False
    if any(old[key] != inputs[key] for key in inputs.keys() - _OF_TABLES):
        return False
    if not job.policy.publish.hidden_days or is_hidden_long(job, source):
        return False
    return datetime.fromisoformat(source.as_of) <= job.as_of


def is_hidden_long(job: Job, source: Manifest) -> bool:
    """Whether rows that went lie hidden in a generation's files for as long as they may."""
    if source.hidden_since is None:
        return False
    hidden_for = job.as_of - datetime.fromisoformat(source.hidden_since)
    return hidden_for >= timedelta(days=job.policy.publish.hidden_days)


def _updated(job: Job, name: str, inputs: dict[str, Any], source: Manifest) -> Made | None:
    """The live generation with what changed since; None where it has to be built whole."""
    with held_open(is_shared=True):
        came = since(job, source)
        if came is None or _brings_back(job, source, came):
            return None
        groups = [buckets for buckets, _ in bucket_groups(job)]
        served = summed(served_of(job, buckets, wishes_of(job)) for buckets in groups)
        if tuple(served.large) != source.large:
            return None
        wanted = _wanted(job, source, came, groups)
        if wanted is None:
            return None
        ids = pl.concat([found for _, found in wanted]).unique()
        frames = changed_frames(job, source.space, wanted, came)
        with job.progress.task("publish", None):
            done = update(job.lake, source, name, ids=ids, as_of=job.as_of, frames=frames)
    if done.is_short_of_a_table:
        return None
    draft = replace(
        source,
        generation=name,
        rows=sum(entry.rows for entry in done.tables),
        as_of=job.as_of.isoformat(),
        tables=tuple(done.tables),
        inputs=inputs,
        next_expiry_at=done.next_expiry_at.isoformat() if done.next_expiry_at else None,
        appended_rows=source.appended_rows + done.appended,
        hidden_since=source.hidden_since or (job.as_of.isoformat() if done.removed else None),
        bare_rows=_bare_before(job, source) - done.bare,
    )
    manifest, checks = _passed(job, draft, served, done.fresh)
    return Made(manifest, checks, served, "updated", done.appended, done.removed)


def _brings_back(job: Job, source: Manifest, came: Since) -> bool:
    """Whether summaries say which episodes are served, and may say so of others than before."""
    if job.policy.summaries.detail != "drop_after_summary":
        return False
    files = came.files[SUMMARIES.name]
    soonest = source.next_expiry_at and datetime.fromisoformat(source.next_expiry_at)
    return bool(files.came or files.went or (soonest and soonest <= job.as_of))


def _bare_before(job: Job, source: Manifest) -> int:
    return bare_rows(Generation(job.lake, source)) if source.bare_rows is None else source.bare_rows


def _wanted(job: Job, source: Manifest, came: Since, groups: Sequence[tuple[int, ...]]) -> Wanted | None:
    """What to look at, by buckets; None where it is so much, or so little known, that all is built anew."""
    bare = pl.Series("memory_id", [], pl.String)
    if came.has_vectors and source.bare_rows != 0:
        bare = pl.Series("memory_id", bare_ids(Generation(job.lake, source)), pl.String)
    found = []
    room = job.policy.publish.rebuild_above_ratio * source.rows - source.appended_rows - bare.len()
    for buckets in groups:
        ids = changed_ids(job, buckets, came)
        room -= 0 if ids is None else ids.len()
        if ids is None or room < 0:
            return None
        found.append((buckets, pl.concat([ids, bare]).unique()))
    return found


def _whole(job: Job, name: str, inputs: dict[str, Any]) -> Made:
    dimensions = job.embedder.dimensions
    parts, served = written(job, name, job.space, dimensions)
    entries: list[TableEntry] = finish(job.lake, name, dimensions, parts)
    draft = Manifest(
        name,
        job.space,
        dimensions,
        sum(part.rows for part in parts),
        job.as_of.isoformat(),
        tuple(entries),
        inputs,
        min((part.next_expiry_at for part in parts if part.next_expiry_at), default=None),
        large=tuple(served.large),
        bare_rows=sum(part.bare_rows for part in parts),
    )
    manifest = calibrated(Generation(job.lake, draft), job.policy.publish, job.as_of)
    finished, checks = _passed(job, manifest, served, None)
    return Made(finished, checks, served)


def _passed(
    job: Job, draft: Manifest, served: Served, fresh: dict[str, int] | None
) -> tuple[Manifest, list[Check]]:
    """Check a generation and write its manifest.

    Raises:
        CheckError: A check failed.
    """
    with job.progress.task("check", None):
        generation = Generation(job.lake, draft)
        checks = run_checks(
            generation,
            policy=job.policy.publish,
            as_of=job.as_of,
            expected_rows=served.rows,
            expected_space=job.space,
            fresh=fresh,
        )
        if fresh is None or _is_to_measure(draft):
            background, floor = measured(generation, job.embedder)
            draft = replace(
                draft,
                background={name: one.as_dict() for name, one in background.items()},
                measured_at_rows=draft.appended_rows,
            )
        else:
            floor = Check("background", True, draft.checks["background"])
    checks.append(floor)
    failed = [check for check in checks if not check.passed]
    if failed:
        told = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise CheckError(
            f"the new index failed its checks, the old one stays live: {told}",
            next((check.remedy for check in failed if check.remedy), "See docs/data-engineers.md, Publish."),
        )
    finished = replace(draft, checks={c.name: c.detail for c in checks})
    job.lake.storage.write(f"index/{draft.generation}/manifest.json", finished.dumps())
    return finished, checks


def _is_to_measure(draft: Manifest) -> bool:
    """Whether the generation differs so much from the one its background was measured in, or has none."""
    if not draft.background or draft.measured_at_rows is None or "background" not in draft.checks:
        return True
    return (draft.appended_rows - draft.measured_at_rows) * MEASURED_SHARE >= draft.rows
