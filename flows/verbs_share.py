"""Verbs of sharing, grants and teams: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flows.setup import Output, config_of, job_of, lake_of
from transforms.errors import UsageError

if TYPE_CHECKING:
    from lake.sharing.grants import Grant


def share(options: argparse.Namespace) -> Output:
    """Give an agent what another one knows."""
    from flows.present_share import shared_text
    from lake.embedders.config import make_embedder
    from lake.recall import Recall

    config = config_of(options)
    reader = Recall(lake_of(options, config), policy=config.policy, embedder=make_embedder(config.embedder))
    done = reader.share(
        options.query,
        tenant=options.tenant,
        from_agent=_giver(options),
        to_agent=options.receiver,
        user=options.user,
        k=options.k,
    )
    return Output(done.as_dict(), shared_text(done, options.giver, options.receiver))


def grant(options: argparse.Namespace) -> Output:
    """Let others have an agent's memories."""
    from flows.present_share import grant_line
    from lake.sharing import grants

    lake = lake_of(options, config_of(options))
    wanted = _wanted(options)
    if options.yes:
        grants.make(lake, wanted)
    else:
        grants.check(wanted)
    told = "is granted" if options.yes else "would be granted; nothing was changed, add --yes to grant it"
    return Output({"grant": wanted.as_dict(), "dry_run": not options.yes}, f"{grant_line(wanted)}\n{told}")


def revoke(options: argparse.Namespace) -> Output:
    """Take a grant back."""
    from lake.sharing import grants

    lake = lake_of(options, config_of(options))
    giver = grants.ANYBODY if options.receiver == grants.GLOBAL else _giver(options)
    if not grants.revoke(lake, options.tenant, giver, options.receiver, datetime.now(UTC)):
        raise UsageError("there is no such grant", "See slowwave grants --tenant.")
    return Output(
        {"revoked": {"from": giver, "to": options.receiver}},
        "revoked; nothing more is shared under it, and what was shared before stays where it is",
    )


def list_grants(options: argparse.Namespace) -> Output:
    """The grants of a tenant."""
    from flows.present_share import grants_table
    from lake.sharing import grants

    now = datetime.now(UTC)
    held = grants.of_tenant(lake_of(options, config_of(options)), options.tenant)
    data = [{**one.as_dict(), "is_in_force": one.holds(now)} for one in held]
    return Output({"grants": data}, grants_table(held, now))


def team(options: argparse.Namespace) -> Output:
    """Who belongs to a team."""
    from flows.present_share import members_table
    from lake.sharing import teams

    lake, now = lake_of(options, config_of(options)), datetime.now(UTC)
    if options.action == "list":
        named = [
            one
            for one in teams.members(lake, options.tenant, options.team)
            if (one.kind, one.id) == (one.kind, getattr(options, one.kind) or one.id)
            and (options.agent is None or one.kind == "agent")
            and (options.user is None or one.kind == "user")
        ]
        return Output({"members": [one.as_dict() for one in named]}, members_table(named))
    if not options.team:
        raise UsageError("which team?", "Name it: --team.")
    act = teams.add if options.action == "add" else teams.remove
    is_changed = act(lake, options.tenant, options.team, agent=options.agent, user=options.user, at=now)
    said = {
        ("add", True): f"is a member of team:{options.team}",
        ("add", False): f"was a member of team:{options.team} already",
        ("remove", True): f"is no member of team:{options.team} any more",
        ("remove", False): f"was no member of team:{options.team}",
    }
    who = options.agent or options.user
    data = {"team": options.team, "agent": options.agent, "user": options.user, "is_changed": is_changed}
    return Output(data, f"{who} {said[options.action, is_changed]}")


def share_patterns(options: argparse.Namespace) -> Output:
    """Ways of working that several tenants share, anonymised, for everybody."""
    from flows.global_patterns import run_global_patterns
    from flows.job import exclusive
    from flows.present_share import patterns_text

    job = job_of(options)
    if not options.yes:
        result = run_global_patterns(job, is_dry=True)
    else:
        with exclusive(job):
            result = run_global_patterns(job)
    return Output(
        {**result.as_dict(), "dry_run": not options.yes}, patterns_text(result, is_dry=not options.yes)
    )


def _giver(options: argparse.Namespace) -> str:
    if not options.giver:
        raise UsageError("whose memories?", "Name the agent: --from.")
    return str(options.giver)


def _wanted(options: argparse.Namespace) -> Grant:
    """The grant that the flags name."""
    from lake.arguments import instant
    from lake.sharing.grants import ANYBODY, GLOBAL, Grant
    from transforms.sharing.rules import NORMAL, PERSONAL, Terms

    is_global = options.receiver == GLOBAL
    if is_global and (options.giver or options.kinds or options.personal or options.trust is not None):
        raise UsageError("a grant to global has no terms", "It gives anonymised patterns of the tenant only.")
    kinds = tuple(dict.fromkeys(options.kinds.split(","))) if options.kinds else ()
    terms = Terms(kinds, PERSONAL if options.personal else NORMAL, options.trust)
    giver = ANYBODY if is_global else _giver(options)
    now = datetime.now(UTC)
    return Grant(options.tenant, giver, options.receiver, terms, now, instant(options.until))


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "share": share,
    "grant": grant,
    "revoke": revoke,
    "grants": list_grants,
    "team": team,
    "share-patterns": share_patterns,
}
