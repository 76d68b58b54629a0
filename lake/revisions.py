"""Derived tables as revisions: what stands, what a new derivation changes, and appending only that.

A row that changes is appended again with the next revision of its key, a row that is gone leaves a
last revision with ``is_removed``. Cost follows what changed, and a derivation that comes to the same
rows writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import xor

import polars as pl

from lake import tables
from lake.lake import Lake
from transforms.schemas import LINEAGE, Table

REVISION = ("revision", "is_removed")


def latest(
    lake: Lake,
    table: Table,
    *,
    buckets: Collection[int] | None = None,
    keys: pl.DataFrame | None = None,
    where: pl.Expr | None = None,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """The highest revision of each key, removed ones among them.

    Args:
        lake: Where.
        table: A revisioned table.
        buckets: Tenant buckets to read; None reads all.
        keys: Only rows that match it on all of its columns, which must be columns that no revision
            of a row changes, such as its key, tenant and owner. Null matches null.
        where: Only rows that it holds for; of such columns, too. Other rows are passed over while files
            are read, those that ``keys`` leaves out only afterwards.
        columns: Only these, with the key's and the revision's; None is all.

    Returns:
        Rows of the table, in the order of its key.
    """
    named = {*table.key, *REVISION, *(table.names if columns is None else columns)}
    chosen = [name for name in table.names if name in named]
    if keys is not None and keys.is_empty():
        return table.empty().select(chosen)
    frame = tables.scan(lake, table, buckets=buckets)
    if where is not None:
        frame = frame.filter(where)
    if keys is not None:
        frame = frame.join(keys.lazy().unique(), on=keys.columns, how="semi", nulls_equal=True)
    frame = frame.select(chosen)
    # Streaming passes over rows as it reads; the other engine holds the columns of whole files first.
    return newest(table, frame.collect(engine="streaming") if where is not None else frame.collect())


def newest(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """The highest revision of each key among the rows, in the order of the key.

    Of two runs that wrote one revision, as after a kill between write and note, either will do: both
    derived it from the same rows.
    """
    rows = rows.sort(*table.key, "revision")
    return rows.unique(table.key, keep="last", maintain_order=True)


def newest_rows(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """``newest`` in no order: only keys of several rows are sorted, and most have one.

    Keys are told apart by a hash, in a third of the time; two of one hash are sorted for nothing.
    """
    key = reduce(xor, (pl.col(name).hash(place) for place, name in enumerate(table.key)))
    again = rows.select(key.is_duplicated()).to_series()
    if not again.any():
        return rows
    return pl.concat([rows.filter(~again), newest(table, rows.filter(again))])


def standing(
    lake: Lake,
    table: Table,
    *,
    buckets: Collection[int] | None = None,
    keys: pl.DataFrame | None = None,
    columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """What stands of ``latest``: without removed rows and without the revision's own columns."""
    return alive(latest(lake, table, buckets=buckets, keys=keys, columns=columns))


