"""The Delta tables of a lake: created from their schema, appended to atomically, read by partition.

Appends are retried after a conflicting commit, and visible whole or not
at all. Column statistics are kept for impersonal columns only, because the log outlives a purge.
Free text of an encrypted lake is sealed before it is written and opened as it is read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from functools import partial

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.commits import retried, sync_log, write_commit
from lake.data_files import in_partitions, require_whole, scan_files
from lake.faults import wrapped
from lake.known_states import Opened, newest
from lake.lake import Lake
from lake.log_entries import arrived, followed, read_commit, undone
from lake.opened import forget, held_open, open_table
from lake.parts import removal, remove_parts
from lake.storage import make_directory
from lake.table_shape import configuration, drift_of, require_readable, require_writable
from lake.written import has_sealed, written
from transforms.errors import BusyError, LakeError, SlowwaveError
from transforms.schemas import Table

__all__ = ["append", "create_table", "held_open", "open_table", "rewrite", "scan", "version"]


def create_table(lake: Lake, table: Table) -> DeltaTable:
    """The table to write to, made empty where it does not exist yet.

    Raises:
        LakeError: Its columns are not those that this version declares.
    """
    existing = open_table(lake, table)
    if existing is not None:
        require_writable(drift_of(table, existing))
        return existing

    root = lake.root
    if root is not None:
        with wrapped(f"creating table {table.name}"):
            make_directory(root / "tables" / table.name / "_delta_log")

    def make() -> DeltaTable:
        return DeltaTable.create(
            lake.table_uri(table),
            schema=table.arrow(),
            mode="ignore",
            partition_by=list(table.partition_by),
            configuration=configuration(table),
            raise_if_key_not_exists=False,
        )

    return retried(make, f"creating table {table.name}")


def version(lake: Lake, table: Table) -> int:
    """The table's version, -1 before its first row."""
    return -1 if (state := open_table(lake, table)) is None else state.version()


def append(lake: Lake, table: Table, frame: pl.DataFrame) -> None:
    """Append rows in one atomic commit.

    Args:
        lake: Where.
        table: Which; the frame must conform to it.
        frame: Rows; none writes nothing.

    Raises:
        StorageError: The disk is full or the store fails; nothing of the batch is visible.
        BusyError: Other writers won every attempt.
        LakeError: The table is of an older or newer version of slowwave; nothing is written.
    """
    if frame.is_empty():
        return
    _commit(lake, table, [frame], f"appending to {table.name}")


def rewrite(
    lake: Lake,
    table: Table,
    files: Collection[str],
    frame: pl.DataFrame | Iterable[pl.DataFrame],
    *,
    as_stored: bool = False,
    is_merge: bool = False,
) -> None:
    """Put rows in the place of some data files, in one atomic commit; files that come meanwhile stay.

    Args:
        lake: Where.
        table: Which; the frame must conform to it.
        files: Data files (as ``data_files`` names them) that go.
        frame: All rows that shall remain of them; or some at a time, each written before the next are made.
        as_stored: The rows were scanned ``as_stored``: what is sealed in them is written as it is.
        is_merge: They are the very rows of the files, which ``lake.log_entries`` then knows for old.

    Raises:
        StorageError: The disk is full or the store fails; the files are as they were.
        BusyError: Other writers won every attempt, or one of the files is gone.
        LakeError: As ``append``.
    """
    frames = [frame] if isinstance(frame, pl.DataFrame) else frame
    _commit(lake, table, frames, f"rewriting {table.name}", files, is_sealed=as_stored, is_merge=is_merge)


def _commit(
    lake: Lake,
    table: Table,
    frames: Iterable[pl.DataFrame],
    where: str,
    instead_of: Collection[str] = (),
    *,
    is_sealed: bool = False,
    is_merge: bool = False,
) -> None:
    def prepare() -> None:
        forget(lake, table)
        create_table(lake, table)

    actions = written(lake, table, frames, prepare, instead_of if is_merge else None, is_sealed=is_sealed)
    removals = [removal(name, is_merge=is_merge) for name in sorted(instead_of)]
    # Named, so that an attempt which was committed but reported as failed is not written again.
    batch_id = secrets.token_hex(16)

    def is_committed(state: DeltaTable) -> bool:
        return state.transaction_version(batch_id) is not None

    def commit() -> None:
        state = newest(lake.table_uri(table)) if lake.is_local else Opened(lake.table_uri(table))
        if not is_committed(state):
            if instead_of and not state.sizes.keys() >= set(instead_of):
                raise BusyError(f"{where}: another writer took the files out", "Run again.")
            write_commit(state, table, [*actions, *removals], batch_id)

    try:
        retried(commit, where)
    except SlowwaveError:
        if lake.is_local and not _holds(lake, table, is_committed):
            remove_parts(lake.storage, table, [action.path for action in actions])
        raise
    finally:
        forget(lake, table)
    sync_log(lake, table)


