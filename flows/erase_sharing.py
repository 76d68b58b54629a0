"""What an erasure takes of sharing: copies of what it erases, grants of an agent, memberships of teams."""

from __future__ import annotations

import polars as pl

from flows.erase_work import Work
from lake import tables
from lake.sharing import grants, teams
from lake.sharing.grants import Grant
from lake.sharing.teams import Member
from transforms.erasure import meets
from transforms.schemas import COLD, EPISODES
from transforms.scopes import TEAM, copied_from, is_copy


def note_copies(work: Work) -> None:
    """Add the copies of the episodes that go: of each nothing else rests on it, and it goes with its source.

    Those under a legal hold are among them; the rules leave them, and count them.
    """
    ids = work.values("episode", "wanted")
    for table in (EPISODES, COLD):
        held = tables.scan(work.lake, table, buckets=work.buckets)
        mine = held.filter(pl.col("tenant_id") == work.tenant, is_copy())
        rows = mine.select("episode_id", refs=copied_from()).collect()
        work.add("episode", rows.filter(meets(rows, "refs", ids))["episode_id"].to_list())


def is_copied(frame: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Whether each row with ``source`` and ``parent_id`` is a copy that rests on one of the ids."""
    return meets(frame.select(refs=copied_from()), "refs", ids)


def records(work: Work) -> tuple[list[Grant], list[Member]]:
    """Grants and memberships that name the subject, or are a tenant's whole."""
    subject = work.aim.subject
    given = grants.of_tenant(work.lake, work.tenant)
    members = teams.members(work.lake, work.tenant)
    if subject.kind == "tenant":
        return given, members
    if subject.kind == "user":
        return [], [one for one in members if (one.kind, one.id) == ("user", subject.user)]
    if subject.kind != "agent":
        return [], []
    agent = subject.agent or ""
    named = [one for one in members if (one.kind, one.id) == ("agent", agent) or TEAM + one.team == agent]
    return [one for one in given if agent in (one.giver, one.receiver)], named


def counts(work: Work) -> tuple[int, int]:
    """How many grants and memberships there are of the subject."""
    given, members = records(work)
    return len(given), len(members)


def drop_records(work: Work) -> None:
    """Remove the subject's grants and memberships."""
    given, members = records(work)
    for grant in given:
        grants.drop(work.lake, grant)
    for member in members:
        teams.drop(work.lake, member)
