"""Reading of formats whose records are traces, spans or parts of them, and going on with it after a kill.

Spans wait for others, so a point lies before the end of its batch: at the record of the first span that is
still held. From there only spans are read that were held, up to where reading had come. What had landed is
known by its digests, which the point holds; calls that wait for a result go in without it before it is set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.lines import START, Point
from transforms.readers.records import Record, json_records
from transforms.readers.text import dump_json, load_json
from transforms.readers.trace_places import Places, packed, unpacked
from transforms.readers.trace_rows import TraceRows

_MAX_STATE_CHARS = 16_000_000
"""Of a point: with more there is none. Digests of 64 MB of ``batch_bytes`` take up to 6 MB."""


class Taking(ABC):
    """Reads the records of one source; a subclass says how it takes one."""

    @abstractmethod
    def take(self, record: Record) -> Iterator[None]:
        """Add the spans of a record; gives control back after some of them. Faults become refusals.

        Every span, or part of one, takes its number of ``rows.places``, whatever was read before it.
        """

    def finish(self) -> None:  # noqa: B027
        """Add what still waits at the end of the source."""

    def held(self) -> Iterable[int]:
        """The numbers of what waits here."""
        return ()

    def state(self, is_open: frozenset[int]) -> Any:
        """What it has to know of earlier records beside that, as JSON; without what is read again."""
        return None

    def restore(self, state: Any) -> None:  # noqa: B027
        """Take back what ``state`` gave."""


class TraceReader(ABC):
    """A reader of traces, as ``batch.Reader`` and ``batch.Resumable``.

    A subclass says what is its own: ``name``, ``about``, ``matches`` and ``begin``.
    """

    leans = True
    """As ``batch.Leaning``."""
    wrapper = ""
    """As ``records.json_records``."""

    @abstractmethod
    def begin(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> Taking:
        """What reads one source."""

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line, or the item or place in a JSON document."""
        return self.read_on(stream, file_name, policy, START)

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``batch.Resumable``."""
        state = load_json(point.state.encode()) if point.state else None
        start = point._replace(state="")
        collector = Collector(file_name, policy)
        rows = TraceRows(collector, policy, _places(start, state))
        taking = self.begin(rows, collector, policy)
        reading = _Reading(stream, policy, self.wrapper, start, collector, rows, taking)
        if isinstance(state, dict):
            reading.restore(state)
        return reading.batches()


def _places(start: Point, state: Any) -> Places:
    if not isinstance(state, dict):
        return Places(start)
    return Places(start, state["count"], state["until"], unpacked(state["open"]))


class _Reading:
    """One source, record by record."""

    def __init__(
        self,
        stream: BinaryIO,
        policy: IngestPolicy,
        wrapper: str,
        start: Point,
        collector: Collector,
        rows: TraceRows,
        taking: Taking,
    ) -> None:
        self._records = json_records(stream, policy, wrapper, start)
        self._collector, self._rows, self._taking = collector, rows, taking
        self._done = self._number = start.number
        self._batch_bytes, self._flushed = policy.batch_bytes, start.offset

    def restore(self, state: dict[str, Any]) -> None:
        self._done = state["record"]
        self._rows.restore(state["conversations"])
        self._taking.restore(state["own"])

    def batches(self) -> Iterator[Batch]:
        for record in self._records:
            self._number = record.number
            for _ in self._taking.take(record):
                self._rows.settle()
                if self._collector.is_overfull:
                    yield from self._collector.flush()
            self._rows.settle()
            self._rows.places.begin(self._records.point)
            if self._rows.places.is_long:
                self._begin(self._held())
            if record.number <= self._done:
                self._collector.drop()  # refused and counted before
                self._flushed += self._unflushed
            elif self._collector.is_full or self._unflushed >= self._batch_bytes:
                size = self._unflushed
                self._flushed += size
                yield from self._collector.flush(self._pause, size)
        self._taking.finish()
        self._rows.finish()
        yield from self._collector.flush()

    @property
    def _unflushed(self) -> int:
        """Bytes of the source since the last batch: the same ones, wherever reading began."""
        point = self._records.point
        return point.offset - self._flushed if point is not None else 0

    def _pause(self) -> Batch | None:
        """See ``Batch.pause``."""
        if self._records.first is None:
            return None
        self._rows.pause()
        return replace(self._collector.batch(), point=self._point())

    def _held(self) -> list[int]:
        return sorted({*self._rows.held(), *self._taking.held()})

    def _begin(self, held: list[int]) -> tuple[int, Point]:
        """Where the record of the first span that is held begins."""
        places = self._rows.places
        return places.before(held[0] if held else places.count)

    def _point(self) -> Point | None:
        places, held = self._rows.places, self._held()
        count, begin = self._begin(held)
        state = {
            "record": self._number,
            "count": count,
            "until": places.count,
            "open": packed(held),
            "conversations": self._rows.state(),
            "own": self._taking.state(frozenset(held)),
        }
        text = dump_json(state)
        return None if len(text) > _MAX_STATE_CHARS else begin._replace(state=text)
