"""Data files of an index table from batches made on the way; an error in making them stays itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from lake.faults import storage_fault

ROWS_PER_FILE = 1 << 20
LANCE_FAULTS = (OSError, ValueError, RuntimeError)
"""What Lance raises where a disk, a store or a file of its own fails."""


def fragments_of(batches: Iterable[pa.RecordBatch], uri: str, schema: pa.Schema, doing: str) -> list[Any]:
    """Write batches as data files that no table holds yet; returns what Lance tells of them.

    Args:
        batches: Made one at a time. What they raise passes Lance as an error of reading, with no more of it
            than its words: a caller would take a fault of ours, or a Ctrl-C, for one of the disk.
        uri: The table's address.
        schema: Of the batches.
        doing: What a fault of storage says was being done.

    Raises:
        StorageError: The disk is full or the store fails, there or in making the batches.
        BaseException: Whatever else making the batches raised, as it was.
    """
    from lance.fragment import write_fragments

    raised: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except GeneratorExit:  # closed from outside: nothing is wrong with them
            raise
        except BaseException as error:
            raised.append(error)
            raise

    reader = pa.RecordBatchReader.from_batches(schema, watched())
    try:  # 'create' writes files only: no table is there before somebody commits one
        made = write_fragments(reader, uri, schema, mode="create", max_rows_per_file=ROWS_PER_FILE)
    except LANCE_FAULTS as error:
        first = raised[0] if raised else error
        if raised and not isinstance(first, OSError):
            raise first from None
        raise storage_fault(first, doing) from error
    return [one for one in made if one.physical_rows]
