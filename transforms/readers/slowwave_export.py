"""``slowwave-export``: episodes as a lake writes them: in an export's zip, as JSON lines, in its table."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from transforms.exported import claim_of
from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.frames import plain_frame
from transforms.readers.parquet import UnreadableParquetError, parquet_frames, unreadable
from transforms.readers.row_shape import COLUMNS, shape_record
from transforms.readers.sniff import PARQUET_MAGIC, column_names, json_lines, top_keys
from transforms.readers.text import JsonFault

_MARKS = frozenset(
    {"episode_id", "tenant_id", "content", "content_hash", "content_chars", "event_at", "trust"}
)
"""Columns that only an episode of a lake has all of."""
KEPT = frozenset(COLUMNS) - {"natural_id", "metadata"}
"""Columns that are taken as they stand."""
_SEALED = "~sw1."
"""How text begins that an encrypted lake has sealed (``lake.crypto.values``): it is no text of anybody."""


class SlowwaveExport(EachRecord):
    """Reader of episodes that were exported, which come back as the rows they were."""

    name = "slowwave-export"
    about = "Episodes of a lake: an export's zip or JSON lines, the table's Parquet; a record is one episode."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Objects or columns that have all that marks an episode of a lake."""
        if head.startswith(PARQUET_MAGIC):
            return set(column_names(head)) >= _MARKS
        if top_keys(head) >= _MARKS:
            return True
        return any(record.keys() >= _MARKS for record in json_lines(head)[:1])

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is that of the row's own source."""
        if _is_parquet(stream):
            return _of_parquet(stream, file_name, policy)
        return super().read(stream, file_name, policy)

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a row."""
        return partial(_draft, collector)


def _is_parquet(stream: BinaryIO) -> bool:
    """Whether Parquet begins here; the stream stays where it is."""
    if isinstance(stream, io.BufferedReader):
        return stream.peek(len(PARQUET_MAGIC))[: len(PARQUET_MAGIC)] == PARQUET_MAGIC
    if not stream.seekable():
        return False
    magic = stream.read(len(PARQUET_MAGIC))
    stream.seek(-len(magic), io.SEEK_CUR)
    return magic == PARQUET_MAGIC


def _of_parquet(stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
    collector, number = Collector(file_name, policy), 0
    try:
        for frame in parquet_frames(stream, policy):
            for record in plain_frame(frame).iter_rows(named=True):
                number += 1
                try:
                    _draft(collector, record, number, record)
                except JsonFault as fault:
                    collector.refuse(fault, record, number)
            yield from collector.flush()
    except UnreadableParquetError as error:
        yield from collector.flush()
        yield unreadable(error, file_name, number + 1)


def _draft(collector: Collector, record: Mapping[str, Any], number: int, raw: object) -> None:
    """One row; what the lake makes anew of it (hashes, lengths, months) is passed over."""
    metadata = record.get("metadata")
    if not isinstance(metadata, str | None):
        raise JsonFault("bad_field_type", "metadata is no text")
    if str(record.get("content")).startswith(_SEALED):
        raise JsonFault("sealed_text", "the row is of an encrypted lake: export it, which opens its text")
    shaped = shape_record({name: value for name, value in record.items() if name in KEPT})
    collector.draft(**shaped, metadata=metadata, exported=claim_of(record), source_line=number)
