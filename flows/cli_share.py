"""Grammar of sharing, grants and teams."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]
_CALL = "slowwave --lake ./memory"


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs of this module."""
    del scope  # whose memory goes to whom is said by flags of its own
    _add_share(verb)
    _add_grants(verb)
    _add_team(verb)
    _add_patterns(verb)


def _add_share(verb: Verb) -> None:
    share = verb(
        "share",
        "Give an agent what another one knows about a query, as far as a grant lets it.",
        f'{_CALL} share "invoice import" --tenant acme --from billing --to support',
    )
    share.add_argument("query", help="what the receiving agent asks")
    _between(share, "agent that gets copies")
    share.add_argument("--user", metavar="ID", help="only memories of this person")
    share.add_argument("-k", type=_positive, default=None, help="most copies (default 5)")


def _add_grants(verb: Verb) -> None:
    receiver = "an agent, team:<id>, tenant (all its agents), or global (anonymised patterns, without --from)"
    grant = verb(
        "grant",
        "Let others have an agent's memories, or, to global, a tenant's anonymised patterns."
        " Without --yes: show what would be let out.",
        f"{_CALL} grant --tenant acme --from billing --to team:support --yes",
    )
    _between(grant, receiver)
    grant.add_argument("--kinds", metavar="KIND,...", help="only these kinds (default: all but patterns)")
    grant.add_argument(
        "--personal", action="store_true", help="rows about a person's life, too; restricted ones never leave"
    )
    grant.add_argument("--trust", type=float, metavar="0..1", help="most trust of a copy (default 0.4)")
    grant.add_argument("--until", metavar="ISO", help="when it runs out (default: never)")
    grant.add_argument("--yes", action="store_true", help="do it; without it nothing is changed")
    revoke = verb(
        "revoke",
        "Take a grant back, at once. What was shared before stays with whom it was shared.",
        f"{_CALL} revoke --tenant acme --from billing --to team:support",
    )
    _between(revoke, receiver)
    grants = verb("grants", "List the grants of a tenant.", f"{_CALL} grants --tenant acme")
    grants.add_argument("--tenant", metavar="ID", required=True, help="customer id")


def _add_team(verb: Verb) -> None:
    team = verb(
        "team",
        "Who belongs to a team: its members read and write team:<id> beside their own memory.",
        f"{_CALL} team add --tenant acme --team support --agent triage",
    )
    team.add_argument("action", choices=("add", "remove", "list"), help="what to do")
    team.add_argument("--tenant", metavar="ID", required=True, help="customer id")
    team.add_argument("--team", metavar="ID", help="a-z, 0-9, _, . and -; of list: only this one")
    member = team.add_mutually_exclusive_group()
    member.add_argument("--agent", metavar="ID", help="an agent")
    member.add_argument("--user", metavar="ID", help="a person")


def _add_patterns(verb: Verb) -> None:
    patterns = verb(
        "share-patterns",
        "Work out which ways of working several tenants share, and keep them, anonymised, for everybody."
        " Only tenants that granted it (grant --to global) count. Without --yes: show what would change.",
        f"{_CALL} share-patterns --yes",
    )
    group = patterns.add_mutually_exclusive_group()
    group.add_argument("--dry-run", action="store_true", help="show what would change (the default)")
    group.add_argument("--yes", action="store_true", help="do it; without it nothing is changed")


def _between(made: argparse.ArgumentParser, receiver: str) -> None:
    made.add_argument("--tenant", metavar="ID", required=True, help="customer id")
    made.add_argument("--from", dest="giver", metavar="AGENT", help="agent whose memories they are")
    made.add_argument("--to", dest="receiver", metavar="WHOM", required=True, help=receiver)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:19]) < 1 << 31):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)
