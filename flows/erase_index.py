"""The published index without what is erased: one generation that holds nothing of it, and no other."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from flows.erase_objects import note
from flows.erase_work import Work
from flows.job import Job
from flows.publish import run_publish
from flows.publish_rows import current
from flows.published import inputs_of, wishes_of
from lake import revisions, tables
from lake.erasure.index_purge import purge_index
from lake.erasure.index_purged import IndexPurged, Replaced
from lake.erasure.index_rows import held_ids
from lake.hints import settled_version
from lake.index import Generation, Manifest, load_manifest
from lake.index_probe import probed
from lake.index_record import read_pointer, readable_pointer
from lake.scope import literal
from transforms.derived_memories import PUBLISHED
from transforms.errors import CheckError, LakeError, StorageError
from transforms.schemas import EPISODES


def note_currency(work: Work) -> None:
    """Before anything goes: whether the live index is what a publish would build.

    Then it is so afterwards, too, and the next night builds nothing. After a kill this is not known any
    more, because other jobs may have run meanwhile.
    """
    manifests = {side.space: _live(work, side) for side in work.job.sides}
    current = [
        side.space
        for side in work.job.sides
        if (found := manifests[side.space]) is not None and found.inputs == inputs_of(side)
    ]
    work.evidence["is_index_current"] = work.job.space in current and not work.is_resumed
    work.evidence["current_twins"] = [] if work.is_resumed else [s for s in current if s != work.job.space]


def purge(work: Work) -> None:
    """Make a generation without the erased rows live, with what was derived anew, and remove every other one.

    Raises:
        CheckError: Neither it nor one built from the tables passes its checks.
    """
    ids = set(work.values("episode", "derived", "published", "recalled")) | _unknown(work)
    note(work, "index", index_rows(work))
    work.save()
    try:
        _require_readable(work)
        done = _purged(work, ids)
    except (LakeError, CheckError):  # the live one is damaged: what the tables hold is built anew
        run_publish(work.job, force=True)
        done = _purged(work, ids, is_built=True)
    known = work.evidence.get("generations_removed", 0)
    work.evidence["generations_removed"] = known + done.generations_removed


def _unknown(work: Work) -> set[str]:
    """Ids of the subject that the live index holds and no table does: retention took them since."""
    pointer = readable_pointer(work.lake)
    if pointer is None or work.aim.subject.memory is not None:
        return set()
    mine = " AND ".join(f"{name} = {literal(value)}" for name, value in work.aim.subject.columns().items())
    try:
        live = [Generation(work.lake, load_manifest(work.lake, name)) for name in pointer.live()]
        found = {
            row
            for one in live
            for entry in one.manifest.tables
            if entry.rows
            for row in one.dataset(entry.name).to_table(["memory_id"], mine)["memory_id"].to_pylist()
        }
    except (LakeError, StorageError):  # damaged: built anew
        return set()
    for table in (EPISODES, *PUBLISHED):
        held = tables.scan(work.lake, table, buckets=work.buckets).select(pl.col(table.key[0]))
        found -= set(held.filter(pl.col(table.key[0]).is_in(sorted(found))).collect()[table.key[0]])
    return found


def _require_readable(work: Work) -> None:
    """Refuse a live generation that cannot be read.

    Raises:
        LakeError: Something of it is missing or damaged.
    """
    pointer = read_pointer(work.lake)
    if pointer is not None:
        for name in pointer.live():
            probed(work.lake, name)


def _purged(work: Work, ids: set[str], *, is_built: bool = False) -> IndexPurged:
    sides = work.job.sides
    found = [Replaced() if is_built else _replaced(work, side) for side in sides]
    twins = {side.space: one for side, one in zip(sides[1:], found[1:], strict=True)}
    policy = work.job.policy.publish
    return purge_index(
        work.lake,
        set() if is_built else ids,
        policy=policy,
        add=found[0].add,
        inputs=found[0].inputs,
        twins=twins,
    )


def _replaced(work: Work, side: Job) -> Replaced:
    manifest = _live(work, side)
    return (
        Replaced() if manifest is None else Replaced(_written_anew(work, side), _inputs(work, side, manifest))
    )


def _live(work: Work, side: Job | None = None) -> Manifest | None:
    """The live generation's manifest; of the model that is being replaced, its twin's."""
    pointer = readable_pointer(work.lake)
    if pointer is None:
        return None
    name = pointer.generation if side is None or side is work.job else pointer.twin(side.space)
    try:
        return load_manifest(work.lake, name) if name else None
    except LakeError:
        return None


def _inputs(work: Work, side: Job, manifest: Manifest) -> dict[str, Any]:
    """What the index stands for: all that the tables hold now, where it did before.

    Not where a summary may have gone for which episodes were not served: a publish brings these back.
    """
    was_current = work.evidence["is_index_current"]
    if side is not work.job:
        was_current = side.space in work.evidence.get("current_twins", ())
    brings_back = side.policy.summaries.detail == "drop_after_summary" and work.values("owner_stays").len()
    if was_current and not brings_back:
        return inputs_of(side)
    version = settled_version(work.lake, EPISODES, int(manifest.inputs["episodes"]))
    return {**manifest.inputs, "episodes": version}


def _written_anew(work: Work, job: Job) -> pl.DataFrame | None:
    """Memories that stay and are not what they were: derived anew, or recalled by what is erased."""
    owners, recalled = work.values("owner_stays"), work.values("recalled")
    if owners.is_empty() and recalled.is_empty():
        return None
    (bucket,) = work.buckets
    keys = pl.DataFrame({"tenant_id": [work.tenant] * owners.len(), "owner": owners})
    derived = [
        revisions.standing(work.lake, table, buckets=[bucket], keys=keys)[table.key[0]] for table in PUBLISHED
    ]
    ids = pl.concat([recalled, *(one.alias(recalled.name) for one in derived)]).unique()
    return current(job, [bucket], ids, wishes_of(job))


def index_rows(work: Work) -> int:
    """Rows of the live generation, and of its twin, that rest on what is erased."""
    found = [_live(work, side) for side in work.job.sides]
    ids = pa.array(sorted(set(work.values("episode", "derived"))), pa.string())
    try:
        held = [
            held_ids(work.lake, manifest.generation, entry, ids)
            for manifest in found
            if manifest is not None
            for entry in manifest.tables
        ]
    except (LakeError, StorageError):  # damaged: built anew
        return 0
    return sum(sum(part.values()) for part in held)
