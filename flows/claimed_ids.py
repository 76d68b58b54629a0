"""Rows that name their own id, as those of an export do: nobody takes over a row of another scope by it."""

from __future__ import annotations

import polars as pl

from flows.job import Job
from flows.versions import SCOPE
from lake import tables
from transforms.schemas import COLD, EPISODES, FORGOTTEN
from transforms.versions import refusals

CLAIMED = "state/claimed.json"
"""There once rows have landed that named their id: from then on every row is held against those there are."""
_WHOSE = ("episode_id", *SCOPE)
_FOREIGN = "The row has the id of another row, which is of another tenant, user, agent or session."


def own(job: Job, episodes: pl.DataFrame, claimed: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows without those whose id is another scope's, and these as refusals (``schemas.REFUSALS``).

    Args:
        job: The run.
        episodes: Candidates.
        claimed: Ids that rows named themselves; whose they are is looked for in all buckets.
    """
    is_known = job.lake.storage.read(CLAIMED) is not None
    if claimed.is_empty() and not is_known:
        return episodes, refusals(episodes.clear())
    is_claim = pl.col("episode_id").is_in(claimed.implode())
    named, others = episodes.filter(is_claim), episodes.filter(~is_claim)
    if named.height and not job.is_dry:
        job.lake.storage.write(CLAIMED, b"{}")
    elif not is_known:
        return episodes, refusals(named)
    held = [_held(job, claimed), _held(job, others["episode_id"], others["tenant_bucket"].unique().to_list())]
    # Of rows that come together one that is named by its source goes before one that names itself.
    first = [part.sort(*SCOPE, nulls_last=True).select(_WHOSE) for part in (others, named)]
    owners = pl.concat([*held, *first]).unique("episode_id", keep="first", maintain_order=True)
    mine = episodes.join(owners, on=_WHOSE, how="semi", nulls_equal=True)
    foreign = episodes.join(owners, on=_WHOSE, how="anti", nulls_equal=True)
    return mine, refusals(foreign, _FOREIGN, "foreign_id")


def _held(job: Job, ids: pl.Series, buckets: list[int] | None = None) -> pl.DataFrame:
    """Whose rows of some ids are, here, in cold storage or forgotten."""
    wanted = ids.unique().to_frame("episode_id").lazy()
    rows = pl.concat(
        tables.scan(job.lake, table, buckets=buckets).select(_WHOSE) for table in (EPISODES, COLD, FORGOTTEN)
    )
    return rows.join(wanted, on="episode_id", how="semi").collect()
