"""What an export tells of sharing: the teams that a person or agent belongs to, and an agent's grants."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from flows.export_schema import Part
from lake.lake import Lake
from lake.sharing import grants, teams
from transforms.declarations import INSTANT, TEXTS, Column
from transforms.subjects import Subject

_TEAMS = (
    Column("team", pl.String, "Its id"),
    Column("since", INSTANT, "When the subject was added"),
)
_GRANTS = (
    Column("giver", pl.String, "Agent whose memories may be given"),
    Column("receiver", pl.String, "Agent, team or all agents of the tenant"),
    Column("kinds", TEXTS, "Only these kinds; empty: all that are shared"),
    Column("max_sensitivity", pl.String, "How private they may be"),
    Column("trust", pl.Float64, "Most trust of a copy; null: the policy's", is_nullable=True),
    Column("granted_at", INSTANT, "When"),
    Column("until", INSTANT, "When it runs out", is_nullable=True),
)


def sharing_parts(lake: Lake, subject: Subject) -> list[Part]:
    """Two files: memberships of the subject, and grants that name it where it is an agent."""

    def of_teams() -> Iterator[pl.DataFrame]:
        held = teams.members(lake, subject.tenant)
        mine = {("user", subject.user), ("agent", None if subject.user else subject.agent)}
        rows = [(one.team, one.since) for one in held if (one.kind, one.id) in mine]
        yield pl.DataFrame(rows, schema={c.name: c.dtype for c in _TEAMS}, orient="row")

    def of_grants() -> Iterator[pl.DataFrame]:
        held = [] if subject.user else grants.of_tenant(lake, subject.tenant)
        rows = [
            (
                one.giver,
                one.receiver,
                list(one.terms.kinds),
                one.terms.max_sensitivity,
                one.terms.trust,
                one.granted_at,
                one.until,
            )
            for one in held
            if subject.agent in (one.giver, one.receiver)
        ]
        yield pl.DataFrame(rows, schema={c.name: c.dtype for c in _GRANTS}, orient="row")

    return [
        Part("teams", "One team that the subject belongs to.", _TEAMS, of_teams),
        Part("grants", "One grant under which memories of agents are shared.", _GRANTS, of_grants),
    ]
