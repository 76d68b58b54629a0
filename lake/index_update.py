"""A generation made from another one: its files linked, rows that went hidden, rows that came behind.

The other one is never changed: readers hold it. Its files are linked (copied on an object store) under
the new name, where only new files come beside them. A row that goes is hidden by Lance's own deletion
file: no search sees it, but its bytes stay in the data file and its words in the text index until a
generation is built whole. The manifest says how many such rows there are and since when, for the bound
on that (``publish.hidden_days``). Erasure does not wait for it: it writes anew every fragment that hides
any row, and all indexes (``lake.erasure.index_purge``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from lake.erasure.index_files import share
from lake.faults import storage_fault
from lake.index import MAIN, Manifest, TableEntry
from lake.index_batches import index_schema, to_batch
from lake.index_build import by_scope_table, drop_history, index_main
from lake.index_fragments import LANCE_FAULTS, fragments_of
from lake.index_going import looked_through
from lake.lake import Lake

MOST_DELTAS = 8
"""Deltas of an index before they are merged: each costs a search a look, and a merge costs what they hold."""


@dataclass
class Updated:
    """What an update did.

    Attributes:
        tables: Of the new generation.
        fresh: Rows of new fragments, by table; they are its last ones.
        appended: Rows that came.
        removed: Rows that went.
        bare: How many of the rows that went had no vector, less those that came without one.
        next_expiry_at: When the first row of the new generation expires.
        is_short_of_a_table: Whether rows came for a large scope that has no table; then it is of no use.
    """

    tables: list[TableEntry] = field(default_factory=list)
    fresh: dict[str, int] = field(default_factory=dict)
    appended: int = 0
    removed: int = 0
    bare: int = 0
    next_expiry_at: datetime | None = None
    is_short_of_a_table: bool = False


@dataclass
class _Added:
    """New fragments by table, not committed yet."""

    fragments: dict[str, list[Any]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    bare: int = 0
    soonest: list[datetime] = field(default_factory=list)


def update(
    lake: Lake,
    source: Manifest,
    target: str,
    *,
    ids: Collection[str],
    as_of: datetime,
    frames: Iterable[pl.DataFrame],
) -> Updated:
    """Write a generation that differs from another one in some rows.

    Args:
        lake: Whose index.
        source: The generation it is made from; it is only read.
        target: Name of the new one; it must not have files yet.
        ids: ``memory_id`` of rows that go, whether or not the source holds them.
        as_of: Rows that have expired by then go too.
        frames: ``schemas.MEMORIES`` rows that come.

    Raises:
        StorageError: The store fails, or the source cannot be read; the new generation is not live.
        Exception: Whatever making the rows raised, as it was: no other generation would be any better.
    """
    done = Updated()
    gone = pa.array(sorted(ids), pa.string())
    going = looked_through(lake, source, gone, as_of)
    added = _written(lake, source, target, going.young.batches(), frames)
    for entry in source.tables:
        dropped = going.young.numbers if entry.name == MAIN else ()
        try:
            changed = _table(lake, source, target, entry, going.tables[entry.name], dropped, added)
        except LANCE_FAULTS as error:
            raise storage_fault(
                error, f"updating the index at {lake.index_uri(target)}/{entry.name}"
            ) from error
        if changed.rows or entry.name == MAIN:
            done.tables.append(changed)
            fragments = added.fragments.get(entry.name, [])
            done.fresh[entry.name] = sum(fragment.physical_rows for fragment in fragments)
    done.appended = sum(added.rows.values())
    done.removed, done.bare = going.rows, going.bare - added.bare
    done.is_short_of_a_table = not added.fragments.keys() <= {entry.name for entry in source.tables}
    instants = [*added.soonest, *([going.next_expiry_at] if going.next_expiry_at else [])]
    done.next_expiry_at = min(instants, default=None)
    return done


def _written(
    lake: Lake,
    source: Manifest,
    target: str,
    before: Iterator[pa.RecordBatch],
    frames: Iterable[pl.DataFrame],
) -> _Added:
    """New rows as data files of the tables they belong in; those of main behind rows of before."""
    added, large = _Added(), source.large or ()
    schema, doing = index_schema(source.dimensions), f"updating the index at {lake.index_uri(target)}"

    def write(name: str, batches: Iterator[pa.RecordBatch]) -> None:
        uri = f"{lake.index_uri(target)}/{name}.lance"
        added.fragments.setdefault(name, []).extend(fragments_of(batches, uri, schema, doing))

    def of_main() -> Iterator[pa.RecordBatch]:
        try:
            yield from before
        except LANCE_FAULTS as error:
            raise storage_fault(error, doing) from error
        for frame in frames:
            _note(added, frame)
            for name, part in by_scope_table(frame, large).items():
                added.rows[name] = added.rows.get(name, 0) + part.height
                if name == MAIN:
                    yield to_batch(part, source.dimensions)
                else:
                    write(name, iter([to_batch(part, source.dimensions)]))

    write(MAIN, of_main())
    return added


def _note(added: _Added, frame: pl.DataFrame) -> None:
    added.bare += int((frame["vector"].list.len() == 0).sum())
    soonest = frame["expires_at"].min()
    if isinstance(soonest, datetime):
        added.soonest.append(soonest)


def _table(
    lake: Lake,
    source: Manifest,
    target: str,
    entry: TableEntry,
    going: Mapping[int, NDArray[np.int64]],
    dropped: Collection[int],
    added: _Added,
) -> TableEntry:
    """One table of the new generation; nothing of it is made where no row is left."""
    import lance

    fragments = added.fragments.get(entry.name, [])
    removed = sum(len(places) for places in going.values())
    rows = entry.rows - removed + added.rows.get(entry.name, 0)
    if not rows and entry.name != MAIN:
        return replace(entry, rows=0)
    _link(lake, source.generation, target, entry.name)
    uri = f"{lake.index_uri(target)}/{entry.name}.lance"
    if removed or dropped:
        _hide(uri, going, dropped)
    if fragments:
        table = lance.dataset(uri)
        lance.LanceDataset.commit(uri, lance.LanceOperation.Append(fragments), read_version=table.version)
        if entry.rows:
            _index_more(lance.dataset(uri))
        else:  # an empty table has no index to add to
            index_main(lance.dataset(uri), rows)
    if removed or dropped or fragments:
        drop_history(uri)
    return replace(entry, rows=rows, hidden_rows=entry.hidden_rows + removed)


def _link(lake: Lake, source: str, target: str, name: str) -> None:
    """A table's files without its history: of the versions only the newest."""
    prefix = f"index/{source}/{name}.lance"
    names = [entry.key.removeprefix(f"{prefix}/") for entry in lake.storage.entries(prefix)]
    # Named downwards from 2^64, so the newest comes first.
    versions = sorted(n for n in names if n.startswith("_versions/") and n.endswith(".manifest"))
    wanted = {n for n in names if n.startswith(("data/", "_indices/", "_deletions/"))} | set(versions[:1])
    share(lake, prefix, f"index/{target}/{name}.lance", wanted)


def _hide(uri: str, going: Mapping[int, NDArray[np.int64]], dropped: Collection[int]) -> None:
    """Hide rows, and fragments as a whole."""
    import lance

    table = lance.dataset(uri)
    left, gone = [], sorted(dropped)
    for number, places in going.items():
        if number in dropped:
            continue
        fragment = table.get_fragment(number).delete_rows(places.tolist())
        if fragment is None:
            gone.append(number)
        else:
            left.append(fragment)
    hidden = lance.LanceOperation.Delete(left, gone, "memory_id")  # said for the log only
    lance.LanceDataset.commit(uri, hidden, read_version=table.version)


def _index_more(table: Any) -> None:
    """Add the new rows to every index, as one more delta; merge the deltas once they are many."""
    deltas = max((len(one.segments) for one in table.describe_indices()), default=1) - 1
    table.optimize.optimize_indices(num_indices_to_merge=deltas if deltas >= MOST_DELTAS else 0)
