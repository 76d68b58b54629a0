"""No row leaves: 200 random scopes over random tenants, teams and hostile ids, against a plain registry."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lake import landing
from lake.lake import Lake
from lake.recall import Recall
from lake.sharing import grants, teams
from lake.sharing.grants import Grant
from tests.lake.recalled import NOW, ingest, job, make_lake, policy, publish, reader
from tests.lake.test_recall_isolation import HOSTILE
from transforms.errors import UsageError
from transforms.sharing.rules import Terms

TENANTS = ["t", "t' OR '1'='1", "tenant", "t:all", "🦊", "System"]
AGENTS = ["a", "b", "team", "Team:x", "team x", "tenant", "a' OR agent_id = 'team:x", *HOSTILE[:6]]
USERS = ["u", "team:x", "tenant:all", "system", "u' --", *HOSTILE[6:12]]
SESSIONS = ["s", "team:x", "system:all"]
TEAMS = ["x", "y", "x.y", "all"]
ODD = [
    "team:x' OR 1=1",
    "team:x\0",
    "team:X",
    "team:",
    "team:x ",
    "team:../x",
    "tenant:all",
    "system:all",
    "global",
]
LEVELS = ["user", "agent", "tenant", "system", "teams", *(f"team:{name}" for name in TEAMS), *ODD]


@dataclass(frozen=True)
class Row:
    """Where a row was written."""

    tenant: str
    user: str | None
    agent: str | None
    session: str | None
    shared: str | None = None


class World:
    """A lake, the true place of every row by its id, and who belongs to which team."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.lake: Lake = make_lake(folder)
        self.members: set[tuple[str, str, str, str]] = set()
        self.rows: dict[str, Row] = {}
        self._number = 0
        for tenant in TENANTS:
            for team in TEAMS:
                self._join(tenant, team, "agent", self.random.choice(AGENTS))
                self._join(tenant, team, "user", self.random.choice(USERS))

    def _join(self, tenant: str, team: str, kind: str, name: str) -> None:
        with suppress(UsageError):  # an id that is reserved
            teams.add(self.lake, tenant, team, **{kind: name}, at=NOW)  # type: ignore[arg-type]
            self.members.add((tenant, team, kind, name))

    def teams_of(self, row: Row) -> set[str]:
        own = {("agent", row.agent), ("user", row.user)}
        return {
            team for tenant, team, kind, name in self.members if tenant == row.tenant and (kind, name) in own
        }

    def some(self, names: list[str], share: float) -> str | None:
        return self.random.choice(names) if self.random.random() < share else None

    def place(self, sessions: float) -> Row:
        tenant = self.random.choice(TENANTS)
        return Row(tenant, self.some(USERS, 0.6), self.some(AGENTS, 0.6), self.some(SESSIONS, sessions))

    def plant(self, count: int) -> None:
        self._land([self.place(0.3) for _ in range(count)])
        for tenant in TENANTS:
            self._land([Row(tenant, None, None, None, "tenant")], tenant_id=tenant)
            for _, team, kind, name in sorted(one for one in self.members if one[0] == tenant):
                who = {"tenant_id": tenant, f"{kind}_id": name}
                self._land([Row(tenant, None, None, None, f"team:{team}")], **who)
        self._land([Row("system", None, None, None, "system")])

    def _land(self, places: list[Row], **who: str) -> None:
        rows = []
        for place in places:
            self._number += 1
            row: dict[str, Any] = {"content": f"violin w{self._number}", "id": f"r{self._number}"}
            if place.shared is None:
                ids = ("tenant", "user", "agent", "session")
                row |= {f"{name}_id": value for name in ids if (value := getattr(place, name)) is not None}
            rows.append(row)
        at = NOW - timedelta(days=1)
        done = landing.append(self.lake, rows, scope=places[0].shared, now=at, **who)
        assert not done.refused, done.refused
        self.rows |= dict(zip(done.landed, places, strict=True))

    def asking(self) -> Row:
        """A caller: whom some row is of, or anybody; some parts are left out."""
        named = self.random.choice([row for row in self.rows.values() if row.shared is None])
        named = self.random.choice([named, named, self.place(0.2)])
        parts = (named.user, named.agent, named.session)
        return Row(named.tenant, *(part if self.random.random() < 0.7 else None for part in parts))

    def visible(self, own: Row, also: list[str], *, is_wide: bool) -> set[str]:
        """What a call may see, by the plainest rule."""
        is_wide = is_wide and not (own.user or own.agent or own.session)  # what is named narrows it
        found = set()
        for name, row in self.rows.items():
            if row.shared is None:
                parts = ("user", "agent", "session")
                is_own = all(getattr(own, part) in (None, getattr(row, part)) for part in parts)
                is_named = any(getattr(own, part) for part in parts) or is_wide
                is_users = "user" in also and row.user == own.user
                is_agents = "agent" in also and row.user is None and row.agent == own.agent
                if row.tenant == own.tenant and ((is_own and is_named) or is_users or is_agents):
                    found.add(name)
            elif row.shared == "system":
                found |= {name} if "system" in also else set()
            elif row.tenant == own.tenant:
                is_mine = "teams" in also and row.shared.removeprefix("team:") in self.teams_of(own)
                found |= {name} if row.shared in also or is_mine or is_wide else set()
        return found

    def is_allowed(self, own: Row, also: list[str]) -> bool:
        known = {"user", "agent", "tenant", "system", "teams"} | {f"team:{team}" for team in TEAMS}
        mine = {f"team:{team}" for team in self.teams_of(own)}
        asked = {level for level in also if level.startswith("team:")}
        is_whole = not ("user" in also and own.user is None) and not ("agent" in also and own.agent is None)
        return set(also) <= known and asked <= mine and is_whole


