"""Grammar of the verb of refused rows."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.cli_recall import not_negative, positive

Verb = Callable[..., argparse.ArgumentParser]

ACTIONS = ("list", "retry", "drop")
ROWS = 20


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verb."""
    quarantine = verb(
        "quarantine",
        "Refused rows. list shows them, with how many there are by reason and file; retry reads them again,"
        " with what --tenant, --user, --timezone and --event-at now say of rows that lack it, and takes out"
        " those that land; drop takes them out for good.",
        "slowwave --lake ./memory quarantine list --reason naive_time",
        scope,
    )
    quarantine.add_argument("action", choices=ACTIONS, help="what to do")
    quarantine.add_argument(
        "id",
        nargs="*",
        help="rows, by id or its first eight characters or more; none: all that the rest allows",
    )
    quarantine.add_argument("--reason", metavar="NAME", help="only rows refused for this")
    quarantine.add_argument("--source-file", metavar="NAME", help="only rows of this file, as list shows it")
    quarantine.add_argument(
        "--of-tenant",
        metavar="ID",
        help="only rows that name this tenant (list, drop: as --tenant); empty: rows that name none",
    )
    quarantine.add_argument("--timezone", metavar="ZONE", help="retry: zone of times that name none")
    quarantine.add_argument("--event-at", metavar="TIME", help="retry: when rows happened that bear no time")
    quarantine.add_argument(
        "--limit", type=positive, default=ROWS, metavar="N", help=f"list: most rows shown (default {ROWS})"
    )
    quarantine.add_argument(
        "--offset", type=not_negative, default=0, metavar="N", help="list: rows passed over before the first"
    )
    quarantine.add_argument("--all", action="store_true", help="retry, drop: every row of the lake")
    quarantine.add_argument(
        "--dry-run", action="store_true", help="retry, drop: say what would be done; change nothing"
    )
