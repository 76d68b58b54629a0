"""Rows behind a row in the shapes that ``lake.chain`` tells them in."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
import polars as pl

from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    EPISODES,
    FACTS,
    PROCEDURES,
    SUMMARIES,
    TOPICS,
    Table,
)

_DIGITS = 4
"""After the point, of figures from 0 to 1."""
_SAYS = {
    FACTS.name: "fact",
    SUMMARIES.name: "text",
    PROCEDURES.name: "policy",
    CONVERSATIONS.name: "title",
    CLAIMS.name: "fact",
    EPISODES.name: "content",
}
"""Column of the text of a row; topics and attempts have none."""
_EPISODE = ("kind", "role", "speaker", "event_at", "session_id", "source_file", "source_line", "content")


def text_of(table: Table, row: dict[str, Any]) -> str:
    """What a row says, as one text."""
    if table is TOPICS:
        return ", ".join(row["label"])
    if table is ATTEMPTS:
        return f"{row['task_type']}: {row['outcome'] or 'outcome not known'}"
    return str(row[_SAYS[table.name]])


def named(table: Table, rows: pl.DataFrame) -> list[dict[str, str]]:
    """Id and text of rows, by id."""
    key = table.key[0]
    return [{"id": row[key], "text": text_of(table, row)} for row in rows.sort(key).iter_rows(named=True)]


def rounded(value: Any) -> Any:
    """A figure without the digits that a 32-bit number does not have."""
    return round(value, _DIGITS) if isinstance(value, float) else value


def quoted(claims: pl.DataFrame, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Claims with the words that each names, of texts by episode."""
    names = ("claim_id", "episode_id", "extractor", "operation", "fact", "confidence", "source", "event_at")
    return [
        {
            **{n: rounded(c[n]) for n in names},
            "quote": texts.get(c["episode_id"], "")[c["span_start"] : c["span_end"]],
        }
        for c in claims.iter_rows(named=True)
    ]


def source(row: dict[str, Any], span: tuple[int, int] | None) -> dict[str, Any]:
    """An episode, with the words of a span of it."""
    told = {"episode_id": row["episode_id"], **{name: row[name] for name in _EPISODE}}
    return told if span is None else {**told, "quote": row["content"][span[0] : span[1]]}


def version(row: dict[str, Any], relation: str, of: str) -> dict[str, Any]:
    """Another version of an episode: what it is to it, when it came, and its text."""
    told = {name: row[name] for name in ("episode_id", "event_at", "ingested_at", "content")}
    return {**told, "relation": relation, "of": of}


def talk(row: dict[str, Any]) -> dict[str, Any]:
    """A conversation in the shape of a source."""
    blank = dict.fromkeys(_EPISODE)
    told = {"kind": "conversation", "event_at": row["started_at"], "content": row["title"]}
    return {**blank, "episode_id": row["conversation_id"], "session_id": row["session_id"], **told}


def read(name: str, value: Any) -> Any:
    """A value of a decision as it is told: its figures read, its instant in ISO 8601."""
    if name == "evidence":
        return orjson.loads(value)
    return value.isoformat() if isinstance(value, datetime) else value
