"""Rows brought into the form and order in which a table stores them, and written as its files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import polars as pl
from deltalake.transaction import AddAction

from lake.lake import Lake
from lake.parts import remove_parts, write_parts
from lake.row_order import in_order
from transforms.errors import LakeError
from transforms.schemas import Table


def written(
    lake: Lake,
    table: Table,
    frames: Iterable[pl.DataFrame],
    prepare: Callable[[], None],
    merged: Collection[str] | None = None,
    *,
    is_sealed: bool = False,
) -> list[AddAction]:
    """Write rows as files of a table, frame by frame, for a commit; where that breaks off no file is left.

    Args:
        lake: Where.
        table: Which; the frames must conform to it.
        frames: Rows; each is written before the next is made.
        prepare: Called before the first file, when its rows are known to conform.
        merged: As for ``parts.write_parts``; the rows then stand in one frame.
        is_sealed: What is sealed in the rows is written as it is.

    Raises:
        LakeError: The lake is one as of the past, or a frame does not conform.
        StorageError: The disk is full or the store fails.
    """
    if lake.pins:
        raise LakeError("a lake as of the past is read only", "Write to the lake as it is now.")
    actions = list[AddAction]()
    try:
        for frame in frames:
            rows = _to_store(lake, table, frame, is_sealed=is_sealed)
            if not actions:
                prepare()
            actions += write_parts(lake, table, rows, merged=merged)
    except BaseException:
        remove_parts(lake.storage, table, [action.path for action in actions])
        raise
    return actions


def _to_store(lake: Lake, table: Table, frame: pl.DataFrame, *, is_sealed: bool) -> pl.DataFrame:
    """The rows in the table's order, sealed where they have to be."""
    rows = in_order(table.conform(frame), [*table.partition_by, *table.sort_by])
    if is_sealed or not has_sealed(lake, table):
        return rows
    from lake.crypto.frames import seal  # only where a lake is encrypted

    return seal(lake, table, rows)


def has_sealed(lake: Lake, table: Table) -> bool:
    """Whether the lake holds text of the table sealed."""
    return lake.encryption is not None and bool(table.free_text)
