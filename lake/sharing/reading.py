"""What a caller may read beside its own memory: its user, its agent, its teams, its tenant, the system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lake.lake import Lake
from lake.scope import Scope
from lake.sharing import teams
from transforms.errors import UsageError
from transforms.scopes import SYSTEM, SYSTEM_TENANT, TEAM, TENANT, team_id

TEAMS = "teams"
"""Every team that the caller belongs to."""
LEVELS = ("user", "agent", TENANT, SYSTEM, TEAMS, "team:<id>")


def scopes_of(lake: Lake, own: Scope, also: Sequence[str] = ()) -> tuple[Scope, ...]:
    """The scopes that a call reads: its own first, then those it names besides, each once.

    Args:
        lake: Where teams stand.
        own: The caller's own scope.
        also: Any of ``user`` (all of the user's memory, beside a session's or an agent's), ``agent`` (what
            the agent holds of no person), ``teams``, ``team:<id>``, ``tenant`` and ``system``.

    Raises:
        UsageError: One is unknown or names a part that the caller's scope does not fix, or the caller is
            no member of the team.
        LakeError: A record of a team is damaged.
    """
    given: object = also
    if not isinstance(given, list | tuple):
        raise UsageError(f"also is {type(also).__name__}, not a list", f"Pass a list of {', '.join(LEVELS)}.")
    return tuple(dict.fromkeys([own, *(scope for level in given for scope in _scopes(lake, own, level))]))


def is_member(lake: Lake, tenant: str, team: str, agent: str | None, user: str | None) -> bool:
    """Whether an agent or a user belongs to a team."""
    return team in teams.teams_of(lake, tenant, agent, user)


def require_member(lake: Lake, tenant: str, team: str, agent: str | None, user: str | None) -> None:
    """Refuse who does not belong to a team; whether there is such a team is not told.

    Raises:
        UsageError: Neither the agent nor the user is a member.
    """
    if not is_member(lake, tenant, team_id(team), agent, user):
        who = "this agent or user" if agent and user else "this agent" if agent else "this user"
        raise UsageError(
            f"{who if agent or user else 'the caller'} is no member of team:{team}",
            "Name the agent or user that is one; slowwave team add makes it one.",
        )


def _scopes(lake: Lake, own: Scope, level: object) -> Iterator[Scope]:
    if level == SYSTEM:
        yield Scope(SYSTEM_TENANT, shared=SYSTEM)
    elif level == TENANT:
        yield Scope(own.tenant, shared=TENANT)
    elif level == TEAMS:
        for team in teams.teams_of(lake, own.tenant, own.agent, own.user):
            yield Scope(own.tenant, shared=TEAM + team)
    elif isinstance(level, str) and level.startswith(TEAM):
        require_member(lake, own.tenant, level.removeprefix(TEAM), own.agent, own.user)
        yield Scope(own.tenant, shared=level)
    elif level == "user":
        yield Scope(own.tenant, _required("user", own.user))
    elif level == "agent":
        yield Scope(own.tenant, agent=_required("agent", own.agent), is_userless=True)
    else:
        raise UsageError(
            f"also holds {ascii(level)[:40]}, which is no scope", f"Name some of {', '.join(LEVELS)}."
        )


def _required(name: str, value: str | None) -> str:
    if value is None:
        raise UsageError(f"also names the {name}, and the call names none", f"Name the {name}.")
    return value
