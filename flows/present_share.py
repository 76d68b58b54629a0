"""Shares, grants, teams and global patterns for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from flows.job import StepResult
from flows.present import folded, plain, table
from lake.sharing.grants import GLOBAL, Grant
from lake.sharing.share import NO_GRANT, Shared
from lake.sharing.teams import Member

_WHY = {
    "normal": "more private than the grant lets out",
    "personal": "about a person's life, and the grant does not say --personal",
    "restricted": "restricted: never leaves",
    "private": "a habit of a person, or of an open session: never shared",
    "not_its_own": "a copy of another agent's memory",
    "kind_not_granted": "of a kind that the grant does not name",
    "instruction_in_untrusted_text": "it reads as an order to an agent",
    "erased_subject": "erased meanwhile",
    "opted_out": "its person has opted out",
    "forbidden_topic": "on a topic that its person has forbidden",
}


def shared_text(done: Shared, giver: str, receiver: str) -> str:
    """What was shared, and what was withheld and why."""
    if [one.reason for one in done.withheld] == [NO_GRANT]:
        return folded(
            f"nothing was shared: {plain(giver)} has granted {plain(receiver)} nothing (slowwave grant);"
            " nothing was searched"
        )
    lines = [f"  {one.id[:8]}  trust {one.trust:.2f}  {plain(one.text)}" for one in done.shared]
    head = f"shared {len(done.shared)} with {plain(receiver)}, withheld {len(done.withheld)}"
    reasons = Counter(one.reason for one in done.withheld)
    return "\n".join(
        [head, *lines, *(f"  withheld {n}: {_WHY.get(name, name)}" for name, n in sorted(reasons.items()))]
    )


def grant_line(grant: Grant) -> str:
    """A grant as a sentence."""
    if grant.receiver == GLOBAL:
        return f"{plain(grant.tenant)} gives its patterns, anonymised and only where others show them as well"
    kinds = ", ".join(grant.terms.kinds) or "all kinds but patterns"
    ends = "" if grant.until is None else f" until {grant.until:%Y-%m-%d %H:%M} UTC"
    limit = grant.terms.max_sensitivity
    return f"{plain(grant.giver)} gives {plain(grant.receiver)} {kinds}, up to {limit}{ends}"


def grants_table(held: Sequence[Grant], now: datetime) -> str:
    """Grants, one a row."""
    if not held:
        return "no grants: no agent of this tenant is given another's memory"
    rows = [
        (
            one.giver,
            one.receiver,
            ",".join(one.terms.kinds) or "all",
            one.terms.max_sensitivity,
            "-" if one.until is None else f"{one.until:%Y-%m-%d %H:%M}",
            "yes" if one.holds(now) else "run out",
        )
        for one in held
    ]
    return table("", ("from", "to", "kinds", "up to", "until", "in force"), rows)


def members_table(members: Sequence[Member]) -> str:
    """Memberships, one a row."""
    if not members:
        return "no members"
    rows = [(one.team, one.kind, one.id, f"{one.since:%Y-%m-%d}") for one in members]
    return table("", ("team", "kind", "id", "since"), rows)


def patterns_text(result: StepResult, *, is_dry: bool) -> str:
    """What becomes of the global patterns."""
    told = result.detail
    would = "would be " if is_dry else ""
    head = (
        f"{told['tenants']} tenants contribute; {told['patterns']} patterns stand behind at least"
        f" {told['min_tenants']} of them: {told['added']} {would}added, {told['changed']} {would}changed,"
        f" {told['retired']} {would}retired"
    )
    lines = [folded(head), *(f"  {plain(text)}" for text in told.get("shown", ()))]
    return "\n".join([*lines, "nothing was changed; add --yes to keep them"] if is_dry else lines)
