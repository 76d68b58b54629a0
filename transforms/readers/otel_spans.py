"""``otel-spans``: spans of OpenTelemetry with the GenAI, OpenInference or Vercel AI SDK attributes.

OTLP JSON, dumps of the SDKs (one span a line, or a list) and exports of trace stores. A span is a model call,
a tool that ran, or part of the scenery; how they become rows is ``trace_rows``' concern.

Shapes: https://opentelemetry.io/docs/specs/semconv/gen-ai/, https://arize-ai.github.io/openinference/spec/
and https://ai-sdk.dev/docs/ai-sdk-core/telemetry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.otel_salvage import salvage
from transforms.readers.otel_source import REQUESTS, Member, RawSpan, is_span, members_of, raw_span
from transforms.readers.otel_span import Twins, span_of
from transforms.readers.records import Record
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault
from transforms.readers.trace_reading import Taking, TraceReader
from transforms.readers.trace_rows import TraceRows

_LISTS = frozenset({"data", "spans", "batches", "trace"})
_ID_KEYS = (
    {"traceId", "spanId"},
    {"trace_id", "span_id"},
    {"context.span_id", "context.trace_id"},
    {"traceId", "duration", "attributes"},
)
_BEGINNING = re.compile(
    rb'"_?spanContext"\s*:\s*\{|"context"\s*:\s*\{\s*"(trace|span)_id"|"span_?[iI]d"\s*:\s*"(0x)?[0-9a-f]{16}"'
)


class OtelSpans(TraceReader):
    """Reader of OpenTelemetry spans."""

    name = "otel-spans"
    about = "OpenTelemetry spans (GenAI, OpenInference, Vercel AI SDK); a record is a span or more."
    wrapper = "resourceSpans"

    def matches(self, head: bytes, file_name: str) -> bool:
        """Records that are spans or requests of an exporter, or a document that holds lists of spans."""
        records = json_lines(head)
        if records:
            return any(_holds_spans(record) for record in records)
        keys = top_keys(head)
        if keys & REQUESTS or any(wanted <= keys for wanted in _ID_KEYS):
            return True
        if {"spanContext", "context"} & keys or keys & _LISTS or _names_operations(keys):
            return _BEGINNING.search(head) is not None
        return False

    def begin(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> Taking:
        """As ``TraceReader``."""
        return _Records(rows, collector)


def _holds_spans(record: dict[str, object]) -> bool:
    if any(isinstance(record.get(key), list) for key in REQUESTS):
        return True
    try:
        member = next(members_of(record), None)
    except JsonFault:
        return False
    return member is not None and is_span(member.value)


def _names_operations(keys: set[str]) -> bool:
    """Whether a document sorts its spans by operation."""
    return bool(keys) and all(key.startswith(("ai.", "gen_ai.", "llm.")) for key in keys)


_Logged = dict[tuple[str, str], tuple[RawSpan, int, list[int]]]
"""What was logged during each span, the place in the source, and the numbers of the log records."""


class _Records(Taking):
    """Reads records one by one."""

    def __init__(self, rows: TraceRows, collector: Collector) -> None:
        self._rows = rows
        self._collector = collector
        self._twins = Twins()

    def take(self, record: Record) -> Iterator[None]:
        """As ``Taking``: gives control back after each span."""
        is_line = isinstance(record.raw, bytes)
        logged: _Logged = {}
        for member in self._members(record):
            place = self._rows.places.take()
            if place is not None:
                self._take(member, place, record.number if is_line else place + 1, logged)
            yield
        for found, number, places in logged.values():
            self._rows.add(span_of(found, number), places)

    def _members(self, record: Record) -> Iterator[Member]:
        number, value, raw = record
        try:
            if not isinstance(value, JsonFault):
                yield from members_of(value)
                return
            lost: list[object] = [] if isinstance(raw, bytes) else [raw]
            yield from salvage(raw, lost) if isinstance(raw, bytes) else ()
            self._collector.refuse(value, lost[0], number)
        except JsonFault as fault:
            self._collector.refuse(fault, raw, number)

    def _take(self, member: Member, place: int, number: int, logged: _Logged) -> None:
        try:
            raw = raw_span(member)
            if raw.is_log:
                self._log(raw, place, number, logged)
                return
            span = span_of(raw, number)
        except JsonFault as fault:
            self._collector.refuse(fault, member.value, number)
            return
        self._twins.meet(raw, span)
        self._rows.add(span, [place])

    def _log(self, raw: RawSpan, place: int, number: int, logged: _Logged) -> None:
        """Gather what was logged during one span: its messages are one history."""
        if not raw.events[0].name.startswith("gen_ai."):
            self._collector.leave_out("log_record")
            return
        key = (raw.trace_id, raw.span_id or f"log/{number}")
        before, number, places = logged.get(key, (replace(raw, events=()), number, []))
        events = (*before.events, *raw.events)
        logged[key] = (replace(before, ended_at=raw.ended_at, events=events), number, [*places, place])

    def state(self, is_open: frozenset[int]) -> object:
        """As ``Taking``."""
        return self._twins.state()

    def restore(self, state: list[list[list[str]]]) -> None:
        """As ``Taking``."""
        self._twins.restore(state)
