"""Rows that retention took and that come again: held, as long as it would take them again.

The list of the forgotten names those that something still rests on; of others nothing is left to tell by.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from flows.job import Job
from flows.retain_plan import Instructions, access_of
from flows.retain_state import instructions_of
from lake import tables
from transforms.forgetting.due import LIGHT, judged, with_capacity
from transforms.owners import owner_expr
from transforms.schemas import EPISODES, FORGOTTEN

_OWNER = ["tenant_id", "owner"]


def forgotten(job: Job, buckets: Collection[int], names: pl.Series, candidates: pl.DataFrame) -> pl.DataFrame:
    """``episode_id`` of those of the names that are listed, and that no candidate may bring back.

    Args:
        job: At which instant, by which policy.
        buckets: Tenant buckets of the candidates.
        names: Ids to look for.
        candidates: ``schemas.EPISODES``, ``episode_id`` being the name a row would bring back.
    """
    wanted = names.unique().to_frame("episode_id").lazy()
    listed = tables.scan(job.lake, FORGOTTEN, buckets=buckets).select("episode_id")
    gone = listed.join(wanted, on="episode_id", how="semi").collect().unique(maintain_order=True)
    mine = candidates.join(gone, on="episode_id", how="semi").select(LIGHT)
    if mine.is_empty():
        return gone
    return gone.join(_staying(job, buckets, mine), on="episode_id", how="anti", maintain_order="left")


def _staying(job: Job, buckets: Collection[int], rows: pl.DataFrame) -> pl.DataFrame:
    """``episode_id`` of the rows that retention would leave here, or in cold storage, beside what is here."""
    wishes = Instructions(instructions_of(job)).wishes
    mine = rows.unique("episode_id", keep="first", maintain_order=True)
    owners = mine.select(owner_expr(), "tenant_id").unique().lazy()
    held = tables.scan(job.lake, EPISODES, buckets=buckets).select(LIGHT)
    theirs = held.with_columns(owner_expr()).join(owners, on=_OWNER, how="semi").drop("owner")
    others = theirs.join(mine.lazy(), on="episode_id", how="anti")
    every = pl.concat([mine.lazy(), others])
    access = access_of(job, sorted(buckets))
    recalled = None if access.head(1).collect().is_empty() else access
    verdicts = judged(every, recalled, job.policy, job.as_of, wishes)
    covered = verdicts.select("episode_id")
    after = with_capacity(verdicts, covered, job.policy, job.as_of)
    stays = after.filter((pl.col("state") != "goes") | (pl.col("reason") == "cold"))
    return stays.select("episode_id").join(mine, on="episode_id", how="semi")
