"""Reading of formats whose records stand for themselves: a line or an item is a whole conversation or run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.lines import START, Point
from transforms.readers.records import Record, json_records
from transforms.readers.text import JsonFault

ReadRecord = Callable[[dict[str, object], int, object], None]
"""Drafts the rows of one record: it, its line or item, and what a refusal quotes; may raise ``JsonFault``."""


class EachRecord(ABC):
    """A reader of a JSON source, record by record; one that cannot be read is refused alone.

    A subclass says what is its own: ``name``, ``about``, ``matches`` and ``begin``.
    """

    wrapper = ""
    """As ``records.json_records``."""

    @abstractmethod
    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """What reads the records of one source into a collector."""

    def salvage(self, collector: Collector, fault: JsonFault, raw: object, number: int) -> object:
        """What a refusal quotes of a record that is none, once what is whole of it was drafted; here all."""
        return raw

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item of a JSON document."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``."""
        collector = Collector(file_name, policy)
        read_one = self.begin(collector, file_name, policy)
        records = json_records(stream, policy, self.wrapper, start=point)
        return batches(collector, records, read_one, lambda: records.point, partial(self.salvage, collector))


def batches(
    collector: Collector,
    records: Iterable[Record],
    read_one: ReadRecord,
    point: Callable[[], Point | None],
    salvage: Callable[[JsonFault, object, int], object] = lambda fault, raw, number: raw,
) -> Iterator[Batch]:
    """Batches of records, of which one that cannot be read is refused alone.

    Args:
        collector: That ``read_one`` drafts into.
        records: In the order of the source.
        read_one: Reads one of them.
        point: Behind the record that was given out last, where a reader can go on; None: nowhere.
        salvage: What a refusal quotes of a record that is none: its fault, it, its line or item.
    """
    for number, value, raw in records:
        try:
            if isinstance(value, JsonFault):
                collector.refuse(value, salvage(value, raw, number), number)
            else:
                read_one(value, number, raw)
        except JsonFault as fault:
            collector.refuse(fault, raw, number)
        collector.reached(point())
        if collector.is_full:
            yield from collector.flush()
    yield from collector.flush()
