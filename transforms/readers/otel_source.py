"""Spans of OpenTelemetry in every wrapping: OTLP JSON, SDK dumps, exports of trace stores.

A record may be one span, a request of an exporter with many (``resourceSpans``), or an object with lists of
spans. ``RawSpan`` is what they have in common; what the attributes mean is of no concern here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from transforms.readers.otel_attributes import any_value, attributes_of, instant, read_json
from transforms.readers.parts import scalars
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_number

_RESOURCES = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
_SCOPES = (
    "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans",
    "scopeLogs", "scope_logs",
)  # fmt: skip
_MEMBERS = ("spans", "logRecords", "log_records", "data")
_WRAPPERS = (*_RESOURCES, *_SCOPES, *_MEMBERS)
REQUESTS = frozenset(_WRAPPERS) - {"batches", "spans", "data"}
"""Keys of OTLP under which a record keeps spans, or lists of them."""

_TRACE_IDS = ("traceId", "trace_id", "context.trace_id")
_SPAN_IDS = ("spanId", "span_id", "context.span_id")
_PARENT_IDS = ("parentSpanId", "parent_span_id", "parentId", "parent_id")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "timestamp")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
_LOG_TIMES = ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
_EVENT_TIMES = ("timeUnixNano", "time_unix_nano", "time", "timestamp")
_SPAN_FIELDS = (
    *_TRACE_IDS, *_SPAN_IDS, *_PARENT_IDS, *_STARTS, *_ENDS, "id", "name", "kind", "span_kind", "status",
    "status_code", "statusCode", "status_message", "statusMessage", "code", "message", "description",
    "duration", "flags", "traceState", "trace_state", "attributes", "events", "links", "resource", "ended",
)  # fmt: skip
_SPAN_BEGINNINGS = ("attributes.", "context.", "resource.", "dropped", "_")
_BODIES = frozenset({"attributes", "startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"})


class Event(NamedTuple):
    """Something told during a span.

    Args:
        name: What it is.
        at: ISO 8601.
        attributes: As those of spans; of a log record its body's fields, too.
    """

    name: str
    at: str | None
    attributes: dict[str, object]


@dataclass(frozen=True)
class RawSpan:
    """One span, whoever wrote it.

    Args:
        span_id: Hexadecimal, without ``0x``.
        trace_id: The same.
        parent_id: Null for a root.
        name: Of the operation.
        started_at: ISO 8601.
        ended_at: ISO 8601.
        attributes: By dotted name.
        resource: Attributes of the program that it ran in.
        scope: Of which instrumentation.
        events: What was told meanwhile.
        is_error: Whether its status says that it failed.
        error: Why, where it says so.
        is_log: Not a span, but what was logged during one.
        others: Single values under names not known here.
    """

    span_id: str
    trace_id: str
    parent_id: str | None
    name: str | None
    started_at: str | None
    ended_at: str | None
    attributes: dict[str, object]
    resource: dict[str, object] = field(default_factory=dict)
    scope: str | None = None
    events: tuple[Event, ...] = ()
    is_error: bool = False
    error: str | None = None
    is_log: bool = False
    others: dict[str, object] = field(default_factory=dict)


class Member(NamedTuple):
    """A span of a record, not yet read, and what surrounds it."""

    value: object
    resource: Mapping[str, object]
    scope: object
    is_log: bool = False


def is_span(record: object) -> bool:
    """Whether an object is one span: ids of a trace and of a span, and attributes or a start."""
    if not isinstance(record, dict):
        return False
    context = _context(record)
    has_span = _first(context, _SPAN_IDS) is not None or _console_id(record) is not None
    if _first(context, _TRACE_IDS) is None or not has_span:
        return False
    return any(key in _BODIES or key.startswith("attributes.") for key in record if isinstance(key, str))


def members_of(record: Mapping[str, object]) -> Iterator[Member]:
    """The spans of one record.

    Raises:
        JsonFault: ``unknown_record``: there are none.
    """
    if is_span(record):
        yield Member(record, _resource(record), _scope(record))
        return
    found = [key for key in _WRAPPERS if isinstance(record.get(key), list)]
    if not found:  # lists of spans under names of any kind, or a request within a request
        found = [key for key, value in record.items() if _holds_spans(value)]
    if not found and any(key in record for key in ("resource", "scope", "scopeSpans")):
        return
    if not found:
        raise JsonFault("unknown_record", "the record is no span, and no list of spans")
    for key in found:
        yield from _members(record[key], key, _resource(record), _scope(record), 0)


def _holds_spans(value: object) -> bool:
    if isinstance(value, dict):
        return any(key in value for key in _RESOURCES)
    return isinstance(value, list) and bool(value) and any(is_span(item) for item in value)


def _members(
    value: object, key: str, resource: Mapping[str, object], scope: object, depth: int
) -> Iterator[Member]:
    is_log = key in ("logRecords", "log_records")
    for item in value if isinstance(value, list) else [value]:
        inner = [k for k in _WRAPPERS if isinstance(item, dict) and isinstance(item.get(k), list)]
        if not isinstance(item, dict) or not inner or depth > len(_WRAPPERS):
            own = _resource(item) if isinstance(item, dict) else {}
            yield Member(item, {**resource, **own}, scope, is_log)
            continue
        around = {**resource, **_resource(item)}
        within = _scope(item) or scope
        for name in inner:
            yield from _members(item[name], name, around, within, depth + 1)


def _resource(record: Mapping[str, object]) -> dict[str, object]:
    given = record.get("resource")
    if not isinstance(given, dict):
        return {}
    try:
        return attributes_of(given.get("attributes", given.get("_attributes")), "resource")
    except JsonFault:
        return {}  # the program's description is no reason to refuse what it did


def _scope(record: Mapping[str, object]) -> object:
    keys = ("scope", "instrumentationScope", "instrumentationLibrary", "instrumentation_scope")
    given = _first(record, keys)
    return given.get("name") if isinstance(given, dict) else None


def raw_span(member: Member) -> RawSpan:
    """Read one member.

    Raises:
        JsonFault: ``not_an_object``, ``unknown_record``, ``bad_field_type`` or ``bad_time``.
    """
    record = member.value
    if not isinstance(record, dict):
        raise JsonFault("not_an_object", f"a span is {type_name(record)}, not an object")
    context = _context(record)
    trace_id = _hex(_first(context, _TRACE_IDS), "trace id")
    span_id = _hex(_first(context, _SPAN_IDS), "span id") or _hex(_console_id(record), "id")
    if member.is_log:
        return _log(record, member, trace_id or "", span_id or "")
    if trace_id is None or span_id is None:
        raise JsonFault("unknown_record", "a span needs the id of its trace and its own")
    started = instant(_first(record, _STARTS), "start time")
    is_error, error = _status(record)
    return RawSpan(
        span_id,
        trace_id,
        _parent(record),
        text_or_none(record.get("name"), "name"),
        started,
        instant(_first(record, _ENDS), "end time") or _after(record),
        _attributes(record),
        dict(member.resource),
        member.scope if isinstance(member.scope, str) else None,
        _events(record),
        is_error,
        error,
        others=scalars(record, _known(record)),
    )


def _log(record: Mapping[str, object], member: Member, trace_id: str, span_id: str) -> RawSpan:
    """A log record as a span of which only this is known."""
    attributes = attributes_of(record.get("attributes"))
    body = any_value(record.get("body"))
    name = _first({**attributes, **record}, ("eventName", "event_name", "event.name"))
    at = instant(_first(record, _LOG_TIMES), "time")
    fields = {**attributes, **(attributes_of(body) if isinstance(body, dict) else {"content": body})}
    event = Event(str(name or ""), at, fields)
    scope = member.scope if isinstance(member.scope, str) else None
    resource = dict(member.resource)
    return RawSpan(span_id, trace_id, None, None, at, at, {}, resource, scope, (event,), is_log=True)


def _known(record: Mapping[str, object]) -> list[str]:
    """Names that have a place of their own, and those of the wire and of the SDKs' insides."""
    return [key for key in record if key in _SPAN_FIELDS or key.startswith(_SPAN_BEGINNINGS)]


