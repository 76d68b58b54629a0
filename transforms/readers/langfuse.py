"""``langfuse-traces``: traces and observations of Langfuse, as downloaded, from its API, or exported.

A record is a trace with its observations, a trace alone, or one observation; the same fields are written in
camelCase by the API and in snake_case by the export to a bucket. Every observation is a span; a trace is one,
too, around all of them, and stands for what was said where no model call tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.langfuse_span import observation_span, trace_span, value_at
from transforms.readers.records import Record
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, type_name
from transforms.readers.trace import Span
from transforms.readers.trace_reading import Taking, TraceReader
from transforms.readers.trace_rows import TraceRows

_TRACE_IDS = frozenset({"traceId", "trace_id"})
_OF_OBSERVATIONS = frozenset(
    {"parentObservationId", "parent_observation_id", "completionStartTime", "completion_start_time",
     "statusMessage", "status_message"}
)  # fmt: skip
_OF_TRACES = (frozenset({"bookmarked", "public"}), frozenset({"htmlPath"}))
_MARKS = (
    b'"parentObservationId"',
    b'"parent_observation_id"',
    b'"htmlPath"',
    b'"bookmarked"',
)


class LangfuseTraces(TraceReader):
    """Reader of Langfuse traces."""

    name = "langfuse-traces"
    about = "Traces and observations of Langfuse (downloads, API, exports); a record is one of them."
    wrapper = "data"

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``trace`` with its observations, or the fields of a trace or an observation of Langfuse."""
        records = json_lines(head)
        keys = set(records[0]) if records else top_keys(head)
        if "resourceSpans" in keys or "messages" in keys:
            return False
        if "trace" in keys and b'"projectId"' in head:
            return True
        if keys & {"trace", "traces", "observations", "data"}:
            return any(mark in head for mark in _MARKS)
        is_observation = bool(keys & _TRACE_IDS) and bool(keys & _OF_OBSERVATIONS)
        return is_observation or ("timestamp" in keys and any(marks <= keys for marks in _OF_TRACES))

    def begin(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> Taking:
        """As ``TraceReader``."""
        return _Records(rows, collector)


class _Records(Taking):
    """Reads records one by one."""

    def __init__(self, rows: TraceRows, collector: Collector) -> None:
        self._rows = rows
        self._collector = collector

    def take(self, record: Record) -> Iterator[None]:
        number, value, raw = record
        try:
            if isinstance(value, JsonFault):
                raise value
            _read(value, number, self._rows, self._collector)
        except JsonFault as fault:
            self._collector.refuse(fault, raw, number)
        yield


def _read(record: Mapping[str, object], number: int, rows: TraceRows, collector: Collector) -> None:
    """Add the spans of one record.

    Raises:
        JsonFault: The record as a whole cannot be read.
    """
    if isinstance(record.get("traces"), list):
        for each in _objects(record["traces"], number, collector):
            _add_trace(each, each.get("observations"), number, rows, collector)
    elif "trace" in record:
        trace = record["trace"]
        if not isinstance(trace, dict):
            raise JsonFault("bad_field_type", f"trace is {type_name(trace)}, not an object")
        given = record.get("observations", trace.get("observations"))
        _add_trace(trace, given, number, rows, collector)
    elif value_at(record, "traceId") is not None:
        _add_observation(record, number, rows)
    elif "id" in record:
        _add_trace(record, record.get("observations"), number, rows, collector)
    else:
        raise JsonFault("unknown_record", "the record is neither a trace nor an observation")


def _add_trace(
    trace: Mapping[str, object], given: object, number: int, rows: TraceRows, collector: Collector
) -> None:
    """Add a trace and its observations; what it was asked may stand in them alone."""
    place = rows.places.take()
    spans: list[tuple[Span, int | None]] = []
    for observation in _objects(given, number, collector):
        own = rows.places.take()
        try:
            if own is not None or place is not None:
                spans.append((observation_span(observation, trace, number), own))
        except JsonFault as fault:
            collector.refuse(fault, observation, number)
    try:
        if place is not None:
            rows.add(trace_span(trace, [span for span, _ in spans], number), [place])
    except JsonFault as fault:
        collector.refuse(fault, {k: v for k, v in trace.items() if k != "observations"}, number)
    for span, own in spans:
        if own is not None:
            rows.add(span, [own])


def _add_observation(record: Mapping[str, object], number: int, rows: TraceRows) -> None:
    place = rows.places.take()
    if place is not None:
        rows.add(observation_span(record, {}, number), [place])


def _objects(values: object, number: int, collector: Collector) -> Iterator[dict[str, object]]:
    """The objects of a list; lists of traces name their observations by id alone, which is no row."""
    if values is not None and not isinstance(values, list):
        fault = JsonFault("bad_field_type", f"observations is {type_name(values)}, not a list")
        collector.refuse(fault, values, number)
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            yield value
        elif not isinstance(value, str):
            fault = JsonFault("bad_field_type", f"an observation is {type_name(value)}, not an object")
            collector.refuse(fault, value, number)
