"""Spans as the SDK for Python writes them, for the tests of their reader."""

from __future__ import annotations

from typing import Any

from tests.transforms.readers.reading import Read

TRACE, ASK, ANSWER = "0af7651916cd43dd8448eb211c80319c", "Is the ferry late?", "By ten minutes."


def short(found: Read) -> list[tuple[object, ...]]:
    """Id, kind or role, text and time of each draft, in the order of the conversation."""
    rows = sorted(found.drafts, key=lambda d: (str(d["session_id"]), int(str(d["turn_index"]))))
    return [
        (d["natural_id"], d["kind"] or d["role"], d["content"], d["event_at"], d["outcome"]) for d in rows
    ]


def span(number: int, second: int, attributes: dict[str, Any], **fields: object) -> dict[str, Any]:
    """A span of one trace that takes a second, as the SDK for Python writes it."""
    return {
        "name": "step",
        "context": {"trace_id": TRACE, "span_id": f"{number:016x}"},
        "parent_id": None,
        "start_time": f"2026-06-01T10:00:{second:02d}Z",
        "end_time": f"2026-06-01T10:00:{second + 1:02d}Z",
        "status": {"status_code": "UNSET"},
        "attributes": attributes,
        **fields,
    }


def event(name: str, **fields: object) -> dict[str, Any]:
    """An event of a span."""
    return {"name": name, "attributes": fields}
