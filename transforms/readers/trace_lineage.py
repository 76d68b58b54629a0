"""Which span of a trace is part of which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transforms.readers.trace import Span

_MAX_DEPTH = 200
"""How far up the spans around a span are looked for: a chain without end must cost no more than a line."""


class Lineage:
    """The spans of one trace and those around them.

    Args:
        spans: All that are held of the trace; parents may be missing, or form a ring.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        """Note the parent of each."""
        self._by_id = {span.span_id: span for span in spans}
        self._depths: dict[str, int] = {}

    def around(self, span_id: str) -> Iterator[Span]:
        """The spans around one, the nearest first."""
        found = {span_id}
        span = self._by_id.get(span_id)
        while span is not None and span.parent_id is not None and len(found) <= _MAX_DEPTH:
            span = None if span.parent_id in found else self._by_id.get(span.parent_id)
            if span is not None:
                found.add(span.span_id)
                yield span

    def depth(self, span_id: str) -> int:
        """How many spans are around one."""
        known = self._depths.get(span_id)
        if known is None:
            known = self._depths[span_id] = sum(1 for _ in self.around(span_id))
        return known

    def is_within(self, inner: str, outer: str) -> bool:
        """Whether a span is part of another."""
        return any(span.span_id == outer for span in self.around(inner))
