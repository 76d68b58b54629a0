"""Whose memories a call may see, and which of them: as the store's predicate, and as the same on a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from transforms.errors import UsageError
from transforms.schemas import INSTANT, SENSITIVITIES

if TYPE_CHECKING:
    from lake.rights.tombstones import Tombstones

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scope:
    """Whose memories a search may see.

    Args:
        tenant: Always.
        user: Person; None leaves the person open.
        agent: Agent; None leaves the agent open.
        session: Conversation; None leaves it open.
        is_tenant_wide: Must be said where none of the three is named.
    """

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    is_tenant_wide: bool = False

    def __post_init__(self) -> None:
        named = (self.user, self.agent, self.session)
        for name, part in zip(("tenant", "user", "agent", "session"), (self.tenant, *named), strict=True):
            if not isinstance(part, str) and (part is not None or name == "tenant"):
                raise UsageError(f"{name} is {type(part).__name__}, not text", "Pass ids as str.")
        if not isinstance(self.is_tenant_wide, bool):  # the text "no" must not open a whole tenant
            raise UsageError(
                f"tenant_wide is {type(self.is_tenant_wide).__name__}", "Pass tenant_wide=True or False."
            )
        if not self.tenant or any(part is not None and not part for part in named):
            # An empty user must not read as "any user".
            raise UsageError("a part of the scope is empty", "Name it, or leave it out.")
        if not (any(named) or self.is_tenant_wide):
            raise UsageError(
                "a search needs a user, an agent or a session",
                "Name one, or ask for the whole tenant (tenant_wide=True, --tenant-wide).",
            )

    def columns(self) -> dict[str, str]:
        """Column and value of each part that is fixed."""
        parts = {
            "tenant_id": self.tenant,
            "user_id": self.user,
            "agent_id": self.agent,
            "session_id": self.session,
        }
        return {name: value for name, value in parts.items() if value}

    def mine(self) -> list[pl.Expr]:
        """The scope on a frame."""
        return [pl.col(name) == value for name, value in self.columns().items()]


@dataclass(frozen=True)
class Filters:
    """Which rows of a scope are served.

    Args:
        as_of: Rows expired at this instant are not.
        is_replay: Rows that happened after ``as_of`` are not, either. Without it they are: the
            writer's clock was ahead of the reader's, and what landed is recalled at once.
        kinds: Only these kinds; None is all.
        max_sensitivity: Nothing more private than this.
        tombstones: Rows of whom are not served, whatever the tables still hold; None looks at none.
    """

    as_of: datetime
    is_replay: bool = False
    kinds: tuple[str, ...] | None = None
    max_sensitivity: str = SENSITIVITIES[-1]
    tombstones: Tombstones | None = None

    @cached_property
    def now_us(self) -> int:
        """``as_of`` in microseconds since 1970."""
        return (self.as_of - EPOCH) // timedelta(microseconds=1)

    @cached_property
    def shown(self) -> frozenset[str]:
        """``sensitivities`` to look up in."""
        return frozenset(self.sensitivities())

    def sensitivities(self) -> tuple[str, ...]:
        """What may be shown, from normal up."""
        return SENSITIVITIES[: SENSITIVITIES.index(self.max_sensitivity) + 1]

    def serves(self, row: Mapping[str, Any]) -> bool:
        """The filters on one memory whose instants are microseconds since 1970."""
        return (
            (row["expires_at"] is None or row["expires_at"] > self.now_us)
            and row["sensitivity"] in self.shown
            and (not self.is_replay or row["event_at"] <= self.now_us)
            and (self.kinds is None or row["kind"] in self.kinds)
            and not (self.tombstones and self.tombstones.refuses(row))
        )

    def kept(self) -> list[pl.Expr]:
        """The filters on a frame of ``schemas.MEMORIES``, but for tombstones."""
        instant = pl.lit(self.as_of, dtype=INSTANT)
        parts = [
            pl.col("expires_at").is_null() | (pl.col("expires_at") > instant),
            pl.col("sensitivity").is_in(self.sensitivities()),
        ]
        if self.is_replay:
            parts.append(pl.col("event_at") <= instant)
        if self.kinds is not None:
            parts.append(pl.col("kind").is_in(self.kinds))
        return parts


def scope_predicate(scope: Scope) -> str:
    """The store's own filter (SQL) of the scope alone. Values stand in it as literals only."""
    return " AND ".join(f"{name} = {literal(value)}" for name, value in scope.columns().items())


def predicate(scope: Scope, filters: Filters) -> str:
    """The store's own filter (SQL): scope and all filters."""
    # Not strftime, which writes the year 999 with three digits.
    instant = f"timestamp '{filters.as_of.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
    parts = [scope_predicate(scope)]
    parts.append(f"(expires_at IS NULL OR expires_at > {instant})")
    if filters.max_sensitivity != SENSITIVITIES[-1]:
        parts.append(_one_of("sensitivity", filters.sensitivities()))
    if filters.is_replay:
        parts.append(f"event_at <= {instant}")
    if filters.kinds is not None:
        parts.append(_one_of("kind", filters.kinds))
    return " AND ".join(parts)


def _one_of(name: str, values: tuple[str, ...]) -> str:
    return f"{name} IN ({', '.join(literal(value) for value in values)})"


def literal(value: str) -> str:
    """A SQL string literal: quotes doubled, nothing else is special in the store's SQL.

    Raises:
        UsageError: The value holds a NUL or half of a surrogate pair, which no stored id does.
    """
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise UsageError("an id holds a character no id can hold", "Pass the id as it was landed.")
    return "'" + value.replace("'", "''") + "'"
