"""Grants: whose memory an agent may be given. A file a grant, named by a salted hash; ids and no text.

A grant holds from the instant it is written until it is revoked or runs out, for every process: each
share looks at the folder again. Giving more is a new grant; what was shared before stays with whom it was
shared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lake.lake import Lake
from lake.rights import audit
from lake.rights.subjects import salt, subject_hash
from lake.rights.watched import Watched
from lake.sharing import teams
from lake.sharing.names import plain_id, record_key
from transforms.errors import LakeError, UsageError
from transforms.scopes import TEAM, TENANT, team_id
from transforms.sharing.rules import Terms, require_terms
from transforms.subjects import Subject

PREFIX = "sharing/grants"
GLOBAL = "global"
"""Receiver of a tenant's anonymised patterns: everybody."""
ANYBODY = "*"
"""Giver of such a grant: the tenant itself."""


@dataclass(frozen=True)
class Grant:
    """What one agent lets others have.

    Args:
        tenant: Customer of both.
        giver: Agent; ``*`` where the tenant gives its anonymised patterns.
        receiver: Agent, ``team:<id>``, ``tenant`` (all its agents), or ``global``.
        terms: Kinds, privacy and trust.
        granted_at: When.
        until: First instant at which it no longer holds; None for as long as it stands.
    """

    tenant: str
    giver: str
    receiver: str
    terms: Terms
    granted_at: datetime
    until: datetime | None = None

    def holds(self, at: datetime) -> bool:
        """Whether it has not run out."""
        return self.until is None or self.until > at

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return {
            "from": self.giver,
            "to": self.receiver,
            "kinds": list(self.terms.kinds),
            "max_sensitivity": self.terms.max_sensitivity,
            "trust": self.terms.trust,
            "granted_at": self.granted_at.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
        }

    @property
    def ids(self) -> frozenset[str]:
        """Agents that it names."""
        named = {self.giver, self.receiver} - {ANYBODY, TENANT, GLOBAL}
        return frozenset(name for name in named if not name.startswith(TEAM))


def make(lake: Lake, grant: Grant) -> Grant:
    """Write a grant in the place of one between the same two; durable, audited, and in force.

    Raises:
        UsageError: An id is none, the two are one, it has run out, or its terms are none that a grant
            may have.
    """
    check(grant)
    terms = grant.terms
    record = {
        "tenant": grant.tenant,
        "giver": grant.giver,
        "receiver": grant.receiver,
        "kinds": list(terms.kinds),
        "max_sensitivity": terms.max_sensitivity,
        "trust": terms.trust,
        "granted_at": _iso(grant.granted_at),
        "until": None if grant.until is None else _iso(grant.until),
    }
    key = record_key(lake, PREFIX, grant.tenant, grant.giver, grant.receiver)
    lake.storage.write(key, json.dumps(record, sort_keys=True).encode())
    _audit(lake, "grant_made", grant, grant.granted_at)
    return grant


def revoke(lake: Lake, tenant: str, giver: str, receiver: str, at: datetime) -> bool:
    """Take a grant back; at once for every process. False where there was none."""
    key = record_key(lake, PREFIX, tenant, giver, receiver)
    raw = lake.storage.read(key)
    if raw is None:
        return False
    lake.storage.delete(key)  # also a damaged one
    _audit(lake, "grant_revoked", Grant(tenant, giver, receiver, Terms(), at), at)
    return True


def drop(lake: Lake, grant: Grant) -> None:
    """Remove a grant's record, unaudited: for an erasure, which counts it, and for what ran out."""
    lake.storage.delete(record_key(lake, PREFIX, grant.tenant, grant.giver, grant.receiver))


def load_all(lake: Lake) -> list[Grant]:
    """Every grant, those that ran out among them, by tenant, giver and receiver.

    Raises:
        LakeError: One of them is damaged: nothing is shared against it.
    """
    return sorted(_watched.read(lake).values(), key=lambda one: (one.tenant, one.giver, one.receiver))


def of_tenant(lake: Lake, tenant: str) -> list[Grant]:
    """The grants of a tenant."""
    return [one for one in load_all(lake) if one.tenant == tenant]


def permitting(lake: Lake, tenant: str, giver: str, receiver: str, at: datetime) -> list[Grant]:
    """The grants in force under which one agent may be given another's memory.

    That to the agent itself, to a team that it is a member of, or to all agents of the tenant.
    """
    held = [one for one in of_tenant(lake, tenant) if one.giver == giver and one.holds(at)]
    if not held:
        return []
    named = {receiver, TENANT, *(TEAM + team for team in teams.teams_of(lake, tenant, agent=receiver))}
    return [one for one in held if one.receiver in named]


def contributing(lake: Lake, at: datetime) -> list[str]:
    """Tenants that give their anonymised patterns, sorted."""
    held = load_all(lake)
    return sorted({one.tenant for one in held if one.receiver == GLOBAL and one.holds(at)})


def run_out(grants: Iterable[Grant], at: datetime) -> list[Grant]:
    """Those that no longer hold."""
    return [one for one in grants if not one.holds(at)]


def check(grant: Grant) -> None:
    """Refuse a grant that cannot be made.

    Raises:
        UsageError: As for ``make``.
    """
    plain_id("tenant", grant.tenant)
    if grant.receiver == GLOBAL or grant.giver == ANYBODY:
        if (grant.giver, grant.receiver) != (ANYBODY, GLOBAL):
            raise UsageError(
                "anonymised patterns are given by a tenant to everybody",
                "Grant --to global without --from.",
            )
    else:
        plain_id("agent", grant.giver)
        if grant.receiver.startswith(TEAM):
            team_id(grant.receiver.removeprefix(TEAM))
        elif grant.receiver != TENANT:
            plain_id("agent", grant.receiver)
    if grant.giver == grant.receiver:
        raise UsageError("an agent needs no grant for its own memory", "Name another receiver.")
    if not grant.holds(grant.granted_at):
        raise UsageError("the grant would have run out already", "Name a later --until.")
    require_terms(grant.terms)


def _audit(lake: Lake, kind: str, grant: Grant, at: datetime) -> None:
    key = salt(lake)
    giver = Subject(grant.tenant) if grant.giver == ANYBODY else Subject(grant.tenant, agent=grant.giver)
    receiver = subject_hash(key, Subject(grant.tenant, agent=grant.receiver))
    counts: dict[str, int | str] = {"receiver": receiver, "max_sensitivity": grant.terms.max_sensitivity}
    if grant.until is not None:
        counts["until"] = _iso(grant.until)
    audit.append(lake, kind, at=at, subject_hash=subject_hash(key, giver), counts=counts)


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _parsed(key: str, data: bytes) -> Grant:
    """One record.

    Raises:
        LakeError: It is damaged, or says more than any grant may.
    """
    try:
        record = json.loads(data)
        until = record["until"]
        trust = record["trust"]
        trust = None if trust is None else float(trust)
        terms = Terms(tuple(record["kinds"]), record["max_sensitivity"], trust)
        grant = Grant(
            record["tenant"],
            record["giver"],
            record["receiver"],
            terms,
            datetime.fromisoformat(record["granted_at"]),
            None if until is None else datetime.fromisoformat(until),
        )
        if grant.granted_at.tzinfo is None or (grant.until is not None and grant.until.tzinfo is None):
            raise ValueError(key)
        check(grant)
    except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise LakeError(
            f"{key} is damaged", "Remove it, and grant again: nothing is shared against it."
        ) from error
    return grant


_watched = Watched(PREFIX, _parsed)
