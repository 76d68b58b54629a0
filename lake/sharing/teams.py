"""Teams: which agents and users of a tenant belong to one. A file a membership: none is half made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lake.lake import Lake
from lake.rights import audit
from lake.rights.subjects import salt, subject_hash
from lake.rights.watched import Watched
from lake.sharing.names import plain_id, record_key
from transforms.errors import LakeError, UsageError
from transforms.scopes import team_id
from transforms.subjects import Subject

PREFIX = "sharing/members"


@dataclass(frozen=True, order=True)
class Member:
    """One agent or user of a team.

    Args:
        tenant: Customer.
        team: Its id, without ``team:``.
        kind: ``agent`` or ``user``.
        id: Of the agent or user.
        since: When it was added.
    """

    tenant: str
    team: str
    kind: str
    id: str
    since: datetime

    def as_dict(self) -> dict[str, str]:
        """The shape that ``--json`` prints."""
        return {"team": self.team, self.kind: self.id, "since": self.since.isoformat()}

    @property
    def subject(self) -> Subject:
        """Who it is."""
        return Subject(self.tenant, **{self.kind: self.id})


def add(
    lake: Lake, tenant: str, team: str, *, agent: str | None = None, user: str | None = None, at: datetime
) -> bool:
    """Make an agent or a user a member; at once for every process. False where it was one already.

    Raises:
        UsageError: An id is none, or not exactly one of agent and user is named.
    """
    member = _member(tenant, team, agent, user, at)
    key = _key(lake, member)
    record = {"tenant": tenant, "team": team, member.kind: member.id, "since": _iso(at)}
    is_new = lake.storage.create(key, json.dumps(record, sort_keys=True).encode())
    if is_new:
        _audit(lake, "team_added", member, at)
    return is_new


def remove(
    lake: Lake, tenant: str, team: str, *, agent: str | None = None, user: str | None = None, at: datetime
) -> bool:
    """Take a membership back; at once for every process. False where there was none.

    Raises:
        UsageError: As for ``add``.
    """
    member = _member(tenant, team, agent, user, at)
    if lake.storage.read(_key(lake, member)) is None:
        return False
    drop(lake, member)
    _audit(lake, "team_removed", member, at)
    return True


def drop(lake: Lake, member: Member) -> None:
    """Remove the record of a membership, unaudited: for an erasure, whose certificate counts it."""
    lake.storage.delete(_key(lake, member))


def load_all(lake: Lake) -> list[Member]:
    """Every membership, by tenant, team and id.

    Raises:
        LakeError: One of them is damaged.
    """
    return sorted(_watched.read(lake).values())


def members(lake: Lake, tenant: str, team: str | None = None) -> list[Member]:
    """The members of a tenant's teams, or of one of them."""
    return [one for one in load_all(lake) if one.tenant == tenant and team in (None, one.team)]


def teams_of(lake: Lake, tenant: str, agent: str | None = None, user: str | None = None) -> list[str]:
    """The teams that an agent or a user belongs to, sorted."""
    named = {("agent", agent), ("user", user)}
    held = _watched.read(lake).values()
    return sorted({one.team for one in held if one.tenant == tenant and (one.kind, one.id) in named})


def _member(tenant: str, team: str, agent: str | None, user: str | None, at: datetime) -> Member:
    if (agent is None) == (user is None):
        raise UsageError("a member is one agent or one user", "Name one of them.")
    kind, value = ("user", user) if agent is None else ("agent", agent)
    return Member(plain_id("tenant", tenant), team_id(team), kind, plain_id(kind, value), at)


def _key(lake: Lake, member: Member) -> str:
    return record_key(lake, PREFIX, member.tenant, member.team, member.kind, member.id)


def _audit(lake: Lake, kind: str, member: Member, at: datetime) -> None:
    audit.append(lake, kind, at=at, subject_hash=subject_hash(salt(lake), member.subject))


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _parsed(key: str, data: bytes) -> Member:
    """One record.

    Raises:
        LakeError: It is damaged.
    """
    try:
        record: Mapping[str, str] = json.loads(data)
        kind = "agent" if "agent" in record else "user"
        values = (record["tenant"], record["team"], kind, record[kind])
        if not all(isinstance(value, str) and value for value in values):
            raise ValueError(key)
        return Member(*values, datetime.fromisoformat(record["since"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            f"{key} is damaged", "Remove it, and add the member again: no team is read against it."
        ) from error


_watched = Watched(PREFIX, _parsed)
