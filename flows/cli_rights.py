"""Grammar of the verbs of pins, holds, opt-outs, forbidden topics, periods, corrections, requests."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from transforms.legal_bases import BASES

Verb = Callable[..., argparse.ArgumentParser]
_REQUESTERS = ("subject", "controller", "authority", "operator")
_CALL = "slowwave --lake ./memory"


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    user = "--tenant acme --user u1"
    _pins(verb, scope)
    for name, text, basis in (
        ("hold", "Legal hold: remove nothing of a tenant, user, agent, session or memory.", None),
        ("release", "Take a legal hold back.", None),
    ):
        example = f"{_CALL} {name} {user} --basis court-order"
        held = _request(verb(name, text, example, scope), basis, "controller")
        held.add_argument("--memory", metavar="ID", help="one memory")
        held.add_argument("--tenant-wide", action="store_true", help="the whole tenant")
    for name, text in (
        ("opt-out", "Remember nothing of a user from now on, and serve nothing of it."),
        ("opt-in", "Take an opt-out back."),
    ):
        _request(verb(name, text, f"{_CALL} {name} {user}", scope), "gdpr-art-21", "subject")
    for name, text in (
        ("forbid-topic", "Store nothing of a user that mentions a word or phrase; retain removes what is."),
        ("allow-topic", "Take a forbidden topic back."),
    ):
        told = verb(name, text, f'{_CALL} {name} "my divorce" {user}', scope)
        _request(told, "gdpr-art-21", "subject").add_argument("topic", help="word or phrase")
    own = verb("period", "Keep nothing of a user for longer than this.", f"{_CALL} period 90 {user}", scope)
    _request(own, "consent", "subject").add_argument(
        "days", help="days, at least 30; policy: as the policy says again"
    )
    _correct(verb, scope)
    verb(
        "requests",
        "List requests: open ones first, with their due date. Exit code 7 where one is overdue. With a"
        " tenant, or one subject of it: only its own, and what stands for it.",
        f"{_CALL} requests {user}",
        scope,
    )


def _pins(verb: Verb, scope: argparse.ArgumentParser) -> None:
    for name, text in (("pin", "Keep a memory whatever its decay."), ("unpin", "Take a pin back.")):
        made = verb(name, text, f"{_CALL} {name} 3f2a9c81 --tenant acme", scope)
        _request(made, "consent", "subject").add_argument(
            "id", help="of a memory, or its first eight characters"
        )


def _correct(verb: Verb, scope: argparse.ArgumentParser) -> None:
    text = (
        "Put a memory right. Of an episode, the right one is stored and the wrong one erased; of a fact, the"
        " old object is taken back and the new one asserted. Without --yes: show what would be done."
    )
    example = f'{_CALL} correct 3f2a9c81 --to "I prefer the window." --object window --tenant acme --yes'
    correct = _request(verb("correct", text, example, scope), "gdpr-art-16", "subject")
    correct.add_argument("id", help="of an episode or a fact, or its first eight characters")
    correct.add_argument("--to", metavar="TEXT", required=True, help="what is right")
    correct.add_argument("--object", metavar="VALUE", help="of a fact: what takes the place of its object")
    correct.add_argument("--yes", action="store_true", help="do it; without it nothing is changed")


def _request(made: argparse.ArgumentParser, basis: str | None, requested_by: str) -> argparse.ArgumentParser:
    """The flags of every request."""
    told = f" (default {basis})" if basis else "; required"
    made.add_argument(
        "--basis", metavar="BASIS", default=basis, required=basis is None,
        help=f"legal basis: {', '.join(BASES)} or other:<word>{told}",
    )  # fmt: skip
    made.add_argument(
        "--requested-by",
        choices=_REQUESTERS,
        default=requested_by,
        help=f"who asked (default {requested_by})",
    )
    return made
