"""Where the copy of a shared memory comes from, for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from transforms.scopes import SHARE_SOURCE

_SHOWN_CHARS = 8
"""Of an id, as ``explain`` takes it."""


def origin_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """A line for a copy: whose memory it is of, and which; none for any other row."""
    if row.get("source") != SHARE_SOURCE:
        return
    try:
        origin = json.loads(row.get("metadata") or "{}")
        giver, source = str(origin["shared_from"]), str(origin["source_id"])
        kind, day = str(origin["source_kind"]), str(origin["source_event_at"])[:10]
    except (ValueError, KeyError, TypeError):  # its key was destroyed
        yield "  a copy of another agent's memory"
        return
    yield f"  shared by agent {giver}: a copy of {kind} {source[:_SHOWN_CHARS]} of {day}"
