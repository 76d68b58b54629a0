"""What rests on what is judged: which episodes that go are listed, and what nothing needs any more.

Verdicts have been read for all of it but lists of ids, and none looks beyond its own owner, so this is found
part by part, as they are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from flows.job import Job
from flows.retain_parts import Part, rows_of
from flows.retain_plan import SCOPE, Plan
from lake import revisions
from transforms.forgetting.among import among
from transforms.retention import instant
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    PROCEDURES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)
from transforms.standing import is_held
from transforms.subjects import Subject

_RESTING = (FACTS, SUMMARIES, PROCEDURES, ATTEMPTS)
_LISTED = ["episode_id", *SCOPE, "tenant_bucket"]
_STAYS = pl.col("state") != "goes"


def with_orphans(
    job: Job, buckets: Sequence[int], part: Part, plan: Plan, holds: list[Subject]
) -> tuple[Plan, dict[str, pl.DataFrame]]:
    """A plan of which episodes tell whether they are to be listed, and what goes because nothing needs it.

    Listed as forgotten are episodes that something derived rests on, or that are kept cold: it may stand on.
    One on a topic that its person has forbidden is not: nothing is to rest on it any more.

    Args:
        job: At which instant.
        buckets: Which the plan is of.
        part: Which owners of them.
        plan: Verdicts of ``plan_buckets``.
        holds: Legal holds.

    Returns:
        The plan, with ``is_listed`` of episodes; and rows that go: of ``forgotten``, those that no derived
        row rests on once the plan is done; of ``topic_members``, those of episodes that are nowhere any
        more; of ``topics``, those left without any and without a summary; and of ``decisions``, those on
        such topics.
    """
    episodes, cold = plan.verdicts[EPISODES.name], plan.verdicts[COLD.name]
    going = episodes.filter(~_STAYS)
    cooled = going.filter(pl.col("reason") == "cold").select("episode_id")
    listed = rows_of(job, FORGOTTEN, buckets, part).select(_LISTED).collect()
    cited = _cited(plan, pl.concat([going["episode_id"], listed["episode_id"]]))
    needed = pl.concat([cited.filter("stays").select("episode_id"), cooled])
    goes_listed = (
        (pl.col("reason") != "forbidden_topic")
        & ((pl.col("reason") == "cold") | among("episode_id", cited["episode_id"]))
        & ~pl.col("episode_id").is_in(listed["episode_id"].implode())
    )
    marked = going.with_columns(is_listed=goes_listed)
    every = pl.concat([listed, marked.filter("is_listed").select(_LISTED)])
    # An import has brought these back.
    back = episodes.filter(_STAYS, among("episode_id", listed["episode_id"]))["episode_id"]
    is_back = pl.col("episode_id").is_in(back.implode())
    is_free = (is_back | ~among("episode_id", needed["episode_id"])) & ~is_held(holds, "episode_id")
    free, kept = every.filter(is_free), every.filter(~is_free)
    known = [episodes.filter(_STAYS), cold.filter(_STAYS), cooled, kept]
    known_ids = pl.concat([rows["episode_id"] for rows in known])
    orphans = {FORGOTTEN.name: free, **_topics(job, buckets, part, plan, known_ids, holds)}
    verdicts = {**plan.verdicts, EPISODES.name: marked}
    return Plan(verdicts, plan.rows), {name: _orphaned(job, rows) for name, rows in orphans.items()}


def _cited(plan: Plan, asked: pl.Series) -> pl.DataFrame:
    """Of the ids that are asked for those that a row rests on, with ``stays``: whether that row stays."""
    if asked.is_empty():
        return pl.DataFrame(schema={"episode_id": pl.String, "stays": pl.Boolean})
    return pl.concat([rows.filter(among("episode_id", asked)) for rows in _citing(plan)])


def _citing(plan: Plan) -> Iterator[pl.DataFrame]:
    for table in (CLAIMS, COLD):
        yield plan.verdicts[table.name].select("episode_id", stays=_STAYS)
    for table in _RESTING:
        rows = plan.verdicts[table.name].select(episode_id="source_refs", stays=_STAYS)
        yield rows.explode("episode_id").drop_nulls()


def _topics(
    job: Job, buckets: Sequence[int], part: Part, plan: Plan, known: pl.Series, holds: list[Subject]
) -> dict[str, pl.DataFrame]:
    """Memberships of episodes that are not known, topics left without any, and decisions on these.

    One that a summary is of stays with it.
    """
    members = _latest(job, TOPIC_MEMBERS, buckets, part, ["tenant_id", "topic_id"])
    is_known = members.select(among("episode_id", known)).to_series()
    used = members.filter(is_known & ~members["is_removed"])["topic_id"]
    told = plan.verdicts[SUMMARIES.name].filter(_STAYS)["topic_id"]
    stood = _latest(job, TOPICS, buckets, part, ["tenant_id", "user_id", "agent_id"])
    is_free = ~among("topic_id", pl.concat([used, told])) & ~is_held(holds, "topic_id")
    free = stood.with_columns(session_id=pl.lit(None, pl.String)).filter(is_free)
    return {
        TOPIC_MEMBERS.name: members.filter(~is_known),
        DECISIONS.name: free.rename({"topic_id": "item_id"}),
        TOPICS.name: free,
    }


def _latest(
    job: Job, table: Table, buckets: Sequence[int], part: Part, columns: Sequence[str]
) -> pl.DataFrame:
    named = [*table.key, *columns, "tenant_bucket", *revisions.REVISION]
    return revisions.newest_rows(table, rows_of(job, table, buckets, part).select(named).collect())


def _orphaned(job: Job, rows: pl.DataFrame) -> pl.DataFrame:
    now = instant(job.as_of)
    why = {"reason": pl.lit("orphaned"), "state": pl.lit("goes"), "due_at": now, "known_at": now}
    return rows.with_columns(tier=pl.lit(""), next_at=pl.lit(None, pl.Datetime("us", "UTC")), **why)
