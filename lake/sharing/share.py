"""Sharing online: what one agent knows about a query, copied into another's memory as far as a grant lets it.

In this order: is there a grant; the giver's memories are searched with the asker's query; what is private
stays behind; what may go is redacted once more; copies are landed under the lock that an erasure waits
for, with another look at its tombstones; an event is written into the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lake import arguments, landing
from lake.lake import Lake
from lake.rights import audit
from lake.rights.subjects import salt, subject_hash
from lake.rights.tombstones import Tombstones, load
from lake.scope import Scope
from lake.sharing import grants
from lake.sharing.names import plain_id
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.sharing.copies import copies
from transforms.sharing.rules import Allowed, Withheld, judged
from transforms.subjects import Subject

MOST_SHARED = 100
NO_GRANT = "no_grant"
Finder = Callable[[str, Scope, Tombstones, datetime], list[dict[str, Any]]]
"""Memories (``schemas.MEMORIES``, instants in microseconds) of a scope for a query, best first."""


@dataclass(frozen=True)
class Copy:
    """One memory that was shared: the copy and what it was made of.

    Attributes:
        id: Of the copy; ``explain`` tells where it comes from.
        source_id: Of the giver's memory.
        kind: Of the giver's memory.
        text: As the receiver reads it.
        trust: 0 to 1.
        expires_at: When the copy goes at the latest; None where its source asks for nothing.
    """

    id: str
    source_id: str
    kind: str
    text: str
    trust: float
    expires_at: datetime | None

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        expires = None if self.expires_at is None else self.expires_at.isoformat()
        return {**self.__dict__, "expires_at": expires}


@dataclass(frozen=True)
class Shared:
    """What one share came to.

    Attributes:
        shared: Copies, best first; those that the receiver was given before are among them.
        withheld: Memories that ranked among them and stayed, each with its reason. Where there is no
            grant, nothing was searched, and the only entry is ``no_grant``, with no id.
    """

    shared: list[Copy]
    withheld: list[Withheld]

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {
            "shared": [one.as_dict() for one in self.shared],
            "withheld": [one.as_dict() for one in self.withheld],
        }


@dataclass(frozen=True)
class Sharing:
    """Shares on one lake.

    Args:
        lake: Where.
        policy: Section sharing, and what landing needs.
        find: Searches memories.
    """

    lake: Lake
    policy: Policy
    find: Finder

    def share(
        self,
        query: str,
        tenant: str,
        giver: str,
        receiver: str,
        user: str | None = None,
        k: int | None = None,
        now: datetime | None = None,
    ) -> Shared:
        """See ``Recall.share``."""
        scope, count = _checked(tenant, giver, receiver, user), self._count(k)
        arguments.question(query)
        now = now or datetime.now(UTC)
        held = grants.permitting(self.lake, tenant, giver, receiver, now)
        if not held:
            return Shared([], [Withheld("", "", NO_GRANT)])
        rows = self.find(query, scope, load(self.lake), now)
        told = judged(rows, [one.terms for one in held], self.policy.sharing.trust)
        landed, withheld = self._landed(_best(told, count), giver, receiver, now)
        self._audit(tenant, giver, receiver, len(landed), len(withheld), now)
        return Shared(landed, withheld)

    def _count(self, k: int | None) -> int:
        return self.policy.sharing.default_k if k is None else arguments.count("k", k, MOST_SHARED)

    def _landed(
        self, told: list[Allowed | Withheld], giver: str, receiver: str, now: datetime
    ) -> tuple[list[Copy], list[Withheld]]:
        """Copies that are on disk, and what was withheld until then, each in the order of the search."""
        allowed = [one for one in told if isinstance(one, Allowed)]
        withheld = [one for one in told if isinstance(one, Withheld)]
        if not allowed:
            return [], withheld
        made = copies(
            allowed,
            giver=giver,
            receiver=receiver,
            policy=self.policy,
            now=now,
            buckets=self.lake.buckets,
        )
        sources = {n: one.row for n, one in enumerate(allowed, 1)}
        refused = landing.land(
            self.lake, made.episodes, lambda row: self._erased(sources[row["source_line"]])
        )
        late = [
            Withheld(sources[line]["memory_id"], sources[line]["kind"], reason)
            for line, reason in sorted(refused.items())
        ]
        found = [
            _copy(row, sources[row["source_line"]])
            for row in made.episodes.iter_rows(named=True)
            if row["source_line"] not in refused
        ]
        return found, [*withheld, *made.withheld, *late]

    def _erased(self, source: Mapping[str, Any]) -> str | None:
        """Why a source may not be copied any more: it was erased since it was found."""
        return "erased_subject" if load(self.lake).refuses(source) else None

    def _audit(
        self, tenant: str, giver: str, receiver: str, shared: int, withheld: int, now: datetime
    ) -> None:
        key = salt(self.lake)
        to = subject_hash(key, Subject(tenant, agent=receiver))
        named = subject_hash(key, Subject(tenant, agent=giver))
        counts: dict[str, int | str] = {"shared": shared, "withheld": withheld, "receiver": to}
        audit.append(self.lake, "memory_shared", at=now, subject_hash=named, counts=counts)


def _checked(tenant: str, giver: str, receiver: str, user: str | None) -> Scope:
    """The giver's scope.

    Raises:
        UsageError: An id is none or reserved, or the two agents are one.
    """
    plain_id("tenant", tenant)
    if plain_id("agent", giver) == plain_id("agent", receiver):
        raise UsageError("an agent shares nothing with itself", "Name another agent.")
    return Scope(tenant, user, giver)


def _best(told: list[Allowed | Withheld], count: int) -> list[Allowed | Withheld]:
    """As many as are wanted, and what was withheld among them; what comes after was not looked at."""
    found = []
    for one in told:
        if count == 0:
            break
        found.append(one)
        count -= isinstance(one, Allowed)
    return found


def _copy(row: Mapping[str, Any], source: Mapping[str, Any]) -> Copy:
    return Copy(
        row["episode_id"],
        source["memory_id"],
        source["kind"],
        row["content"],
        round(float(row["trust"]), 6),  # stored as float32
        row["expires_at"],
    )