def _context(record: Mapping[str, object]) -> Mapping[str, object]:
    for key in ("spanContext", "_spanContext", "context"):
        inner = record.get(key)
        if isinstance(inner, dict):
            return inner
    return record


def _console_id(record: Mapping[str, object]) -> object:
    """Id of a span as the JavaScript console exporter writes it."""
    return record.get("id") if "traceId" in record and "duration" in record else None


def _parent(record: Mapping[str, object]) -> str | None:
    inner = record.get("parentSpanContext")
    given = inner.get("spanId") if isinstance(inner, dict) else _first(record, _PARENT_IDS)
    return _hex(given, "parent id")


def _hex(value: object, name: str) -> str | None:
    text = id_or_none(value, name)
    if not text or not text.strip("0x"):  # exporters write a missing parent as an empty or a zero id
        return None
    return text.removeprefix("0x")


def _first(record: Mapping[str, object], keys: tuple[str, ...]) -> object:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _attributes(record: Mapping[str, object]) -> dict[str, object]:
    found = attributes_of(record.get("attributes"))
    for key, value in record.items():  # a data frame's columns
        if isinstance(key, str) and key.startswith("attributes.") and value is not None:
            found |= attributes_of({key.removeprefix("attributes."): value})
    kind = record.get("span_kind")
    if isinstance(kind, str) and kind != "UNKNOWN":
        found.setdefault("openinference.span.kind", kind)
    return found


def _events(record: Mapping[str, object]) -> tuple[Event, ...]:
    given = record.get("events")
    if isinstance(given, str):
        given = read_json(given)
    if given is not None and not isinstance(given, list):
        raise JsonFault("bad_field_type", f"events is {type_name(given)}, not a list")
    found = []
    for item in given or ():
        if not isinstance(item, dict):
            raise JsonFault("bad_field_type", f"an event is {type_name(item)}, not an object")
        at = instant(_first(item, _EVENT_TIMES), "time of an event")
        found.append(Event(str(item.get("name") or ""), at, attributes_of(item.get("attributes"))))
    return tuple(found)


def _status(record: Mapping[str, object]) -> tuple[bool, str | None]:
    status = record.get("status")
    fields = status if isinstance(status, dict) else record
    code = _first(fields, ("code", "status_code", "statusCode"))
    code = status if code is None and isinstance(status, str) else code
    is_error = code == 2 if isinstance(code, int) else str(code).upper().endswith("ERROR")
    why = _first(fields, ("message", "description", "status_message", "statusMessage"))
    return is_error, why if isinstance(why, str) and why.strip() else None


def _after(record: Mapping[str, object]) -> str | None:
    """The end of a span that tells its start and duration, both in microseconds."""
    start, duration = record.get("timestamp"), record.get("duration")
    if type(start) is not int or type(duration) is not int:
        return None
    return iso_number(start + duration)
