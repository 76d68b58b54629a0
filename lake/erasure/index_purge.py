"""Rows out of the published index for good: a new generation without them, and no other one beside it.

The live generation is never changed. Tables that hold none of the rows are linked into the new
generation (copied on an object store); of the others, files without such a row are linked, the rest is
written anew, and every index is built anew, because a full-text index keeps the words of rows that are
gone. The same is done to a table of which an update hid rows (``lake.index_update``), whoever's they
were. The pointer moves last; until then a run that was killed has left strays, which the next removes.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl
import pyarrow as pa

from lake.erasure.index_files import share, size_of
from lake.erasure.index_purged import IndexPurged, Replaced
from lake.erasure.index_rows import Removal, held_ids, without
from lake.index import MAIN, Generation, Manifest, Pointer, TableEntry, load_manifest, scope_hash
from lake.index_build import generations, remove_generation
from lake.index_checks import Check, calibrated, run_checks
from lake.index_record import is_generation, number_of, readable_pointer, write_pointer
from lake.lake import Lake
from transforms.errors import CheckError, SlowwaveError, StorageError
from transforms.policy import PublishPolicy
from transforms.schemas import MEMORIES

_TOLERATED = frozenset({"coverage"})
"""Says that others' rows lack vectors, which no purge changes and which may not keep one waiting."""


def purge_index(
    lake: Lake,
    memory_ids: Collection[str],
    *,
    policy: PublishPolicy,
    add: pl.DataFrame | None = None,
    inputs: Mapping[str, Any] | None = None,
    twins: Mapping[str, Replaced] | None = None,
) -> IndexPurged:
    """Take rows out of the index, with all that was ever built from them, and put others in.

    Where no pointer can be read nothing is live, and all that lies there goes.

    Args:
        lake: Whose; its lock is held, for nothing may publish meanwhile.
        memory_ids: Opaque ids of rows that go; those the index does not hold are passed over.
        policy: Of the checks.
        add: ``schemas.MEMORIES`` rows that come, with vectors of the index's space.
        inputs: What the new generation stands for (``flows.published.inputs_of``), so that the next
            publish finds nothing to do; None keeps those of the old one, and the next publish builds.
        twins: Of each vector space whose twin of the live generation is kept, the same for that; a twin of
            any other space goes.

    Raises:
        LakeError: The live generation cannot be read; publish anew (``--force``), then purge.
        CheckError: The new generation failed a check; the old one stays live.
        StorageError: The store fails; the old one stays live.
    """
    began = time.perf_counter()
    pointer = readable_pointer(lake)
    if pointer is None:
        return replace(_without_strays(lake, IndexPurged(), ()), seconds=time.perf_counter() - began)
    done = _without_strays(lake, IndexPurged(), pointer.kept())
    ids = pa.array(sorted(memory_ids), pa.string())
    done = _purged(lake, pointer.generation, ids, Replaced(add, inputs), policy, pointer, done)
    live = str(done.generation)
    purged = {}
    for space, replaced in (twins or {}).items():
        twin = pointer.twin(space)
        if twin is not None:
            told = _purged(lake, twin, ids, replaced, policy, pointer, IndexPurged())
            purged[space] = str(told.generation)
            done = replace(done, bytes_rewritten=done.bytes_rewritten + told.bytes_rewritten)
    write_pointer(lake, Pointer(live, (live,)).with_twins({live: purged}))
    whole = _without_strays(lake, done, {live, *purged.values()})
    return replace(whole, seconds=time.perf_counter() - began)


def _purged(
    lake: Lake,
    generation: str,
    ids: pa.Array,
    replaced: Replaced,
    policy: PublishPolicy,
    pointer: Pointer,
    done: IndexPurged,
) -> IndexPurged:
    """One generation without the rows, under a new name where it held any; nothing points to it yet."""
    add, inputs = replaced.add, replaced.inputs
    manifest = load_manifest(lake, generation)
    held = {entry.name: held_ids(lake, manifest.generation, entry, ids) for entry in manifest.tables}
    added = _by_table(manifest, MEMORIES.empty() if add is None else MEMORIES.conform(add))
    done = replace(done, generation=manifest.generation, rows_before=manifest.rows, rows_after=manifest.rows)
    if any(held.values()) or added or manifest.hidden_rows:
        name = f"gen-{max(map(number_of, _held(lake) | pointer.kept())) + 1:06d}"
        try:
            done = _build(lake, manifest, name, ids, held, added, policy, inputs, done)
        except SlowwaveError:
            remove_generation(lake, name)
            raise
    elif inputs is not None and manifest.inputs != inputs:
        _save(lake, replace(manifest, inputs=dict(inputs)))
    return done


def _without_strays(lake: Lake, done: IndexPurged, kept: Collection[str]) -> IndexPurged:
    """Remove all generations but these, and add up what went.

    Raises:
        StorageError: One could not be removed.
    """
    strays = sorted(_held(lake) - set(kept))
    sizes = [size_of(lake, f"index/{name}") for name in strays]
    for name in strays:
        remove_generation(lake, name)
    lake.storage.sweep("index", 0)
    left = sorted(_held(lake) & set(strays))
    if left:
        raise StorageError(
            f"generation {left[0]} of the index cannot be removed", "Remove its folder by hand."
        )
    return replace(
        done,
        generations_removed=done.generations_removed + len(strays),
        files_removed=done.files_removed + sum(files for files, _ in sizes),
        bytes_removed=done.bytes_removed + sum(size for _, size in sizes),
    )


