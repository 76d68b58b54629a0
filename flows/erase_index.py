"""The published index without what is erased: one generation that holds nothing of it, and no other."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from flows.erase_objects import note
from flows.erase_work import Work
from flows.publish import run_publish
from flows.published import access_of, inputs_of, memories_of, wishes_of
from lake import revisions
from lake.erasure.index_purge import IndexPurged, purge_index
from lake.erasure.index_rows import held_ids
from lake.hints import settled_version
from lake.index import Manifest, load_manifest
from lake.index_probe import probed
from lake.index_record import read_pointer, readable_pointer
from transforms.derived_memories import PUBLISHED
from transforms.errors import CheckError, LakeError, StorageError
from transforms.schemas import EPISODES


def note_currency(work: Work) -> None:
    """Before anything goes: whether the live index is what a publish would build.

    Then it is so afterwards, too, and the next night builds nothing. After a kill this is not known any
    more, because other jobs may have run meanwhile.
    """
    manifest = _live(work)
    is_current = manifest is not None and manifest.inputs == inputs_of(work.job)
    work.evidence["is_index_current"] = is_current and not work.is_resumed


def purge(work: Work) -> None:
    """Make a generation without the erased rows live, with what was derived anew, and remove every other one.

    Raises:
        CheckError: Neither it nor one built from the tables passes its checks.
    """
    ids = set(work.values("episode", "derived", "published"))
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


def _require_readable(work: Work) -> None:
    """Refuse a live generation that cannot be read.

    Raises:
        LakeError: Something of it is missing or damaged.
    """
    pointer = read_pointer(work.lake)
    if pointer is not None:
        probed(work.lake, pointer.generation)


def _purged(work: Work, ids: set[str], *, is_built: bool = False) -> IndexPurged:
    manifest = _live(work)
    add = None if manifest is None or is_built else _derived_anew(work)
    inputs = None if manifest is None or is_built else _inputs(work, manifest)
    wanted = set() if is_built else ids
    return purge_index(work.lake, wanted, policy=work.job.policy.publish, add=add, inputs=inputs)


def _live(work: Work) -> Manifest | None:
    pointer = readable_pointer(work.lake)
    try:
        return load_manifest(work.lake, pointer.generation) if pointer else None
    except LakeError:
        return None


def _inputs(work: Work, manifest: Manifest) -> dict[str, Any]:
    """What the index stands for: all that the tables hold now, where it did before."""
    if work.evidence["is_index_current"]:
        return inputs_of(work.job)
    version = settled_version(work.lake, EPISODES, int(manifest.inputs["episodes"]))
    return {**manifest.inputs, "episodes": version}


def _derived_anew(work: Work) -> pl.DataFrame | None:
    """Memories of what was derived anew of owners who stay."""
    owners = work.values("owner_stays")
    if owners.is_empty():
        return None
    (bucket,) = work.buckets
    keys = pl.DataFrame({"tenant_id": [work.tenant] * owners.len(), "owner": owners})
    derived = {t.name: revisions.standing(work.lake, t, buckets=[bucket], keys=keys) for t in PUBLISHED}
    job = work.job
    return memories_of(job, bucket, EPISODES.empty(), derived, access_of(job, bucket), wishes_of(job))


def index_rows(work: Work) -> int:
    """Rows of the live generation that rest on what is erased."""
    manifest = _live(work)
    if manifest is None:
        return 0
    ids = pa.array(sorted(set(work.values("episode", "derived"))), pa.string())
    try:
        held = [held_ids(work.lake, manifest.generation, entry, ids) for entry in manifest.tables]
    except (LakeError, StorageError):  # damaged: built anew
        return 0
    return sum(sum(part.values()) for part in held)
