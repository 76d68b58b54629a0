"""Grammar of the verbs of erasure and its certificates."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    erase = verb(
        "erase",
        "Erase a person, agent, session, tenant or memory from every file of the lake, and prove it."
        " Without --yes: show what would go.",
        "slowwave --lake ./memory erase --tenant acme --user u1 --basis gdpr-art-17 --yes",
        scope,
    )
    erase.add_argument("--memory", metavar="ID", help="one memory, and the episodes it rests on")
    erase.add_argument("--tenant-wide", action="store_true", help="the whole tenant")
    erase.add_argument(
        "--basis", metavar="TEXT", help="legal basis, such as gdpr-art-17; goes into the proof"
    )
    erase.add_argument(
        "--requested-by",
        choices=("subject", "controller", "authority", "operator"),
        default="operator",
        help="who asked (default operator)",
    )
    erase.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="NAME",
        help="another name the user spoke under in rows that name no user; may be repeated",
    )
    erase.add_argument(
        "--canary",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that must be in no file afterwards; may be repeated",
    )
    erase.add_argument("--yes", action="store_true", help="do it; without it nothing is changed")
    erase.add_argument("--resume", action="store_true", help="complete every open erasure")
    erase.add_argument(
        "--verify",
        metavar="CERTIFICATE",
        help="check a certificate's hash; with the subject named, also that nothing of it is there",
    )
