"""Reading of formats whose records stand for themselves: a line or an item is a whole conversation or run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.lines import Point
from transforms.readers.records import json_records
from transforms.readers.text import JsonFault

ReadRecord = Callable[[Collector, dict[str, object], int, object], None]
"""Takes the collector, a record, its line or item, and what a refusal quotes; may raise ``JsonFault``."""

START = Point(0, 0)


def read_each(
    stream: BinaryIO,
    file_name: str,
    policy: IngestPolicy,
    point: Point,
    read: ReadRecord,
    *,
    wrapper: str = "",
) -> Iterator[Batch]:
    """Batches of a JSON source, record by record; a record that cannot be read is refused alone.

    Args:
        stream: As ``batch.Reader.read`` gets it, standing at ``point``.
        file_name: Name of the source.
        policy: For the size of batches.
        point: ``START``, or a point that a batch of the same source gave.
        read: Drafts the rows of one record.
        wrapper: As ``records.json_records``.
    """
    collector = Collector(file_name, policy)
    records = json_records(stream, policy, wrapper, start=point)
    for number, value, raw in records:
        try:
            if isinstance(value, JsonFault):
                raise value
            read(collector, value, number, raw)
        except JsonFault as fault:
            collector.refuse(fault, raw, number)
        collector.reached(records.point)
        if collector.is_full:
            yield from collector.flush()
    yield from collector.flush()
