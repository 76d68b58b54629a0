"""Where it is taken from which memories were of use: the first source that says enough, or the one named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from flows.tune_memories import texts_of
from flows.tune_trace_file import read_labels
from lake import tables
from lake.lake import Lake
from transforms.errors import UsageError
from transforms.policy_tune import TunePolicy
from transforms.replay import labels
from transforms.replay.echoes import echo_gains
from transforms.schemas import EPISODES

_PLACES = ("session_id", "user_id", "agent_id")
_SCOPE = ("episode_id", "tenant_id", *_PLACES, "event_at")


@dataclass(frozen=True)
class Labels:
    """Labelled recalls.

    Attributes:
        rows: Rows of labelled calls, with ``gain``.
        source: used, feedback, echo, imported or none.
        found: Labelled calls by source, of each that was looked at.
        notes: What is to be known of them.
    """

    rows: pl.DataFrame
    source: str
    found: Mapping[str, int]
    notes: tuple[str, ...] = field(default=())

    @property
    def told(self) -> str:
        """Which source labels how many calls, and which is taken."""
        return labels.told(self.found, self.source)


def labels_of(
    lake: Lake | None,
    tune: TunePolicy,
    rows: pl.DataFrame,
    texts: pl.DataFrame | None,
    wanted: str,
    as_of: datetime,
) -> Labels:
    """Label recalls.

    Args:
        lake: Where sessions are read; None: only what stands in the recalls is looked at.
        tune: How echoes are told, and how many calls are enough.
        rows: ``schemas.RECALLS``; with ``gain`` where they came labelled.
        texts: ``tenant_id``, ``memory_id`` and ``text`` that came along.
        wanted: ``auto``, one of ``labels.SOURCES``, or a file.
        as_of: Later episodes are not known.

    Raises:
        UsageError: A source is named that needs a lake, and there is none.
        InputError: The file is missing or wrong.
    """
    plain = rows.drop("gain", strict=False)
    if wanted not in ("auto", *labels.SOURCES):
        gains, strangers = labels.imported_gains(plain, read_labels(Path(wanted)))
        notes = (f"{strangers:,} labelled memories were no candidates of their call",) if strangers else ()
        return _labelled(plain, "imported", {"imported": gains}, notes)
    if wanted == "auto" and "gain" in rows.columns and rows["gain"].null_count() < rows.height:
        told = rows.filter(pl.col("gain").is_not_null()).select(list(labels.GAINS_SCHEMA))
        return _labelled(plain, "imported", {"imported": told})
    if lake is None and wanted in ("feedback", "echo"):
        raise UsageError(
            f"labels {wanted} are read from the lake's sessions", "Pass --lake, or other labels."
        )
    if wanted == "auto":
        return _first_enough(lake, tune, plain, texts, as_of)
    return _labelled(plain, wanted, {wanted: _gains(wanted, lake, tune, plain, texts, as_of)})


def _first_enough(
    lake: Lake | None, tune: TunePolicy, rows: pl.DataFrame, texts: pl.DataFrame | None, as_of: datetime
) -> Labels:
    """The surest source with enough calls; echoes, which cost most to find, only where no other has them."""
    found: dict[str, pl.DataFrame] = {}
    for name in labels.SOURCES if lake is not None else ("used",):
        found[name] = _gains(name, lake, tune, rows, texts, as_of)
        counts = _counts(found)
        source = labels.chosen(counts, tune.min_calls)
        if counts.get(source, 0) >= tune.min_calls:
            break
    return _labelled(rows, source, found)


def _labelled(
    rows: pl.DataFrame, source: str, found: Mapping[str, pl.DataFrame], notes: Sequence[str] = ()
) -> Labels:
    none = pl.DataFrame(schema=labels.GAINS_SCHEMA)
    gains = found.get(source, none)
    counts = _counts(found)
    useless = gains["call_id"].n_unique() - counts.get(source, 0)
    if useless:
        told = (
            f"{useless:,} labelled calls showed nothing of use, so no order of theirs is better than another"
        )
        notes = (*notes, told)
    return Labels(labels.with_gain(rows, gains), source, counts, tuple(notes))


def _counts(found: Mapping[str, pl.DataFrame]) -> dict[str, int]:
    return {name: len(labels.useful_calls(gains)) for name, gains in found.items()}


def _gains(
    name: str,
    lake: Lake | None,
    tune: TunePolicy,
    rows: pl.DataFrame,
    texts: pl.DataFrame | None,
    as_of: datetime,
) -> pl.DataFrame:
    if name == "used" or lake is None:
        return labels.used_gains(rows)
    if name == "feedback":
        said = _episodes(lake, rows, as_of, "feedback").filter(pl.col("feedback").is_not_null())
        return labels.feedback_gains(rows, said.collect(), tune.feedback_minutes)
    parts = [
        _echoes(lake, tune, rows.filter(pl.col("tenant_id") == tenant), texts, as_of)
        for tenant in rows["tenant_id"].unique().sort()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=labels.GAINS_SCHEMA)


def _echoes(
    lake: Lake, tune: TunePolicy, rows: pl.DataFrame, texts: pl.DataFrame | None, as_of: datetime
) -> pl.DataFrame:
    """Echoes of one tenant: its texts are held one tenant at a time."""
    said = _episodes(lake, rows, as_of, "role", "content", "is_injected")
    shown = rows.filter("is_returned", pl.col("memory_id") != "")
    held = texts_of(lake, shown).select("memory_id", "text", "source_refs")
    if texts is not None:
        more = texts.filter(pl.col("tenant_id") == rows["tenant_id"][0])
        refs = pl.concat_list("memory_id").alias("source_refs")
        held = pl.concat([held, more.select("memory_id", "text", refs)]).unique(
            "memory_id", keep="first", maintain_order=True
        )
    return echo_gains(rows, held, said.collect(), tune)


def _episodes(lake: Lake, rows: pl.DataFrame, as_of: datetime, *more: str) -> pl.LazyFrame:
    """Episodes of the sessions, people and agents of calls, from the first call on."""
    if rows.is_empty():
        return EPISODES.empty().lazy().select(*_SCOPE, *more)
    first, tenants = rows["recalled_at"].min(), sorted(rows["tenant_id"].unique())
    held = tables.scan(lake, EPISODES, buckets=sorted({lake.bucket(t) for t in tenants}))
    at = pl.col("event_at")
    is_named = [pl.col(n).is_in(rows[n].drop_nulls().unique().implode()) for n in _PLACES]
    mine = held.filter(
        pl.col("tenant_id").is_in(tenants), at <= as_of, at > first, pl.any_horizontal(is_named)
    )
    return mine.select(*_SCOPE, *more)
