"""Where a row is written: to exactly one scope, refused where what it says names several or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from lake.lake import Lake
from lake.rights import tombstones
from lake.rights.tombstones import MARKS
from lake.sharing.reading import is_member
from transforms.errors import UsageError
from transforms.readers.rows import refusal
from transforms.readers.text import JsonFault
from transforms.scopes import (
    AMBIGUOUS,
    NOT_A_MEMBER,
    OWN_LEVELS,
    SYSTEM,
    SYSTEM_TENANT,
    UNKNOWN,
    shared_agent,
    team_of,
)
from transforms.validate import Defaults

SCOPE = "scope"
"""Field of a row that names the scope it is written to."""
_NAMES = {"user": "user_id", "agent": "agent_id", "session": "session_id"}


@dataclass
class Sorted:
    """Rows of one call by where they are written, each with its place in the call, from 1.

    Attributes:
        own: Rows whose ids say whose they are.
        shared: Rows of shared scopes, under their reserved ids.
        refused: Rows that name no scope, or several; keys of ``schemas.REFUSALS``.
        turned_away: Reasons of rows of which nothing is kept: who wrote them opted out or is erased.
        defaults: Of the rows that are shared: none of the ids of who writes them.
    """

    defaults: Defaults
    own: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    shared: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    refused: list[dict[str, object]] = field(default_factory=list)
    turned_away: dict[int, str] = field(default_factory=dict)


def sorted_out(
    lake: Lake, rows: Sequence[Mapping[str, Any]], scope: str | None, defaults: Defaults, now: datetime
) -> Sorted | None:
    """Rows by where they are written; None where neither the call nor a row names a scope.

    Args:
        lake: Where teams stand.
        rows: As handed over; what is no mapping is an ordinary row, and refused as one.
        scope: Of rows that name none: ``tenant``, ``system``, ``team:<id>``, or ``user``, ``agent`` or
            ``session``, which must then be named.
        defaults: Of the call: the tenant, and in a shared scope the agent or user that writes.
        now: When.
    """
    given: Sequence[object] = rows
    if scope is None and not any(isinstance(row, Mapping) and SCOPE in row for row in given):
        return None
    found = Sorted(replace(defaults, user_id=None, agent_id=None, session_id=None))
    writer = _Writer(lake, defaults, now)
    for number, row in enumerate(given, 1):
        if not isinstance(row, Mapping):
            found.own.append((number, rows[number - 1]))
            continue
        record = {name: value for name, value in row.items() if name != SCOPE}
        try:
            placed = writer.placed(record, scope if row.get(SCOPE) is None else row[SCOPE])
        except JsonFault as fault:
            if fault.reason in MARKS:
                found.turned_away[number] = fault.reason
            else:
                found.refused.append(_refused(fault, row, number, defaults))
            continue
        (found.own if placed is None else found.shared).append((number, record if placed is None else placed))
    return found


def _refused(fault: JsonFault, row: Mapping[str, Any], number: int, defaults: Defaults) -> dict[str, object]:
    """The refusal of a row, under whose it is as far as it says."""
    ids = {name: row.get(name) or getattr(defaults, name) for name in ("tenant_id", "user_id")}
    known = {name: value for name, value in ids.items() if isinstance(value, str)}
    return refusal(fault, ascii(row), number, "landing") | known


class _Writer:
    """Who writes the rows of one call, and where it may."""

    def __init__(self, lake: Lake, defaults: Defaults, now: datetime) -> None:
        self._lake, self._defaults, self._now = lake, defaults, now
        self._refusals: dict[tuple[str, str], str | None] = {}

    def placed(self, record: Mapping[str, Any], level: object) -> dict[str, Any] | None:
        """The record as it is written to a shared scope; None where it stays where its ids say.

        A user who writes is its speaker, where it names none, so that it goes with whatever the user asks
        for; the row itself is nobody's.

        Raises:
            JsonFault: The scope is unknown, or the ids beside it name another one; or the writer is no member
                of the team, or has opted out.
        """
        if level is None:
            return None
        if level in OWN_LEVELS:
            self._require_own(record, str(level))
            return None
        try:
            agent = shared_agent(level)  # type: ignore[arg-type]
        except UsageError as error:
            raise JsonFault(UNKNOWN, "the row's scope is none") from error
        tenant = self._tenant(record, str(level))
        if any(record.get(name) is not None for name in _NAMES.values()) or self._defaults.session_id:
            raise JsonFault(AMBIGUOUS, "the row names a shared scope and a user, agent or session of its own")
        reason = self._refusal(tenant, str(level))
        if reason is not None:
            raise JsonFault(reason, "who writes is no member of the team; slowwave team add makes it one")
        speaker = record.get("speaker")
        return {
            **record,
            "speaker": self._defaults.user_id if speaker is None else speaker,
            "tenant_id": tenant,
            "agent_id": agent,
        }

    def _require_own(self, record: Mapping[str, Any], level: str) -> None:
        name = _NAMES[level]
        if not (record.get(name) or getattr(self._defaults, name)):
            raise JsonFault(AMBIGUOUS, f"the row is to be written to a {level}'s memory and names no {level}")

    def _tenant(self, record: Mapping[str, Any], level: str) -> str:
        named = record.get("tenant_id") or self._defaults.tenant_id
        if level == SYSTEM:
            if named or self._defaults.agent_id or self._defaults.user_id:
                raise JsonFault(AMBIGUOUS, "the system's memory is nobody's, and somebody is named")
            return SYSTEM_TENANT
        if not isinstance(named, str) or named == SYSTEM_TENANT:
            raise JsonFault("no_tenant", "the row names no tenant")
        return named

    def _refusal(self, tenant: str, level: str) -> str | None:
        if (tenant, level) not in self._refusals:
            self._refusals[tenant, level] = self._asked(tenant, level)
        return self._refusals[tenant, level]

    def _asked(self, tenant: str, level: str) -> str | None:
        """Why the writer may not write there."""
        user, agent = self._defaults.user_id, self._defaults.agent_id
        team = team_of(level)
        if team is not None and not is_member(self._lake, tenant, team, agent, user):
            return NOT_A_MEMBER
        mark = tombstones.load(self._lake).mark_of((tenant, user, agent, None), self._now)
        return None if mark is None else str(mark)