def alive(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that are not removed, without the revision's own columns."""
    return rows.filter(~pl.col("is_removed")).drop(REVISION)


def squeeze(lake: Lake, table: Table) -> int:
    """Rewrite the buckets of which more than half of the rows no longer stand.

    Returns:
        How many rows went.
    """
    # Each revision after the first left one row behind that stands no more; a removed one is another.
    is_stale = (pl.col("revision") > 1).cast(pl.Int64) + pl.col("is_removed").cast(pl.Int64)
    marks = tables.scan(lake, table).select("tenant_bucket", "is_removed", "revision")
    counts = marks.group_by("tenant_bucket").agg(rows=pl.len(), stale=is_stale.sum()).collect()
    gone = 0
    for bucket in sorted(counts.filter(2 * pl.col("stale") > pl.col("rows"))["tenant_bucket"]):
        files = sorted(tables.data_files(lake, table, buckets=[bucket]))
        if not _is_mostly_stale(lake, table, files):
            continue
        held = tables.scan(lake, table, files=files).collect()
        stood = newest(table, held).filter(~pl.col("is_removed"))
        tables.rewrite(lake, table, files, stood)
        gone += held.height - stood.height
    return gone


def _is_mostly_stale(lake: Lake, table: Table, files: Collection[str]) -> bool:
    """Whether more than half of the rows of a bucket's files no longer stand, by their keys.

    Revisions alone only bound it: what a row left behind may be gone by an earlier ``squeeze``.
    """
    keys = tables.scan(lake, table, files=files).select(*table.key, *REVISION).collect()
    stood = newest_rows(table, keys).filter(~pl.col("is_removed"))
    return 2 * stood.height < keys.height


def purge(lake: Lake, table: Table, owners: pl.DataFrame) -> int:
    """Rewrite the files that hold anything of some owners that stands no more, without it.

    Args:
        lake: Where.
        table: A revisioned table with ``tenant_id`` and ``owner``.
        owners: Both, of the owners.

    Returns:
        How many rows went.
    """
    gone = 0
    for bucket in sorted({lake.bucket(tenant) for tenant in owners["tenant_id"]}):
        names = sorted(tables.data_files(lake, table, buckets=[bucket]))
        places = [_places(lake, table, name, owners) for name in names]
        if not places:
            continue
        every = pl.concat(places)
        stood = newest(table, every).filter(~pl.col("is_removed")).select("file", "row")
        stale = every.join(stood, on=["file", "row"], how="anti")
        for (name,), rows in stale.group_by("file"):
            held = tables.scan(lake, table, files=[str(name)]).collect()
            kept = held.with_row_index("row").join(rows, on="row", how="anti").drop("row")
            tables.rewrite(lake, table, [str(name)], kept)
        gone += stale.height
    return gone


def _places(lake: Lake, table: Table, name: str, owners: pl.DataFrame) -> pl.DataFrame:
    """Key, revision and place of each row of some owners in a file."""
    columns = [*table.key, *REVISION, "tenant_id", "owner"]
    rows = tables.scan(lake, table, files=[name]).select(columns).collect().with_row_index("row")
    mine = rows.join(owners, on=["tenant_id", "owner"], how="semi", maintain_order="left")
    return mine.with_columns(file=pl.lit(name)).drop("tenant_id", "owner")


@dataclass(frozen=True)
class Changes:
    """What a derivation changes: frames of the table, with their new revisions.

    Attributes:
        added: Rows of new keys, or of keys that were removed.
        changed: Rows that stood with other values.
        removed: The last values of rows that stand no more.
    """

    added: pl.DataFrame
    changed: pl.DataFrame
    removed: pl.DataFrame

    @property
    def rows(self) -> pl.DataFrame:
        """All of them, as they are appended."""
        return pl.concat([self.added, self.changed, self.removed])


def changes(table: Table, before: pl.DataFrame, after: pl.DataFrame) -> Changes:
    """Compare what a derivation comes to with what stands.

    Args:
        table: A revisioned table.
        before: ``latest`` of all keys that the derivation speaks for.
        after: Its rows, without revisions; a key that is missing is removed.
    """
    names = [name for name in table.names if name not in REVISION]
    rows = after.select(pl.col(name).cast(table.polars[name]) for name in names)
    old = before.select(*table.key, *(pl.col(n).alias(f"old {n}") for n in table.names if n not in table.key))
    both = rows.join(old, on=list(table.key), how="left", maintain_order="left")
    is_new = pl.col("old is_removed").is_null() | pl.col("old is_removed")
    differs = pl.any_horizontal(pl.col(n).ne_missing(pl.col(f"old {n}")) for n in names if n not in table.key)
    numbered = both.with_columns(
        revision=(pl.col("old revision").fill_null(0) + 1).cast(pl.Int32), is_removed=pl.lit(False)
    )
    gone = before.filter(~pl.col("is_removed")).join(rows, on=list(table.key), how="anti")
    return Changes(
        added=numbered.filter(is_new).select(table.names),
        changed=numbered.filter(~is_new & differs).select(table.names),
        removed=gone.with_columns(revision=pl.col("revision") + 1, is_removed=pl.lit(True)),
    )


@dataclass
class Writer:
    """Holds changes of several tables back and commits them together: lineage first, each table once.

    Args:
        lake: Where.
        order: Tables in the order of their commits.
        is_dry: Write nothing; counts are the same.
        commit_rows: Commit of itself once it holds more rows.
    """

    lake: Lake
    order: Sequence[Table]
    is_dry: bool = False
    commit_rows: int = 250_000
    rows_written: int = 0
    _waiting: dict[str, list[pl.DataFrame]] = field(default_factory=dict)

    def revise(self, table: Table, before: pl.DataFrame, after: pl.DataFrame) -> Changes:
        """Take up what a derivation changes, with its lineage where the table names sources."""
        found = changes(table, before, after)
        if "source_refs" in table.names:
            self.add(LINEAGE, lineage_of(table, before, pl.concat([found.added, found.changed])))
        self.add(table, found.rows)
        return found

    def add(self, table: Table, rows: pl.DataFrame) -> None:
        """Take up rows as they are."""
        if rows.height:
            self.rows_written += rows.height
            if not self.is_dry:
                self._waiting.setdefault(table.name, []).append(rows.select(table.names))

    def settle(self) -> None:
        """Commit if enough is waiting."""
        if sum(frame.height for frames in self._waiting.values() for frame in frames) >= self.commit_rows:
            self.flush()

    def flush(self) -> None:
        """Commit all that waits.

        Raises:
            StorageError: The disk is full or the store fails. What was committed stays; the same
                derivation run again writes the rest.
        """
        for table in self.order:
            if frames := self._waiting.pop(table.name, None):
                tables.append(self.lake, table, pl.concat(frames))


def lineage_of(table: Table, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Pairs of derived row and source (``schemas.LINEAGE``) that stand in ``after`` and not in ``before``."""
    (key,) = table.key

    def pairs(rows: pl.DataFrame) -> pl.DataFrame:
        some = rows.filter(pl.col("source_refs").list.len() > 0)
        return some.select(
            derived_id=key,
            derived_kind=pl.lit(table.name),
            source_id="source_refs",
            tenant_id="tenant_id",
            tenant_bucket="tenant_bucket",
        ).explode("source_id")

    held = before.join(after, on=key, how="semi").filter(~pl.col("is_removed"))
    return (
        pairs(after).join(pairs(held), on=["derived_id", "source_id"], how="anti").unique(maintain_order=True)
    )
