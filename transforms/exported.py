"""Rows of the lake's own exports: what a draft carries of the episode that it was, and its restoring.

An episode's id is a hash of what its source called it, which is not kept, so it cannot be made again from an
exported row. Such a row names its id itself; ``flows.versions`` refuses one that is another scope's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.readers.text import JsonFault
from transforms.schemas import EPISODES, SENSITIVITIES, SUMMARIES, TEXTS
from transforms.scopes import SHARE_SOURCE

_ID = re.compile(r"[0-9a-f]{32}\Z", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z", re.ASCII)
OF_A_SUMMARY = frozenset({*SUMMARIES.key, "tenant_id", "topic_id", "text", "sentences", "method"})
"""What a summary in an export has all of. It has text as rows have, and is no row: it is derived anew."""
_SHAPE = pl.Struct(
    {
        "episode_id": pl.String,
        "source": pl.String,
        "source_file": pl.String,
        "source_line": pl.Int64,
        "sensitivity": pl.String,
        "redactions": pl.List(pl.String),
    }
)
"""What of an exported row is taken as it stands; all else follows from the row anew."""


def claim_of(record: Mapping[str, Any]) -> str:
    """The JSON that a draft carries (``DRAFTS.exported``) of an exported row.

    Raises:
        JsonFault: ``bad_export``: a value is none that the lake writes, or the row is a shared copy.
    """
    source, line = record.get("source"), record.get("source_line")
    if not _is_text(record.get("episode_id"), _ID):
        raise JsonFault("bad_export", "the episode_id is no id of a lake")
    if not _is_text(source, _NAME):
        raise JsonFault("bad_export", "the source is no name of a format")
    if source == SHARE_SOURCE:
        raise JsonFault("bad_export", "a copy of a shared memory belongs to the lake that shares it")
    if record.get("sensitivity") not in SENSITIVITIES:
        raise JsonFault("bad_export", f"the sensitivity is none of {', '.join(SENSITIVITIES)}")
    kinds = record.get("redactions") or []
    if not isinstance(kinds, list) or not all(_is_text(kind, _NAME) for kind in kinds):
        raise JsonFault("bad_export", "the redactions are no list of kinds")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or abs(line) >= 2**63):
        raise JsonFault("bad_export", "the source_line is no number of a line")
    if not isinstance(record.get("source_file"), str | None):
        raise JsonFault("bad_export", "the source_file is no name")
    told = {name.name: record.get(name.name) for name in _SHAPE.fields}
    return json.dumps({**told, "redactions": sorted(set(kinds))})


def _is_text(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


def restored(episodes: pl.DataFrame, claims: pl.Series) -> pl.DataFrame:
    """Episodes with what their drafts carried of them.

    Args:
        episodes: ``schemas.EPISODES``, named anew.
        claims: ``DRAFTS.exported`` of each; null where it was no exported row.

    Returns:
        The same rows: a sensitivity is never lower than the rules make it, and kinds of redactions join.
    """
    if claims.null_count() == claims.len():
        return episodes
    told = claims.str.json_decode(_SHAPE).struct.unnest()
    held = told.select(pl.all().name.prefix("was "))
    both = pl.concat([episodes, held], how="horizontal")
    ranks = {name: place for place, name in enumerate(SENSITIVITIES)}
    was, now = pl.col("was sensitivity"), pl.col("sensitivity")
    is_more = was.replace_strict(ranks, default=-1) > now.replace_strict(ranks, default=0)
    is_told, none = pl.col("was episode_id").is_not_null(), pl.lit([], TEXTS)
    kinds = pl.concat_list("redactions", pl.col("was redactions").fill_null(none)).list.unique().list.sort()
    return both.with_columns(
        sensitivity=pl.when(is_more).then("was sensitivity").otherwise("sensitivity"),
        redactions=pl.when(is_told).then(kinds).otherwise("redactions"),
        **{n: pl.coalesce(f"was {n}", n) for n in ("episode_id", "source")},
        **{n: pl.when(is_told).then(f"was {n}").otherwise(n) for n in ("source_file", "source_line")},
    ).select(EPISODES.names)
