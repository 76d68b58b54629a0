"""Whose memories a call may see, and which of them: as the store's predicate, and as the same on a frame."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from transforms.errors import UsageError
from transforms.schemas import INSTANT, SENSITIVITIES
from transforms.scopes import SYSTEM, SYSTEM_TENANT, require_plain, shared_agent, shared_of

if TYPE_CHECKING:
    from lake.rights.tombstones import Tombstones

_SCOPE_COLUMNS = ("tenant_id", "user_id", "agent_id", "session_id")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_ID = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Scope:
    """Whose memories a search may see.

    Args:
        tenant: Always.
        user: Person; None leaves the person open.
        agent: Agent; None leaves the agent open.
        session: Conversation; None leaves it open.
        is_tenant_wide: Must be said where none of the three is named.
        shared: Memory that several read, in place of the three: ``tenant``, ``system`` (of the tenant
            ``system``) or ``team:<id>``. Made by ``lake.sharing.reading``, which asks who may.
        is_userless: Of an agent, only what it holds of no person.
        is_administrative: For upkeep: reserved ids may be named, and a restricted row of a person is seen
            although neither the person nor the session is named. Recall never asks so.
    """

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    is_tenant_wide: bool = False
    shared: str | None = None
    is_userless: bool = False
    is_administrative: bool = False

    def __post_init__(self) -> None:
        if self.shared is not None:
            self._check_shared()
            return
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
        for part in (self.tenant, *named):
            require_id(part or "")
        if not (any(named) or self.is_tenant_wide):
            raise UsageError(
                "a search needs a user, an agent or a session",
                "Name one, or ask for the whole tenant (tenant_wide=True, --tenant-wide).",
            )
        if not self.is_administrative:
            require_plain(self.tenant, self.agent)
        if self.is_userless and (self.user or self.session or not self.agent):
            raise UsageError("what an agent holds of no person is asked of an agent alone", "Name the agent.")

    def _check_shared(self) -> None:
        shared_agent(self.shared or "")
        if self.user or self.agent or self.session or self.is_tenant_wide or self.is_userless:
            raise UsageError("a shared scope names no user, agent or session", "Leave them out.")
        if not isinstance(self.tenant, str) or not self.tenant:
            raise UsageError("a part of the scope is empty", "Name the tenant.")
        if (self.shared == SYSTEM) != (self.tenant == SYSTEM_TENANT):
            raise UsageError("the system's memory is of no tenant, and a tenant's not of the system", "")

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Scope:
        """The narrowest scope of a user, an agent, a session or shared memory that holds a stored row."""
        tenant, user, agent = row["tenant_id"], row["user_id"], row["agent_id"]
        shared = shared_of(row)
        if shared is not None:
            return cls(tenant, shared=shared)
        session = None if user or agent else row["session_id"]
        return cls(
            tenant,
            user,
            None if user else agent,
            session,
            not (user or agent or session),
            is_administrative=True,
        )

    def columns(self) -> dict[str, str]:
        """Column and value of each part that is fixed; ``mine`` says all that a row must meet."""
        parts = {
            "tenant_id": self.tenant,
            "user_id": self.user,
            "agent_id": shared_agent(self.shared) if self.shared else self.agent,
            "session_id": self.session,
        }
        return {name: value for name, value in parts.items() if value}

    def absent(self) -> tuple[str, ...]:
        """Columns that must be null."""
        if self.shared:
            return ("user_id", "session_id")
        return ("user_id",) if self.is_userless else ()

    @property
    def is_guarded(self) -> bool:
        """Whether restricted rows of persons are left out, because the scope names none of them."""
        is_of_nobody = not (self.user or self.session or self.absent())
        return is_of_nobody and not self.is_administrative

    def mine(self) -> list[pl.Expr]:
        """The scope on a frame with the scope columns and ``sensitivity``."""
        return self.where() + self.guard()

    def where(self, names: Collection[str] = _SCOPE_COLUMNS, *, but: str = "") -> list[pl.Expr]:
        """The scope on a frame, but for ``guard``.

        Args:
            names: Columns of the frame; what must be null is looked at where it has the column.
            but: Column that is not looked at.
        """
        parts = [pl.col(name) == value for name, value in self.columns().items() if name != but]
        return parts + [pl.col(name).is_null() for name in self.absent() if name in names]

    def guard(self) -> list[pl.Expr]:
        """What keeps restricted rows of persons from who names none; nothing where one is named."""
        is_open = pl.col("user_id").is_null() | (pl.col("sensitivity") != SENSITIVITIES[-1])
        return [is_open] if self.is_guarded else []

    def holds(self, row: Mapping[str, Any]) -> bool:
        """``mine`` on one row, such as a memory whose payload was read."""
        if any(row[name] != value for name, value in self.columns().items()):
            return False
        if any(row[name] is not None for name in self.absent()):
            return False
        return not self.is_guarded or row["user_id"] is None or row["sensitivity"] != SENSITIVITIES[-1]


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
        since: Rows that happened before it are not; None sets no bound.
        until: Rows that happened at it or later are not; None sets no bound.
        is_partial: Whether an answer as of the past may lack what retention has deleted since.
        replaced: Ids of episodes that edits have replaced since the index was built: neither they nor what
            rests on them are served.
    """

    as_of: datetime
    is_replay: bool = False
    kinds: tuple[str, ...] | None = None
    max_sensitivity: str = SENSITIVITIES[-1]
    tombstones: Tombstones | None = None
    since: datetime | None = None
    until: datetime | None = None
    is_partial: bool = False
    replaced: frozenset[str] = frozenset()

    @cached_property
    def now_us(self) -> int:
        """``as_of`` in microseconds since 1970."""
        return (self.as_of - EPOCH) // timedelta(microseconds=1)

    @cached_property
    def events_us(self) -> tuple[int | None, int | None]:
        """First instant a row may have happened at, and the first it may no longer, in microseconds."""
        first = None if self.since is None else (self.since - EPOCH) // timedelta(microseconds=1)
        last = None if self.until is None else (self.until - EPOCH) // timedelta(microseconds=1)
        if self.is_replay:
            last = self.now_us + 1 if last is None else min(last, self.now_us + 1)
        return first, last

    @cached_property
    def shown(self) -> frozenset[str]:
        """``sensitivities`` to look up in."""
        return frozenset(self.sensitivities())

    def sensitivities(self) -> tuple[str, ...]:
        """What may be shown, from normal up."""
        return SENSITIVITIES[: SENSITIVITIES.index(self.max_sensitivity) + 1]

    def serves(self, row: Mapping[str, Any]) -> bool:
        """The filters on one memory whose instants are microseconds since 1970."""
        first, last = self.events_us
        return (
            (row["expires_at"] is None or row["expires_at"] > self.now_us)
            and row["sensitivity"] in self.shown
            and (first is None or row["event_at"] >= first)
            and (last is None or row["event_at"] < last)
            and (self.kinds is None or row["kind"] in self.kinds)
            and not (self.tombstones and self.tombstones.refuses(row))
            and not (self.replaced and self._is_replaced(row))
        )

    def _is_replaced(self, row: Mapping[str, Any]) -> bool:
        return row["memory_id"] in self.replaced or not self.replaced.isdisjoint(row["source_refs"] or ())

    def kept(self) -> list[pl.Expr]:
        """The filters on a frame of ``schemas.MEMORIES``, but for tombstones."""
        instant = pl.lit(self.as_of, dtype=INSTANT)
        parts = [
            pl.col("expires_at").is_null() | (pl.col("expires_at") > instant),
            pl.col("sensitivity").is_in(self.sensitivities()),
        ]
        if self.is_replay:
            parts.append(pl.col("event_at") <= instant)
        if self.since is not None:
            parts.append(pl.col("event_at") >= pl.lit(self.since, dtype=INSTANT))
        if self.until is not None:
            parts.append(pl.col("event_at") < pl.lit(self.until, dtype=INSTANT))
        if self.kinds is not None:
            parts.append(pl.col("kind").is_in(self.kinds))
        return parts