def _holds(lake: Lake, table: Table, condition: Callable[[DeltaTable], bool]) -> bool:
    """Whether the table meets a condition; true where it cannot be read, to keep what it may hold."""
    try:
        state = open_table(lake, table)
    except SlowwaveError:
        return True
    return state is None or condition(state)


def scan(
    lake: Lake,
    table: Table,
    *,
    buckets: Collection[int] | None = None,
    months: Collection[str] | None = None,
    files: Collection[str] | None = None,
    as_stored: bool = False,
) -> pl.LazyFrame:
    """Rows of a table, pruned to partitions before anything is read.

    In an encrypted lake text is opened where it is asked for, after all filters on other columns; a row
    whose key was destroyed is then left out. That may raise when the frame is collected.

    Args:
        lake: Where.
        table: Which.
        buckets: Tenant buckets to read; None reads all.
        months: Months to read, ``YYYY-MM``; None reads all.
        files: Only these data files (as ``data_files`` names them); None reads all.
        as_stored: Leave sealed text sealed, for ``rewrite``: needs no keys, and leaves no row out.

    Raises:
        LakeError: A data file to be read is missing or has lost bytes, or the table lacks columns that are
            never null; when the frame is collected, the lake is encrypted and text cannot be opened.
    """
    state = open_table(lake, table)
    if state is None:
        return table.empty().lazy()
    drift = drift_of(table, state)
    require_readable(drift)
    is_opened = has_sealed(lake, table) and not as_stored
    if lake.is_local or files is not None or is_opened or drift.lacking:
        sizes = state.sizes
        wanted = in_partitions(sorted(sizes if files is None else files), buckets, months)
        require_whole(lake, table, wanted, sizes)
        frame = scan_files(lake, table, wanted)
        if is_opened and wanted:
            from lake.crypto.opening import opened_scan  # only where a lake is encrypted

            frame = opened_scan(lake, table, wanted, sizes, partial(scan_files, lake, table))
    else:
        frame = pl.scan_delta(state)
    if buckets is not None:
        frame = frame.filter(pl.col("tenant_bucket").is_in(sorted(buckets)))
    if months is not None:
        frame = frame.filter(pl.col("month").is_in(sorted(months)))
    return frame.select(table.names)


def data_files(
    lake: Lake, table: Table, *, buckets: Collection[int] | None = None, at_version: int | None = None
) -> frozenset[str]:
    """Names of the data files that make up the table or some of its buckets, now or at a version.

    Raises:
        LakeError: The version is no longer in the log.
    """
    state = open_table(lake, table)
    if state is None:
        return frozenset()
    names = state.sizes if at_version is None else _at_version(lake, table, state, at_version)
    return frozenset(in_partitions(list(names), buckets, None))


def _at_version(lake: Lake, table: Table, state: Opened, at_version: int) -> Collection[str]:
    """Data files of a version: from the commits since, where those are few, else from the log anew."""
    if 0 <= at_version <= state.version():
        names = undone(lake.storage, table, state.sizes, range(at_version + 1, state.version() + 1))
        if names is not None:
            return names
    try:
        return Opened(lake.table_uri(table), version=at_version).sizes
    except (DeltaError, OSError) as error:
        raise LakeError(
            f"table {table.name} has no version {at_version} any more", "Run without a starting version."
        ) from error


def added_files(lake: Lake, table: Table, since_version: int, due: Collection[str] = ()) -> frozenset[str]:
    """Data files with rows that came after a version; all files where that is unknown.

    Files that were only merged or rewritten from such as stood at the version are none of them, as far
    back as the log goes.

    Args:
        lake: Where.
        table: Which.
        since_version: The version; below 0 all files are new.
        due: Files that are to be read again, under whatever name their rows have now.
    """
    now = data_files(lake, table)
    if since_version < 0:
        return now
    try:
        base = data_files(lake, table, at_version=since_version)
    except LakeError:
        return now
    if base <= now:
        return (now - base) | (now & set(due))
    later = range(since_version + 1, version(lake, table) + 1)
    commits = [read_commit(lake.storage, table, number) for number in later]
    known = [commit for commit in commits if commit is not None]
    return now & arrived(known, base, due) if len(known) == len(commits) else now - base


def files_followed(lake: Lake, table: Table, since_version: int) -> frozenset[str]:
    """Data files of a version, under the names that their rows have since they were merged.

    Names from before a merge stay where the log no longer tells of it, or where it took newer files, too.

    Raises:
        LakeError: The version is no longer in the log.
    """
    base = data_files(lake, table, at_version=since_version)
    if base <= data_files(lake, table):
        return base
    later = range(since_version + 1, version(lake, table) + 1)
    commits = [read_commit(lake.storage, table, number) for number in later]
    known = [commit for commit in commits if commit is not None]
    return frozenset(followed(known, base)) if len(known) == len(commits) else base


def size_bytes(lake: Lake, table: Table) -> int:
    """Bytes of the data files that make up the table now."""
    state = open_table(lake, table)
    return 0 if state is None else sum(state.sizes.values())
