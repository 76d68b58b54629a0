"""Claims from memories of other stores: each is claimed as it stands, and none is read.

Such an episode says by its metadata which memory it is (``transforms.readers.memory_store``), so it is no
matter of rules or models. Its text is the fact; a later version of the same memory meets it in its slot and
replaces it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from transforms.claims.build import CANDIDATES, USER
from transforms.policy import Policy
from transforms.predicates import REMEMBERED
from transforms.readers.memory_store import FIELD, FORMATS

_FIELD = re.compile(rf'"{FIELD}":(?={{)')
_DECODER = json.JSONDecoder()


def is_memory() -> pl.Expr:
    """Whether an episode can be a memory of another store: by format, and marked as not said by anybody."""
    return pl.col("source").is_in(FORMATS) & (pl.col("kind") == "summary") & pl.col("is_injected")


def memories(episodes: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Which memory each episode is, by its id; rows of other formats, and damaged ones, are none."""
    told = episodes.filter(is_memory() & pl.col("metadata").is_not_null())
    found = ((name, _parsed(raw)) for name, raw in told.select("episode_id", "metadata").iter_rows())
    return {name: told for name, told in found if told is not None}


def without_memories(episodes: pl.DataFrame) -> pl.DataFrame:
    """The episodes whose words are to be read: all but memories of other stores."""
    names = list(memories(episodes))
    return episodes.filter(~pl.col("episode_id").is_in(names)) if names else episodes


def remembered(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """``CANDIDATES`` of all memories among the episodes, one each.

    Args:
        episodes: ``schemas.EPISODES``.
        policy: Section claims: a memory is as sure as what a user passes on in somebody else's words.
    """
    told = memories(episodes)
    held = episodes.filter(pl.col("episode_id").is_in(list(told)))
    rows = [
        _candidate(name, told[name], text, chars, policy)
        for name, text, chars in held.select("episode_id", "content", "content_chars").iter_rows()
    ]
    return pl.DataFrame(rows, schema=CANDIDATES)


def _candidate(name: str, told: Mapping[str, str], text: str, chars: int, policy: Policy) -> dict[str, Any]:
    return {
        "episode_id": name,
        "operation": "assert",
        "subject": told.get("subject", USER),
        "predicate": REMEMBERED.name,
        "aspect": f"{told['store']} {told['slot']}",
        "object": text,
        "polarity": "positive",
        "confidence": policy.claims.reported_confidence,
        "span_start": 0,
        "span_end": chars,
        "valid_from": _instant(told.get("valid_from")),
        "valid_until": _instant(told.get("valid_until")),
        "is_inferred": False,
    }


def _instant(text: str | None) -> datetime | None:
    """The instant; null for what is none, so that a memory is not lost for its time."""
    try:
        moment = None if text is None else datetime.fromisoformat(text)
        if moment is None:
            return None
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _parsed(raw: str) -> dict[str, str] | None:
    """The field of a metadata text, which redaction of other fields may have made no JSON any more."""
    found = _FIELD.search(raw)
    if found is None:
        return None
    try:
        told = _DECODER.raw_decode(raw, found.end())[0]
    except (ValueError, RecursionError):
        return None
    texts = {name: value for name, value in told.items() if isinstance(value, str)}
    return texts if texts.get("store") and texts.get("slot") else None
