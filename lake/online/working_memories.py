"""A session as memories of tier working, for the working share of a context."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from lake.online.working_log import SessionName
from lake.online.working_window import Window
from transforms import ids
from transforms.schemas import INSTANT, MEMORIES
from transforms.search_text import search_texts
from transforms.working.rendering import state_lines
from transforms.working.rows import most_private

TIER = "working"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def memories_of(window: Window, name: SessionName) -> pl.DataFrame:
    """State, summary and rows of a window.

    Args:
        window: What is shown.
        name: Whose.

    Returns:
        ``schemas.MEMORIES``: the state first, then the summary, then the rows by time; vectors are empty.
        State and summary are of kind ``summary``, as private as the most private row.
    """
    rows = [_memory(row.raw) for row in window.rows]
    told = [_note(window, name, part, text) for part, text in _notes(window) if text]
    if not (rows or told):
        return MEMORIES.empty()
    known = {c.name: c.dtype for c in MEMORIES.columns if c.name != "search_text"}
    frame = pl.DataFrame([*told, *rows], schema=known)
    return frame.with_columns(search_text=search_texts(frame["text"])).select(MEMORIES.names)


def shown_rows(memories: pl.DataFrame) -> list[dict[str, Any]]:
    """``memories_of`` as ``lake.online.contexts.packed`` takes them: instants in microseconds since 1970."""
    return memories.with_columns(pl.col(INSTANT).to_physical()).to_dicts()


def _notes(window: Window) -> list[tuple[str, str]]:
    return [("state", "\n".join(state_lines(window.state))), ("earlier", window.summary)]


def _memory(raw: Mapping[str, Any]) -> dict[str, Any]:
    held = {c.name: raw.get(c.name) for c in MEMORIES.columns}
    return held | {
        "memory_id": raw["episode_id"],
        "tier": TIER,
        "text": raw["content"],
        "access_count": 0,
        "source_refs": [raw["episode_id"]],
        "last_accessed_at": raw["event_at"],
        "vector": [],
    }


def _note(window: Window, name: SessionName, part: str, text: str) -> dict[str, Any]:
    # They are packed by time: before the rows, however new they are.
    first = min((row.at for row in window.rows), default=window.state.updated_at or _EPOCH)
    newest = max((row.at for row in window.rows), default=window.state.updated_at or _EPOCH)
    told: dict[str, Any] = dict.fromkeys(MEMORIES.names)
    refs = [] if part == "state" else sorted({ref for one in window.summed.sentences for ref in one.sources})
    row_id = ids.row_id(name.tenant, TIER, part, name.user or "", name.agent, name.session)
    return told | {
        **name.columns(),
        "memory_id": row_id,
        "kind": "summary",
        "tier": TIER,
        "text": text,
        "content_hash": ids.row_id(name.tenant, text),
        "importance": 1.0,
        "access_count": 0,
        "sensitivity": _most_private(window),
        "trust": min((row.raw["trust"] for row in window.rows), default=1.0),
        "source_refs": refs,
        "event_at": first,
        "last_accessed_at": newest,
        "vector": [],
    }


def _most_private(window: Window) -> str:
    """Of all that was said in the session: its state and its summary may hold any of it."""
    return most_private([window.summed.sensitivity, *(row.sensitivity for row in window.all_rows)])
