"""Rows whose key was destroyed and that stand in a table nevertheless, as after a backup was put back.

Nobody can read their text any more, but their ids, instants and hashes are there. Only subjects whose keys
were destroyed are looked at, so where nobody's was, no table is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from lake import tables
from lake.crypto import shelf
from lake.crypto.access import keys_of
from lake.crypto.frames import binding_columns, open_rows, subject_hashes
from lake.lake import Lake
from transforms.schemas import STORED, Table

_SEALED = [table for table in STORED if table.free_text]


def leftovers(lake: Lake) -> dict[str, int]:
    """How many such rows each table holds; tables without are left out. Empty for a plain lake.

    Raises:
        LakeError: The keys are not there or not the right ones.
    """
    destroyed = _destroyed(lake)
    counts = {t.name: sum(rows.height for _, rows in _found(lake, t, destroyed)) for t in _SEALED}
    return {name: count for name, count in counts.items() if count}


def drop_leftovers(lake: Lake) -> dict[str, int]:
    """Take such rows out of every table, file by file. Call it alone on the lake, as every rewrite.

    Returns:
        How many rows went, by table. The files that held them go with the next vacuum.

    Raises:
        LakeError: The keys are not there or not the right ones.
        StorageError: A table cannot be written; what was done stays, and the next call does the rest.
    """
    destroyed = _destroyed(lake)
    counts: dict[str, int] = {}
    for table in _SEALED:
        keys = binding_columns(table)
        for name, gone in list(_found(lake, table, destroyed)):
            held = tables.scan(lake, table, files=[name], as_stored=True).collect()
            kept = held.join(gone.select(keys), on=keys, how="anti", nulls_equal=True)
            tables.rewrite(lake, table, [name], kept, as_stored=True)
            counts[table.name] = counts.get(table.name, 0) + held.height - kept.height
    return counts


def _destroyed(lake: Lake) -> list[str]:
    """Subjects of whom a key was destroyed."""
    if lake.encryption is None:
        return []
    entries = shelf.entries(keys_of(lake).storage)
    return sorted({entry.subject for entry in entries if entry.destroyed_at is not None})


def _found(lake: Lake, table: Table, destroyed: Collection[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Data files that hold such rows, and those rows."""
    for name in sorted(tables.data_files(lake, table)) if destroyed else ():
        stored = tables.scan(lake, table, files=[name], as_stored=True)
        keys = stored.select(binding_columns(table)).collect()
        is_theirs = subject_hashes(lake, table, keys).is_in(list(destroyed))
        if not is_theirs.any():
            continue
        # Their text is looked at too: whoever came back has a living key for newer rows.
        rows = stored.select([*keys.columns, *table.free_text]).collect().filter(is_theirs)
        shredded = rows.filter(open_rows(lake, table, rows).shredded)
        if shredded.height:
            yield name, shredded
