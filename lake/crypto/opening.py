"""Scans of an encrypted lake: rows are filtered before text is opened, and only what is asked for is opened.

A row whose key was destroyed is left out wherever its text is read: nobody can read it any more. A scan
that asks for no text still counts it, until ``lake.crypto.leftovers`` takes it out of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl
from polars.io.plugins import register_io_source

from lake.crypto.frames import binding_columns, open_rows, require_unbroken
from lake.lake import Lake
from transforms.schemas import Table

BYTES_AT_ONCE = 64_000_000
"""Data files that are read and opened together: memory holds their rows."""
_LEAST_ROWS = 1_024


def opened_scan(
    lake: Lake,
    table: Table,
    names: Sequence[str],
    sizes: Mapping[str, int],
    read: Callable[[Sequence[str]], pl.LazyFrame],
) -> pl.LazyFrame:
    """Rows of data files with their text opened.

    Args:
        lake: An encrypted one. That its keys are there is asked only when text is to be opened.
        table: Which, with free text.
        names: Data files.
        sizes: Their bytes.
        read: Scans some of them as they are stored.
    """
    groups = list(_groups(names, sizes))

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        columns = with_columns if with_columns is not None else table.names
        early, late = _split(predicate, table)
        needed = set(columns) | _roots(late)
        if needed.isdisjoint(table.free_text):
            plain = _filtered(read(names), early).select(columns)
            yield (plain if n_rows is None else plain.head(n_rows)).collect()
            return
        wanted = [n for n in table.names if n in needed or n in binding_columns(table)]
        left = n_rows
        for group in groups:
            stored = _filtered(read(group), early).select(wanted).collect()
            for piece in _pieces(stored, left):
                opened = open_rows(lake, table, piece)
                require_unbroken(table, opened)
                rows = opened.rows.filter(~opened.shredded)
                rows = (rows if late is None else rows.filter(late)).select(columns)
                yield rows if left is None else rows.head(left)
                if left is not None:
                    left -= rows.height
                    if left <= 0:
                        return

    return register_io_source(source, schema=table.polars, is_pure=True)


def _groups(names: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    group: list[str] = []
    held = 0
    for name in names:
        if group and held + sizes.get(name, 0) > BYTES_AT_ONCE:
            yield group
            group, held = [], 0
        group.append(name)
        held += sizes.get(name, 0)
    yield group


def _pieces(rows: pl.DataFrame, left: int | None) -> Iterator[pl.DataFrame]:
    """All rows, or so few at a time that not many more are opened than are asked for."""
    if left is None:
        yield rows
    else:
        yield from rows.iter_slices(max(left, _LEAST_ROWS))


def _filtered(frame: pl.LazyFrame, predicate: pl.Expr | None) -> pl.LazyFrame:
    return frame if predicate is None else frame.filter(predicate)


def _split(predicate: pl.Expr | None, table: Table) -> tuple[pl.Expr | None, pl.Expr | None]:
    """The parts of a predicate that need no text, and those that do."""
    parts = [] if predicate is None else list(_conjuncts(predicate))
    late = [part for part in parts if not _roots(part).isdisjoint(table.free_text)]
    early = [part for part in parts if _roots(part).isdisjoint(table.free_text)]
    return (pl.all_horizontal(early) if early else None), (pl.all_horizontal(late) if late else None)


def _conjuncts(predicate: pl.Expr) -> Iterator[pl.Expr]:
    inputs = predicate.meta.pop()
    if len(inputs) == 2:
        for one, other in (inputs, reversed(inputs)):
            if (one & other).meta.eq(predicate):
                yield from _conjuncts(one)
                yield from _conjuncts(other)
                return
    yield predicate


def _roots(predicate: pl.Expr | None) -> set[str]:
    return set() if predicate is None else set(predicate.meta.root_names())
