"""Which rows tombstones refuse: row by row online, and over whole frames in bulk."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import polars as pl

from lake.rights.subjects import subject_hash, subject_hasher
from transforms.declarations import INSTANT
from transforms.sharing.rules import PREFIX
from transforms.subjects import Subject, SubjectKind

Mark = Literal["erased_subject", "opted_out"]
MARKS: tuple[Mark, ...] = ("erased_subject", "opted_out")
RowScope = tuple[str | None, str | None, str | None, str | None]
"""Tenant, user, agent and session of a row."""
SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
_LOOKED_AT: dict[str, tuple[str, ...]] = {
    "tenant": ("tenant_id",),
    "user": ("tenant_id", "user_id"),
    "agent": ("tenant_id", "agent_id"),
    "session": SCOPE,
    "memory": (),
}
_FEW = 64
"""Up to so many rows are looked at one by one."""
_MOST_KEPT = 100_000
"""Scopes, and memories, of which it is kept what refuses them."""
_MOST_ID_CHARS = 512
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Tombstone:
    """What one subject's tombstone refuses.

    Attributes:
        kind: What the subject is.
        until: Rows up to this instant are refused, by mark.
        request_ids: Request of each mark.
        is_open: Whether a mark refuses everything for now and may be lifted or bounded later.
    """

    kind: SubjectKind
    until: Mapping[Mark, datetime]
    request_ids: Mapping[Mark, str]
    is_open: bool

    def mark_at(self, event_at: datetime | None) -> Mark | None:
        """The mark that refuses a row of that instant, unknown instants among them; None for none."""
        for mark in MARKS:
            if mark in self.until and (
                event_at is None or self.kind == "memory" or event_at <= self.until[mark]
            ):
                return mark
        return None


class Tombstones:
    """All tombstones of a lake at one instant. Safe between threads: what it keeps can be found anew."""

    def __init__(self, key: bytes, held: Mapping[str, Tombstone]) -> None:
        self._key = key
        self._keyed = subject_hasher(key)
        self._held = held
        self._kinds = frozenset(one.kind for one in held.values())
        self._has_memories = "memory" in self._kinds
        self._owners: dict[RowScope, tuple[Tombstone, ...]] = {}
        self._memories: dict[tuple[str, str], Mark | None] = {}

    def __len__(self) -> int:
        return len(self._held)

    @property
    def has_open(self) -> bool:
        """Whether one of them may still be lifted or bounded, so that refused rows may come in later."""
        return any(one.is_open for one in self._held.values())

    @property
    def is_erasing_memories(self) -> bool:
        """Whether an erasure of a single memory is not through yet."""
        return self._has_memories and any(one.kind == "memory" and one.is_open for one in self._held.values())

    def of(self, subject: Subject) -> Tombstone | None:
        """The tombstone of a subject itself."""
        return self._held.get(subject_hash(self._key, subject))

    def mark_of(self, scope: RowScope, event_at: datetime | None, row_id: str | None = None) -> Mark | None:
        """Why a row is refused; None where it is not.

        Args:
            scope: Tenant, user, agent and session of the row; null and empty are none.
            event_at: When it happened; a row of unknown time is refused as if it were old.
            row_id: Id of the row, for tombstones of single memories.
        """
        if not self._held:
            return None
        found = {one.mark_at(event_at) for one in self._owning(scope)}
        if row_id is not None and scope[0]:
            found.add(self._memory_mark(scope[0], row_id))
        return next((mark for mark in MARKS if mark in found), None)

    def refuses(self, memory: Mapping[str, Any]) -> bool:
        """Whether a memory is not to be served: refused itself, derived of such a row, or its copy.

        Args:
            memory: ``schemas.MEMORIES``, its instants in microseconds since 1970.
        """
        tenant = memory["tenant_id"]
        scope = (tenant, memory["user_id"], memory["agent_id"], memory["session_id"])
        owning = self._owners.get(scope)
        if owning is None:
            owning = self._owning(scope)
        if owning:
            at = _EPOCH + timedelta(microseconds=memory["event_at"])
            if any(one.mark_at(at) for one in owning):
                return True
        if "agent" in self._kinds and self._is_copy_of_refused(memory):
            return True
        if not self._has_memories:
            return False
        known, name = self._memories, memory["memory_id"]
        for ref in memory["source_refs"]:  # an episode's own id is all that it rests on
            if known[tenant, ref] if (tenant, ref) in known else self._memory_mark(tenant, ref):
                return True
        return name not in memory["source_refs"] and self._memory_mark(tenant, name) is not None

    def _is_copy_of_refused(self, memory: Mapping[str, Any]) -> bool:
        """Whether its text says that a refused agent has shared it: nothing else names the giver."""
        text = memory.get("text") or ""
        if not text.startswith(PREFIX):
            return False
        at = _EPOCH + timedelta(microseconds=memory["event_at"])
        head = text[len(PREFIX) : len(PREFIX) + _MOST_ID_CHARS + 1]
        ends = [place for place, char in enumerate(head) if char == "]"]  # an id may hold one itself
        owners = (self._owning((memory["tenant_id"], None, head[:end], None)) for end in ends)
        return any(one.kind == "agent" and one.mark_at(at) for owning in owners for one in owning)

    def until_us(self, scope: RowScope) -> int | None:
        """Up to which event, in microseconds since 1970, rows of a scope are refused; None: none is.

        Tombstones of single memories are not looked at.
        """
        limits = [limit for limit in _latest(self._owning(scope)) if limit is not None]
        return (max(limits) - _EPOCH) // timedelta(microseconds=1) if limits else None

    def marks(self, frame: pl.DataFrame) -> pl.Series:
        """``mark_of`` each row of a frame, as strings; null for rows that are not refused.

        Args:
            frame: With tenant_id, and user_id, agent_id, session_id, event_at and episode_id (or
                memory_id) where it has them.
        """
        nothing = pl.repeat(None, frame.height, dtype=pl.String, eager=True).alias("mark")
        if not self._held or frame.is_empty():
            return nothing
        names = [name for name in SCOPE if name in frame.columns]
        key = next((name for name in ("episode_id", "memory_id") if name in frame.columns), None)
        if frame.height <= _FEW:  # online, where setting up the columns would cost more than the rows
            wanted = [*names, *(n for n in ("event_at", key) if n in frame.columns)]
            rows = frame.select(wanted).to_dicts()
            few = [self.mark_of(scope_of(row), row.get("event_at"), row.get(key or "")) for row in rows]
            return pl.Series("mark", few, dtype=pl.String)
        found = self._by_scope(frame, names) if self._kinds - {"memory"} else nothing
        if key is not None and self._has_memories:
            by_id = pl.Series(
                [self._memory_mark(*pair) for pair in frame.select("tenant_id", key).iter_rows()]
            )
            found = pl.select(pl.coalesce(found, by_id.cast(pl.String))).to_series()
        return found.alias("mark")

    def is_refused(self, frame: pl.DataFrame) -> pl.Series:
        """Whether each row of a frame (as for ``marks``) is refused; never null."""
        return self.marks(frame).is_not_null().alias("is_refused")

    def _by_scope(self, frame: pl.DataFrame, names: list[str]) -> pl.Series:
        """Marks by the rows' scopes; each distinct scope is looked up once."""
        told = {name for kind in self._kinds for name in _LOOKED_AT[kind]}
        names = [name for name in names if name in told]
        at = pl.col("event_at") if "event_at" in frame.columns else pl.lit(None)
        rows = frame.select(*names, event_at=at.cast(INSTANT))
        limits = []
        for values in rows.select(names).unique().iter_rows():
            owning = self._owning(scope_of(dict(zip(names, values, strict=True))))
            limits.append((*values, *_latest(owning)))
        schema = dict.fromkeys(names, pl.String()) | dict.fromkeys(MARKS, INSTANT)
        limited = pl.DataFrame(limits, schema=schema, orient="row")
        joined = rows.join(limited, on=names, how="left", nulls_equal=True, maintain_order="left")
        at = pl.col("event_at")
        refused = [
            pl.when((at <= pl.col(m)) | (at.is_null() & pl.col(m).is_not_null())).then(pl.lit(m))
            for m in MARKS
        ]
        return joined.select(pl.coalesce(refused)).to_series()

    def _owning(self, scope: RowScope) -> tuple[Tombstone, ...]:
        """Tombstones of the subjects that own rows of a scope, single memories apart."""
        found = self._owners.get(scope)
        if found is None:
            if len(self._owners) >= _MOST_KEPT:
                self._owners = {}
            hashes = (self._keyed(parts) for parts in owners_of(self._kinds, scope))
            found = tuple(self._held[name] for name in hashes if name in self._held)
            self._owners[scope] = found
        return found

    def _memory_mark(self, tenant: str | None, row_id: str | None) -> Mark | None:
        if not self._has_memories or not tenant or not row_id:
            return None
        key, known = (tenant, row_id), self._memories
        if key in known:
            return known[key]
        if len(known) >= _MOST_KEPT:
            self._memories = {}
        one = self._held.get(self._keyed(("memory", tenant, "", "", "", row_id)))
        mark = None if one is None else one.mark_at(None)
        self._memories[key] = mark
        return mark


def scope_of(row: Mapping[str, Any]) -> RowScope:
    """The scope of a row of any table."""
    return row.get("tenant_id"), row.get("user_id"), row.get("agent_id"), row.get("session_id")


def owners_of(kinds: Collection[str], scope: RowScope) -> Iterator[tuple[str, ...]]:
    """``Subject.parts`` of every subject of the kinds, single memories apart, that owns rows of a scope."""
    tenant, user, agent, session = (part or "" for part in scope)
    if not tenant:
        return
    if "tenant" in kinds:
        yield "tenant", tenant, "", "", "", ""
    if "user" in kinds and user:
        yield "user", tenant, user, "", "", ""
    if "agent" in kinds and agent:
        yield "agent", tenant, "", agent, "", ""
    if "session" in kinds and session:
        for u in {"", user}:
            for a in {"", agent}:
                yield "session", tenant, u, a, session, ""


def _latest(found: Iterable[Tombstone]) -> list[datetime | None]:
    """Up to when the subjects of one scope are refused, mark by mark."""
    held = list(found)
    return [max((one.until[m] for one in held if m in one.until), default=None) for m in MARKS]
