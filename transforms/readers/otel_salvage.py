"""The whole spans of an exporter's request that is broken: it holds hundreds, and one fault is no reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from transforms.readers.otel_attributes import attributes_of
from transforms.readers.otel_source import Member, is_span
from transforms.readers.text import JsonFault, load_json

_SPAN = re.compile(r'\{\s*"(?:traceId|spanId|trace_id|span_id|name|spanContext|context)"\s*:')
_RESOURCE = re.compile(r'"resource"\s*:\s*(?=\{)')
_MAX_LOST = 100
"""Objects of one request that may turn out to be no spans before the rest of it is given up."""
_DECODER = json.JSONDecoder(strict=False)


def salvage(raw: bytes, lost: list[object]) -> Iterator[Member]:
    """The spans that stand whole in a broken text, each with its resource.

    A span whose resource cannot be read stays lost: of whom it is may stand there.

    Args:
        raw: The text.
        lost: Gets what lies between the spans, once all are given.
    """
    text = raw.decode("utf-8", "replace")
    rest, place, faults = list[str](), 0, 0
    resource: Mapping[str, object] | None = {}
    while faults < _MAX_LOST and (begin := _SPAN.search(text, place)):
        span, end = _object(text, begin.start())
        between = text[place : begin.start()]
        resource = _resource(between, resource)
        rest.append(between)
        if span is None or not is_span(span) or "name" not in span:
            faults += 1
            rest.append(begin[0])
            place = begin.end()
            continue
        place = end
        if resource is None:
            rest.append(text[begin.start() : end])
        else:
            yield Member(span, resource, None)
    lost.append("".join([*rest, text[place:]]).encode())


def _object(text: str, start: int) -> tuple[dict[str, object] | None, int]:
    """The object that begins there and where it ends; null if it is not whole."""
    try:
        _, end = _DECODER.raw_decode(text, start)
        value = load_json(text[start:end].encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None, start
    return (value, end) if isinstance(value, dict) else (None, start)


def _resource(text: str, last: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The attributes of the last resource that a text holds, or of the one before; null if it is broken."""
    begins = [found.end() for found in _RESOURCE.finditer(text)]
    if not begins:
        return last
    value, _ = _object(text, begins[-1])
    try:
        return None if value is None else attributes_of(value.get("attributes"), "resource")
    except JsonFault:
        return None