def scope_predicate(scope: Scope) -> str:
    """The store's own filter (SQL) of the scope alone. Values stand in it as literals only."""
    parts = [f"{name} = {literal(value)}" for name, value in scope.columns().items()]
    parts += [f"{name} IS NULL" for name in scope.absent()]
    if scope.is_guarded:
        parts.append(f"(user_id IS NULL OR sensitivity <> {literal(SENSITIVITIES[-1])})")
    return " AND ".join(parts)


def predicate(scope: Scope, filters: Filters) -> str:
    """The store's own filter (SQL): scope and all filters."""
    instant = _instant(filters.as_of)
    parts = [scope_predicate(scope)]
    parts.append(f"(expires_at IS NULL OR expires_at > {instant})")
    if filters.max_sensitivity != SENSITIVITIES[-1]:
        parts.append(_one_of("sensitivity", filters.sensitivities()))
    if filters.is_replay:
        parts.append(f"event_at <= {instant}")
    if filters.since is not None:
        parts.append(f"event_at >= {_instant(filters.since)}")
    if filters.until is not None:
        parts.append(f"event_at < {_instant(filters.until)}")
    if filters.kinds is not None:
        parts.append(_one_of("kind", filters.kinds))
    return " AND ".join(parts)


def _instant(instant: datetime) -> str:
    # Not strftime, which writes the year 999 with three digits.
    return f"timestamp '{instant.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'microseconds')}'"


def _one_of(name: str, values: tuple[str, ...]) -> str:
    return f"{name} IN ({', '.join(literal(value) for value in values)})"


def literal(value: str) -> str:
    """A SQL string literal: quotes doubled, nothing else is special in the store's SQL.

    Raises:
        UsageError: As ``require_id``.
    """
    require_id(value)
    return "'" + value.replace("'", "''") + "'"


def require_id(value: str) -> None:
    """Refuse what no stored id can be: it could be neither hashed nor written.

    Raises:
        UsageError: The value holds a NUL or half of a surrogate pair.
    """
    if _NO_ID.search(value):
        raise UsageError("an id holds a character no id can hold", "Pass the id as it was landed.")
