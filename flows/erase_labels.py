"""Labels of topics: a term that an erased person said must be a word of an episode still in the topic."""

from __future__ import annotations

import polars as pl

from flows.erase_work import Work
from lake import revisions, tables
from transforms.schemas import EPISODES, TOPIC_MEMBERS, TOPICS
from transforms.topics.labels import terms


def stray_terms(work: Work) -> int:
    """Terms in labels of owners who stay that what is erased says, and no remaining episode of the topic."""
    owners = work.values("owner_stays")
    if owners.is_empty():
        return 0
    keys = pl.DataFrame({"tenant_id": [work.tenant] * owners.len(), "owner": owners})
    topics, members = (
        revisions.standing(work.lake, table, buckets=work.buckets, keys=keys)
        for table in (TOPICS, TOPIC_MEMBERS)
    )
    wanted = members.select("episode_id", "topic_id").lazy()
    said = tables.scan(work.lake, EPISODES, buckets=work.buckets).select("episode_id", "content")
    held = said.join(wanted, on="episode_id", how="inner").collect(engine="streaming")
    known = terms(held.select("topic_id", "content"))
    erased = terms(pl.DataFrame({"content": work.values("text")}))
    told = topics.select("topic_id", term="label").explode("term", empty_as_null=False, keep_nulls=False)
    theirs = told.join(erased, on="term", how="semi")
    return theirs.join(known, on=["topic_id", "term"], how="anti").height