def asked(found: Recall, own: Row, also: list[str], *, is_wide: bool) -> set[str] | None:
    """Ids that a call sees; None where it is refused."""
    named = {"tenant": own.tenant, "user": own.user, "agent": own.agent, "session": own.session}
    try:
        rows = found.search("violin", **named, tenant_wide=is_wide, also=also, k=1_000, as_of=NOW)  # type: ignore[arg-type]
    except UsageError:
        return None
    return {memory.id for memory in rows}


@pytest.mark.parametrize("seed", [1, 2])
def test_no_row_leaves_its_scope(tmp_path: Path, seed: int) -> None:
    world = World(tmp_path, seed)
    world.plant(120)
    publish(job(world.lake))
    world.plant(60)
    if seed == 2:
        ingest(job(world.lake))
    found = reader(world.lake, policy(duplicate_cosine=1.0))
    seen = refused = 0
    for _ in range(100):
        own = world.asking()
        is_wide = world.random.random() < 0.1 or not (own.user or own.agent or own.session)
        also = world.random.sample(LEVELS, world.random.choice([0, 1, 1, 2, 3]))
        told = asked(found, own, also, is_wide=is_wide)
        if not world.is_allowed(own, also):
            assert told is None, (own, also)
            refused += 1
            continue
        assert told == world.visible(own, also, is_wide=is_wide), (own, also, is_wide)
        seen += len(told)
    assert seen > 100
    assert refused > 10


def test_a_share_takes_from_one_agent_and_gives_to_one(tmp_path: Path) -> None:
    """Random grants: what arrives is the giver's, of its tenant, and nobody else's scope grows."""
    world = World(tmp_path, 3)
    world.plant(80)
    found = reader(world.lake, policy(duplicate_cosine=1.0))
    plain = [agent for agent in AGENTS if not agent.startswith(("team:", "tenant:", "system:"))]
    for _ in range(25):
        tenant, giver, receiver = world.random.choice(TENANTS), *world.random.sample(plain, 2)
        grants.make(world.lake, Grant(tenant, giver, receiver, Terms(), NOW))
        done = found.share("violin", tenant=tenant, from_agent=giver, to_agent=receiver, k=100)
        assert {one.reason for one in done.withheld} <= {"not_its_own"}
        for one in done.shared:
            source = world.rows[one.source_id]
            assert (source.tenant, source.agent, source.shared) == (tenant, giver, None)
            world.rows[one.id] = Row(tenant, source.user, receiver, None)
    for tenant in TENANTS:
        for agent in plain:
            own = Row(tenant, None, agent, None)
            told = found.search("violin", tenant=tenant, agent=agent, k=1_000)
            assert {memory.id for memory in told} <= world.visible(own, [], is_wide=False)
