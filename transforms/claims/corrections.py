"""Claims from corrections of facts: what a person had set right, without reading a word of it.

Such an episode carries the fact it corrects as data, so it is no matter of rules or models. It gives two
claims of the person's own word: the old object taken back, the new one asserted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.claims.build import CANDIDATES, CORRECTION

SOURCE = CORRECTION
"""``source`` of an episode that a correction made."""
FIELD = "correction"
"""Field of its metadata."""
_TEXTS = ("subject", "predicate", "aspect", "polarity", "old_object", "object")
_SURE = 1.0


def correction_of(fact: Mapping[str, Any], new_object: str, request_id: str) -> dict[str, str]:
    """What the metadata of an episode holds that corrects a fact.

    Args:
        fact: ``schemas.FACTS``.
        new_object: What takes the place of its object.
        request_id: Request that it comes from.
    """
    told = {name: str(fact[name]) for name in ("fact_id", "subject", "predicate", "aspect", "polarity")}
    return {**told, "old_object": str(fact["object"]), "object": new_object, "request_id": request_id}


def corrections(episodes: pl.DataFrame) -> dict[str, dict[str, str]]:
    """What is corrected, by id of the episode that says so; damaged ones are none."""
    told = episodes.filter((pl.col("source") == SOURCE) & pl.col("metadata").is_not_null())
    found = ((name, _parsed(raw)) for name, raw in told.select("episode_id", "metadata").iter_rows())
    return {name: told for name, told in found if told is not None}


def without_corrections(episodes: pl.DataFrame) -> pl.DataFrame:
    """The episodes whose words are to be read: all but corrections of facts."""
    names = list(corrections(episodes))
    return episodes.filter(~pl.col("episode_id").is_in(names)) if names else episodes


def corrected(episodes: pl.DataFrame) -> pl.DataFrame:
    """``CANDIDATES`` of all corrections among the episodes: a retraction and an assertion each."""
    told = corrections(episodes)
    lengths = episodes.filter(pl.col("episode_id").is_in(list(told))).select("episode_id", "content_chars")
    rows = [
        _candidate(name, told[name], operation, chars)
        for name, chars in lengths.iter_rows()
        for operation in ("retract", "assert")
    ]
    return pl.DataFrame(rows, schema=CANDIDATES)


def _candidate(name: str, told: Mapping[str, str], operation: str, chars: int) -> dict[str, Any]:
    # Of two claims of one text the one that ends first is folded first: what is taken back must have gone
    # before the new object comes, for the two may be near enough to be taken for one.
    end = max(chars - 1, 1) if operation == "retract" else chars
    return {
        "episode_id": name,
        "operation": operation,
        **{part: told[part] for part in ("subject", "predicate", "aspect", "polarity")},
        "object": told["old_object" if operation == "retract" else "object"],
        "confidence": _SURE,
        "span_start": 0,
        "span_end": end,
        "is_inferred": False,
    }


def _parsed(raw: str) -> dict[str, str] | None:
    try:
        told = json.loads(raw)[FIELD]
        return {name: str(told[name]) for name in _TEXTS} if "fact_id" in told else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
