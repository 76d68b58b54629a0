"""Lineage that goes with the rows it tells of; of an edited message as long as its text is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from flows.job import Job
from lake import tables
from transforms.schemas import COLD, EPISODES, FORGOTTEN, LINEAGE
from transforms.versions import KIND

_PLACES = (EPISODES, COLD, FORGOTTEN)


def version_lineage(
    job: Job, buckets: Sequence[int], going: Mapping[str, pl.DataFrame], columns: Sequence[str]
) -> pl.DataFrame:
    """Verdicts on lineage of versions that are nowhere any more: not here, not cold, not on the list.

    As long as one is listed, because something rests on it, an older export must not bring back the text
    that it replaced.

    Args:
        job: Whose lake.
        buckets: Which.
        going: What goes of each table, with ``is_listed`` of episodes.
        columns: Of a verdict.

    Returns:
        The columns and ``derived_id``.
    """
    named = pl.concat([going[table.name].select(*columns, derived_id="episode_id") for table in _PLACES])
    if named.is_empty():
        return named
    links = tables.scan(job.lake, LINEAGE, buckets=buckets).filter(pl.col("derived_kind") == KIND)
    versions = links.select("derived_id").unique().collect(engine="streaming")
    found = named.join(versions, on="derived_id", how="semi").unique("derived_id", keep="first")
    if found.is_empty():
        return found
    stays = pl.concat(_staying(job, buckets, going, found["derived_id"]))
    return found.join(stays, on="derived_id", how="anti")


def _staying(
    job: Job, buckets: Sequence[int], going: Mapping[str, pl.DataFrame], ids: pl.Series
) -> list[pl.DataFrame]:
    """``derived_id`` of those of the ids that stay in some place, or that the plan moves to one."""
    moved = going[EPISODES.name].filter((pl.col("reason") == "cold") | pl.col("is_listed"))
    gone = going[FORGOTTEN.name].select("episode_id")
    # Nothing needs the entry of one that is listed and goes from the list at once; a cold one keeps its own.
    found = [moved.join(gone, on="episode_id", how="anti")]
    for table in _PLACES:
        rows = tables.scan(job.lake, table, buckets=buckets).select("episode_id")
        held = rows.filter(pl.col("episode_id").is_in(ids.implode())).collect(engine="streaming")
        found.append(held.join(going[table.name], on="episode_id", how="anti"))
    return [rows.select(derived_id="episode_id") for rows in found]
