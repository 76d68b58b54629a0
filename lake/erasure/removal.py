"""Rows out of a table, file by file: only files that hold one are written anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import polars as pl

from lake import tables
from lake.data_files import in_partitions
from lake.lake import Lake
from transforms.schemas import Table

COMMIT_ROWS = 500_000
"""Rows that remain of the files of one commit; bounds memory."""


@dataclass(frozen=True)
class Rule:
    """Which rows of a table go.

    Args:
        table: Which.
        columns: What ``goes`` needs.
        goes: From a frame of these columns to a Boolean a row, never null.
        buckets: Tenant buckets to look in; None is all.
        is_counted_only: Rows that another step replaces; they are counted, never taken out here.
    """

    table: Table
    columns: Sequence[str]
    goes: Callable[[pl.DataFrame], pl.Series]
    buckets: Collection[int] | None
    is_counted_only: bool = False


@dataclass
class Found:
    """Rows that a rule meets, and the files they lie in."""

    rows: int = 0
    files: list[str] = field(default_factory=list)
    bytes: int = 0


def files_of(lake: Lake, table: Table, buckets: Collection[int] | None) -> dict[str, int]:
    """Bytes of the table's data files in some buckets, by name."""
    state = tables.open_table(lake, table)
    sizes = {} if state is None else state.sizes
    wanted = buckets if "tenant_bucket" in table.partition_by else None
    return {name: sizes[name] for name in in_partitions(sorted(sizes), wanted, None)}


def count(lake: Lake, rule: Rule) -> Found:
    """How many rows a rule meets, and where; quicker inside ``tables.held_open``."""
    found = Found()
    for name, size in files_of(lake, rule.table, rule.buckets).items():
        rows = int(_mask(lake, rule, name).sum())
        if rows:
            found.rows += rows
            found.files.append(name)
            found.bytes += size
    return found


def matching(lake: Lake, rule: Rule, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of the rows that a rule meets; quicker inside ``tables.held_open``."""
    wanted = list(dict.fromkeys([*columns, *rule.columns]))
    parts = [pl.DataFrame(schema={name: rule.table.polars[name] for name in columns})]
    for name in files_of(lake, rule.table, rule.buckets):
        mask = _mask(lake, rule, name)
        if mask.any():
            parts.append(_opened(lake, rule.table, name, mask, wanted).select(columns))
    return pl.concat(parts)


def _opened(lake: Lake, table: Table, name: str, mask: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of some rows of a data file; text whose key was destroyed is null."""
    rows = tables.scan(lake, table, files=[name], as_stored=True).select(list(columns)).collect().filter(mask)
    sealed = [] if lake.encryption is None else [n for n in columns if n in table.free_text]
    if not sealed:
        return rows
    keys = (
        tables.scan(lake, table, files=[name], as_stored=True).select(list(table.key)).collect().filter(mask)
    )
    opened = tables.scan(lake, table, files=[name]).select([*table.key, *sealed]).collect().unique(table.key)
    named = keys.join(opened, on=table.key, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(named.select(sealed))


def remove(lake: Lake, rule: Rule) -> Found:
    """Take out the rows that a rule meets. Files without one stay as they are.

    Raises:
        StorageError: The disk is full or the store fails; run again, and the rest goes.
    """
    found, waiting, kept = Found(), list[str](), list[pl.DataFrame]()

    def settle() -> None:
        if waiting:
            tables.rewrite(lake, rule.table, waiting, pl.concat(kept), as_stored=True)
            waiting.clear()
            kept.clear()

    with tables.held_open():
        for name, size in files_of(lake, rule.table, rule.buckets).items():
            mask = _mask(lake, rule, name)
            rows = int(mask.sum())
            if not rows:
                continue
            whole = tables.scan(lake, rule.table, files=[name], as_stored=True).collect()
            waiting.append(name)
            kept.append(whole.filter(~mask))
            found.rows += rows
            found.files.append(name)
            found.bytes += size
            if sum(frame.height for frame in kept) >= COMMIT_ROWS:
                settle()
        settle()
    return found


def _mask(lake: Lake, rule: Rule, name: str) -> pl.Series:
    """Which rows of a data file go, in its order."""
    stored = tables.scan(lake, rule.table, files=[name], as_stored=True)
    sealed = [] if lake.encryption is None else [n for n in rule.columns if n in rule.table.free_text]
    if not sealed:
        return rule.goes(stored.select(list(rule.columns)).collect())
    # A row whose key was destroyed is left out where its text is read: it counts here, with no text.
    plain = [*rule.table.key, *(n for n in rule.columns if n not in {*sealed, *rule.table.key})]
    opened = tables.scan(lake, rule.table, files=[name]).select([*rule.table.key, *sealed]).collect()
    rows = stored.select(plain).collect()
    texts = opened.unique(rule.table.key)
    told = rows.join(texts, on=rule.table.key, how="left", nulls_equal=True, maintain_order="left")
    return rule.goes(told.select(list(rule.columns)))
