"""Grammar of the verbs of encryption keys."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]

ACTIONS = ("new-master", "init", "status", "rotate", "destroy", "sweep")


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    keys = verb(
        "keys",
        "Keys of an encrypted lake. new-master makes a master key file; init encrypts a lake that is still"
        " empty; status counts the keys; rotate wraps them by the master key now configured; destroy makes a"
        " subject's text unreadable for good, in every copy of the lake; sweep takes rows whose key was"
        " destroyed out of the tables, as after a backup was put back.",
        "slowwave --lake ./memory keys rotate --previous-key-file old.key",
        scope,
    )
    keys.add_argument("action", choices=ACTIONS, help="what to do")
    keys.add_argument("--file", metavar="FILE", help="new-master: the file to make")
    keys.add_argument(
        "--previous-key-file",
        metavar="FILE",
        help="rotate: the master key before the one configured (also SLOWWAVE_PREVIOUS_MASTER_KEY)",
    )
    keys.add_argument(
        "--data", action="store_true", help="rotate: also give every subject a new key for new rows"
    )
    keys.add_argument("--tenant-wide", action="store_true", help="destroy: the whole tenant")
    keys.add_argument("--yes", action="store_true", help="destroy, sweep: do it; else nothing changes")
