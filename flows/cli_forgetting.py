"""Grammar of the verbs of decay, retain, cold storage."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.cli_engine import add_engine_flags

Verb = Callable[..., argparse.ArgumentParser]


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    decay = verb(
        "decay",
        "Score what every memory is still worth, and show what would be forgotten and why; writes nothing.",
        "slowwave --lake ./memory decay --tenant acme --out scores.parquet",
        scope,
    )
    decay.add_argument("--out", metavar="FILE", help="write the scored memories to a new file, as Parquet")
    retain = verb(
        "retain",
        "Take out what is past its time, stale, decayed, over the budget or on a forbidden topic.",
        "slowwave --lake ./memory retain --dry-run",
    )
    retain.add_argument(
        "--dry-run", action="store_true", help="list what would go and why, with some ids; write nothing"
    )
    add_engine_flags(decay)
    add_engine_flags(retain)
    cold = verb(
        "cold",
        "List what lies in cold storage, or bring it back.",
        "slowwave --lake ./memory cold --tenant acme --user u1",
        scope,
    )
    cold.add_argument("--restore", action="store_true", help="bring it back among the other episodes")
