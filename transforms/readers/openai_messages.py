"""``openai-messages``: records with ``messages: [{role, content, tool_calls...}]``.

A record is one conversation: a line, an item of a JSON array, or a Parquet row. A tool call and
its result are one action. A message without an id of its own is ``<record id>/<index>``, a call
``<record id>/<call id>``: call ids such as ``call_1`` are unique in their conversation only.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.frames import plain_frame
from transforms.readers.lines import START, Point
from transforms.readers.openai_conversation import Conversation
from transforms.readers.parquet import UnreadableParquetError, parquet_frames, unreadable
from transforms.readers.records import json_records
from transforms.readers.sniff import PARQUET_MAGIC, column_names, json_lines, top_keys
from transforms.readers.text import JsonFault


class OpenaiMessages:
    """Reader of OpenAI-style conversations in JSONL, JSON or Parquet."""

    name = "openai-messages"
    about = "Conversations as lists of role and content, OpenAI style; a record is one conversation."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``messages`` list at the top of a record, or a Parquet column of that name."""
        if head.startswith(PARQUET_MAGIC):
            return "messages" in column_names(head)
        records = json_lines(head)
        if records:
            return any(isinstance(record.get("messages"), list) for record in records)
        return "messages" in top_keys(head)

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item of an array or of a Parquet file."""
        if not stream.seekable():
            stream = io.BufferedReader(stream)  # type: ignore[type-var]
        is_parquet = _peek(stream) == PARQUET_MAGIC
        read = _read_parquet if is_parquet else _read_json
        yield from read(stream, file_name, policy)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """See ``Resumable``: every conversation stands for itself."""
        read = _read_parquet if point.place == "rows" else _read_json
        return read(stream, file_name, policy, point)


def _peek(stream: BinaryIO) -> bytes:
    if isinstance(stream, io.BufferedReader):
        return stream.peek(len(PARQUET_MAGIC))[: len(PARQUET_MAGIC)]
    first = stream.read(len(PARQUET_MAGIC))
    stream.seek(-len(first), io.SEEK_CUR)
    return first


def _read_json(
    stream: BinaryIO, file_name: str, policy: IngestPolicy, start: Point = START
) -> Iterator[Batch]:
    collector = Collector(file_name, policy)
    records = json_records(stream, policy, start=start)
    for number, value, raw in records:
        if isinstance(value, JsonFault):
            collector.refuse(value, raw, number)
        else:
            Conversation(collector, policy, number).read(value, raw)
        if collector.is_full:
            collector.reached(records.point)
            yield from collector.flush()
    collector.reached(records.point)
    yield from collector.flush()


def _read_parquet(
    stream: BinaryIO, file_name: str, policy: IngestPolicy, start: Point = START
) -> Iterator[Batch]:
    collector = Collector(file_name, policy)
    number = start.number
    try:
        for frame in parquet_frames(stream, policy, number):
            for record in plain_frame(frame).iter_rows(named=True):
                number += 1
                Conversation(collector, policy, number).read(record, record)
                collector.reached(Point(0, number, "rows"))
                if collector.is_full:
                    yield from collector.flush()
    except UnreadableParquetError as error:
        yield from collector.flush()
        yield unreadable(error, file_name, number + 1)
    yield from collector.flush()
