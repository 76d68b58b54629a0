"""Whom or what a request is about: a tenant, a person, an agent, a session or one memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from transforms.errors import UsageError

SubjectKind = Literal["tenant", "user", "agent", "session", "memory"]
SUBJECT_KINDS: tuple[SubjectKind, ...] = ("tenant", "user", "agent", "session", "memory")
_SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")


@dataclass(frozen=True)
class Subject:
    """A tenant alone, or one user, agent, session or memory of it.

    A session may be narrowed to a user or an agent, because sessions of two people may bear one name.

    Args:
        tenant: Customer; always.
        user: Person.
        agent: Agent.
        session: Conversation or run.
        memory: Id of an episode or of a derived row.
    """

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        parts = (self.user, self.agent, self.session, self.memory)
        if not self.tenant or any(part == "" for part in parts):
            raise UsageError("a part of the subject is empty", "Name it, or leave it out.")
        if self.memory is not None and any(parts[:3]):
            raise UsageError("a memory needs no user, agent or session beside it", "Name the tenant and it.")
        if self.user and self.agent and not self.session:
            raise UsageError("a user and an agent are two subjects", "Name one of them.")

    @property
    def kind(self) -> SubjectKind:
        """What it is."""
        if self.memory is not None:
            return "memory"
        if self.session is not None:
            return "session"
        if self.user is not None:
            return "user"
        return "agent" if self.agent is not None else "tenant"

    @property
    def parts(self) -> tuple[str, ...]:
        """What names it: kind, tenant, and user, agent, session and memory, empty where open."""
        named = (self.user, self.agent, self.session, self.memory)
        return (self.kind, self.tenant, *(part or "" for part in named))

    def as_dict(self) -> dict[str, str]:
        """The parts that are fixed, by argument name; ``Subject(**subject.as_dict())`` is the subject."""
        names = ("tenant", "user", "agent", "session", "memory")
        values = (self.tenant, self.user, self.agent, self.session, self.memory)
        return {name: value for name, value in zip(names, values, strict=True) if value}

    def columns(self) -> dict[str, str]:
        """Scope column and value of each part that is fixed; a memory fixes the tenant only."""
        values = (self.tenant, self.user, self.agent, self.session)
        return {name: value for name, value in zip(_SCOPE, values, strict=True) if value}

    def owns(self) -> pl.Expr:
        """Whether a row with ``tenant_id``, ``user_id``, ``agent_id`` and ``session_id`` is of it.

        False for every row where the subject is a memory: that is told by the row's id. Never null.
        """
        if self.memory is not None:
            return pl.lit(False)
        parts = [pl.col(name).eq_missing(pl.lit(value)) for name, value in self.columns().items()]
        return pl.all_horizontal(parts)
