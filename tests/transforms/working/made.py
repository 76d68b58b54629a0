"""Rows of sessions, made from a line of text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from transforms.schemas import EPISODES
from transforms.working.rows import Row, row_of

START = datetime(2026, 3, 14, 12, tzinfo=UTC)


def row(place: int, what: str, **more: Any) -> Row:
    """A row from a word: ``u`` user, ``a`` assistant, ``s`` system, ``c1`` call 1, ``r1`` its result,
    ``c`` and ``r`` without an id, ``w`` a call that brings its own result.
    """
    kind, link = what[0], what[1:] or None
    columns: dict[str, Any] = dict.fromkeys(EPISODES.names)
    columns |= {
        "episode_id": f"{place:032x}",
        "tenant_id": "acme",
        "event_at": START + timedelta(seconds=place),
        "ingested_at": START + timedelta(seconds=place),
        "role": {"u": "user", "s": "system", "r": "tool"}.get(kind, "assistant"),
        "kind": "conversation",
        "content": f"text {place}",
        "retention_tier": "session",
        "is_injected": False,
        "trust": 1.0,
        "importance": 0.4,
        "sensitivity": "normal",
        "redactions": [],
        "tags": [],
    }
    if kind == "c":
        columns |= {"tool_name": "t", "tool_arguments": "{}", "content": "t {}"}
        columns["metadata"] = None if link is None else f'{{"tool_call_id":"{link}"}}'
    elif kind == "w":
        columns |= {"tool_name": "t", "tool_arguments": "{}"}
    elif kind == "r":
        columns |= {"parent_id": link}
    return row_of({**columns, **more})


def rows(words: str) -> list[Row]:
    """Rows of several words."""
    return [row(place, word) for place, word in enumerate(words.split())]


WORDS = st.lists(
    st.sampled_from(["u", "a", "s", "c1", "c2", "c3", "r1", "r2", "r3", "r9", "c", "r", "w"]), max_size=30
)
"""Sessions of any shape: parallel calls, missing results, results of unknown calls, ids used again."""
