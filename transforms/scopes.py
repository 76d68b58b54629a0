"""Memory that more than one person or agent reads: how its rows are owned, and which ids are reserved for it.

Such a row names no user and no session, and its agent is a reserved id: ``team:<id>`` for a team,
``tenant:all`` for a whole tenant, ``system:all`` of the tenant ``system`` for everybody. So it is a row
like any other (derived of, retained, erased and exported as one), and no row that came in by an ordinary
way can be taken for one, as reserved ids are refused there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from transforms.errors import UsageError

SYSTEM_TENANT = "system"
TENANT, SYSTEM, TEAM = "tenant", "system", "team:"
TENANT_AGENT, SYSTEM_AGENT = "tenant:all", "system:all"
PATTERNS_OWNER = "system:patterns"
"""Owner of the patterns that several tenants share: nobody's episodes are behind it."""
RESERVED_PREFIXES = ("team:", "tenant:", "system:")
RESERVED_REASON = "reserved_id"
AMBIGUOUS, UNKNOWN, NOT_A_MEMBER = "ambiguous_scope", "unknown_scope", "not_a_member"
"""Why a row is not written: it names several scopes or none, or its writer is not of the team."""
OWN_LEVELS = ("user", "agent", "session")
"""Scopes whose rows name whom they belong to by ordinary ids."""
_TEAM_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z", re.ASCII)
_REMEDY = "Name tenant, system or team:<id>; a team's id is of a-z, 0-9, _, . and -, at most 64."


def team_id(name: str) -> str:
    """The id of a team, checked.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(name, str) or not _TEAM_ID.match(name):
        raise UsageError("that is no id of a team", _REMEDY)
    return name


def team_of(shared: str) -> str | None:
    """The team that a shared scope is of; None for ``tenant`` and ``system``."""
    return shared.removeprefix(TEAM) if shared.startswith(TEAM) else None


def shared_agent(shared: str) -> str:
    """The reserved agent id of a shared scope's rows.

    Args:
        shared: ``tenant``, ``system`` or ``team:<id>``.

    Raises:
        UsageError: It is none of these.
    """
    if shared == TENANT:
        return TENANT_AGENT
    if shared == SYSTEM:
        return SYSTEM_AGENT
    if isinstance(shared, str) and shared.startswith(TEAM):
        return TEAM + team_id(shared.removeprefix(TEAM))
    raise UsageError("that is no shared scope", _REMEDY)


def shared_of(row: Mapping[str, object]) -> str | None:
    """The shared scope that a stored row lies in; None where it is somebody's own."""
    agent = row.get("agent_id")
    if row.get("user_id") is not None or row.get("session_id") is not None or not isinstance(agent, str):
        return None
    if row.get("tenant_id") == SYSTEM_TENANT:
        return SYSTEM if agent == SYSTEM_AGENT else None
    if agent == TENANT_AGENT:
        return TENANT
    return agent if agent.startswith(TEAM) and _TEAM_ID.match(agent.removeprefix(TEAM)) else None


def is_reserved(tenant: str | None, agent: str | None) -> bool:
    """Whether an id is one that only shared memory uses."""
    return tenant == SYSTEM_TENANT or (agent or "").startswith(RESERVED_PREFIXES)


def require_plain(tenant: str | None, agent: str | None) -> None:
    """Refuse reserved ids.

    Raises:
        UsageError: One of them is reserved.
    """
    if is_reserved(tenant, agent):
        raise UsageError(
            "a tenant or agent of that name is reserved for shared memory",
            "Read it with also=... (--also), write it with scope=...; tenants must not be called system.",
        )


def reserved_expr() -> pl.Expr:
    """``is_reserved`` of each row with ``tenant_id`` and ``agent_id``; never null."""
    agent = pl.col("agent_id").fill_null("")
    prefixed = pl.any_horizontal(agent.str.starts_with(prefix) for prefix in RESERVED_PREFIXES)
    return (pl.col("tenant_id") == SYSTEM_TENANT).fill_null(False) | prefixed


SHARE_SOURCE = "share"
"""``source`` of a copy that one agent was given of another's memory; nothing else may be called so."""


def is_copy() -> pl.Expr:
    """Whether an episode is such a copy: it is recalled, and nothing is derived of it."""
    return pl.col("source") == SHARE_SOURCE


def copied_from() -> pl.Expr:
    """Ids of what a copy rests on: the memory itself first, then its own sources; null where it is none."""
    return pl.when(is_copy()).then(pl.col("parent_id").str.split(" "))


def require_source(source: str) -> None:
    """Refuse the source that copies of shared memories bear.

    Raises:
        UsageError: It is that.
    """
    if source == SHARE_SOURCE:
        raise UsageError(f"source {SHARE_SOURCE} is reserved for copies of shared memories", "Name another.")
