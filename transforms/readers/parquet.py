"""Parquet sources: bounded batches, damage as a refusal, and a head to tell the format from."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import polars as pl

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, refusals_frame
from transforms.readers.frames import frame_batch
from transforms.readers.lines import START, Point
from transforms.readers.sniff import PARQUET_MAGIC, column_names
from transforms.schemas import DRAFTS

_BUFFER_BYTES = 1 << 20
"""Of each column: without it a whole column of a row group is held, which has a million rows."""


class UnreadableParquetError(ValueError):
    """The file, or a part of it, cannot be decoded."""


def parquet_frames(stream: BinaryIO, policy: IngestPolicy, skip: int = 0) -> Iterator[pl.DataFrame]:
    """Frames of at most ``policy.batch_rows`` rows, without the first ``skip`` ones.

    Raises:
        UnreadableParquetError: The file is no Parquet, is damaged, or holds types without a frame.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not stream.seekable():
        stream = io.BytesIO(stream.read())
    try:
        with pq.ParquetFile(stream, buffer_size=_BUFFER_BYTES) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            first = 0
            while first < len(sizes) and skip >= sizes[first]:
                skip, first = skip - sizes[first], first + 1
            groups = range(first, len(sizes))
            for batch in file.iter_batches(batch_size=policy.batch_rows, row_groups=groups):
                rest = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - rest.num_rows
                frame = pl.from_arrow(pa.table(_readable(rest)))
                if isinstance(frame, pl.DataFrame) and frame.height:
                    yield frame
    # A name of a column that is no UTF-8 is a ValueError of its own.
    except (pa.ArrowException, OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UnreadableParquetError(f"the Parquet file cannot be read ({type(error).__name__})") from error


def _readable(rows: Any) -> Any:
    """Rows whose text is text: bytes that are none are replaced, as those of other formats are.

    Text in lists or structs is left: where it is damaged, the rows are refused.

    Raises:
        ArrowInvalid: They are damaged otherwise.
    """
    import pyarrow as pa

    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        columns = [
            pa.array([v and v.decode("utf-8", "replace") for v in column.cast(pa.large_binary()).to_pylist()])
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            else column
            for column in rows.columns
        ]
        rows = pa.RecordBatch.from_arrays(columns, names=rows.schema.names)
        rows.validate(full=True)
    return rows


def unreadable(error: UnreadableParquetError, file_name: str, number: int) -> Batch:
    """A batch of one refusal: binary damage has no text to quote."""
    row = {
        "reason": "unreadable_parquet",
        "detail": str(error),
        "raw": "",
        "source_file": file_name,
        "source_line": number,
    }
    return Batch(DRAFTS.empty(), refusals_frame([row]), 1)


def sniff_head(stream: BinaryIO) -> bytes:
    """The magic bytes and the column names, NUL-separated: what ``sniff.column_names`` reads.

    Only the magic bytes if the schema cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names: list[str] = pq.read_schema(stream).names
    except (pa.ArrowException, OSError, ValueError):
        names = []
    return b"\x00".join([PARQUET_MAGIC, *(name.encode("utf-8", "replace") for name in names)])


class SlowwaveParquet:
    """``slowwave-parquet``: the documented row shape in Parquet columns."""

    name = "slowwave-parquet"
    about = "Parquet with the columns of the row shape; a record is one row."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Any Parquet without a ``messages`` column; a damaged one too, to be refused by name."""
        return head.startswith(PARQUET_MAGIC) and "messages" not in column_names(head)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the row number."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``: row groups before the point are not read."""
        number = point.number + 1
        try:
            for frame in parquet_frames(stream, policy, point.number):
                batch = frame_batch(frame, range(number, number + frame.height), file_name)
                number += frame.height
                yield replace(batch, point=Point(0, number - 1, "rows"))
        except UnreadableParquetError as error:
            yield unreadable(error, file_name, number)