def _held(lake: Lake) -> set[str]:
    return {name for name in generations(lake) if is_generation(name)}


def _by_table(manifest: Manifest, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by the table their scope is searched in."""
    own = {entry.scope for entry in manifest.tables if entry.scope}
    scopes = rows.select("tenant_id", "user_id").unique(maintain_order=True)
    hashes = [scope_hash(tenant, user) for tenant, user in scopes.iter_rows()]
    names = [f"s-{scope}" if scope in own else MAIN for scope in hashes]
    placed = rows.join(
        scopes.with_columns(_table=pl.Series(names, dtype=pl.String)),
        on=["tenant_id", "user_id"],
        nulls_equal=True,
        maintain_order="left",
    )
    parts = placed.sort(MEMORIES.sort_by).partition_by("_table", as_dict=True, include_key=False)
    return {str(key[0]): part.select(MEMORIES.names) for key, part in parts.items()}


def _build(
    lake: Lake,
    manifest: Manifest,
    name: str,
    ids: pa.Array,
    held: Mapping[str, dict[int, int]],
    added: Mapping[str, pl.DataFrame],
    policy: PublishPolicy,
    inputs: Mapping[str, Any] | None,
    done: IndexPurged,
) -> IndexPurged:
    """Make and check the new generation.

    Raises:
        CheckError: A check failed.
    """
    removals: list[Removal] = []
    linked: list[TableEntry] = []
    files = 0
    for entry in manifest.tables:
        more = added.get(entry.name, MEMORIES.empty())
        if held[entry.name] or more.height or entry.hidden_rows:
            removals.append(
                without(
                    lake, manifest.generation, name, entry, ids, held[entry.name], more, manifest.dimensions
                )
            )
        else:
            old = f"index/{manifest.generation}/{entry.name}.lance"
            files += share(lake, old, f"index/{name}/{entry.name}.lance")[0]
            linked.append(entry)
    written = [removal.entry for removal in removals if removal.entry is not None]
    finished, checks = _checked(lake, manifest, name, linked, written, added, policy, inputs)
    _save(lake, finished)
    told = {check.name: check.detail for check in checks}
    return replace(
        _summed(done, removals),
        generation=name,
        rows_after=finished.rows,
        checks=told,
        tables_linked=len(linked),
        files_linked=files + sum(removal.files_shared for removal in removals),
    )


def _summed(done: IndexPurged, removals: list[Removal]) -> IndexPurged:
    """What was done to the tables that lost or gained rows."""
    gone = sum(removal.entry is None for removal in removals)
    return replace(
        done,
        rows_removed=sum(removal.rows_removed for removal in removals),
        rows_added=sum(removal.rows_added for removal in removals),
        tables_rewritten=len(removals) - gone,
        tables_removed=gone,
        bytes_rewritten=sum(removal.bytes_rewritten for removal in removals),
    )


def _checked(
    lake: Lake,
    manifest: Manifest,
    name: str,
    linked: list[TableEntry],
    written: list[TableEntry],
    added: Mapping[str, pl.DataFrame],
    policy: PublishPolicy,
    inputs: Mapping[str, Any] | None,
) -> tuple[Manifest, list[Check]]:
    """The manifest of the new generation, calibrated where a table was written, and its checks."""
    as_of = datetime.fromisoformat(manifest.as_of)
    draft = replace(
        _without_hidden(manifest, added),
        generation=name,
        tables=tuple(written),
        inputs=dict(manifest.inputs if inputs is None else inputs),
        checks={},
    )
    tuned = calibrated(Generation(lake, draft), policy, as_of).tables
    order = {entry.name: place for place, entry in enumerate(manifest.tables)}
    tables = tuple(sorted([*linked, *tuned], key=lambda entry: order[entry.name]))
    rows = sum(entry.rows for entry in tables)
    whole = replace(draft, tables=tables, rows=rows)
    checks = run_checks(
        Generation(lake, whole),
        policy=policy,
        as_of=as_of,
        expected_rows=rows,
        expected_space=manifest.space,
    )
    failed = [check for check in checks if not check.passed and check.name not in _TOLERATED]
    if failed:
        told = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise CheckError(
            f"the index without the erased rows failed its checks, the old one stays live: {told}",
            "Run slowwave publish --force, then erase again.",
        )
    return replace(whole, checks={check.name: check.detail for check in checks}), checks


def _without_hidden(manifest: Manifest, added: Mapping[str, pl.DataFrame]) -> Manifest:
    """What is known of the rows once all hidden ones are out and others are in."""
    return replace(
        manifest,
        next_expiry_at=_next_expiry(manifest, added),
        appended_rows=manifest.appended_rows + sum(frame.height for frame in added.values()),
        hidden_since=None,
        bare_rows=None,
    )


def _next_expiry(manifest: Manifest, added: Mapping[str, pl.DataFrame]) -> str | None:
    known = [datetime.fromisoformat(manifest.next_expiry_at)] if manifest.next_expiry_at else []
    soonest = [frame["expires_at"].min() for frame in added.values()]
    known += [instant for instant in soonest if isinstance(instant, datetime)]
    return min(known).isoformat() if known else None


def _save(lake: Lake, manifest: Manifest) -> None:
    lake.storage.write(f"index/{manifest.generation}/manifest.json", manifest.dumps())
