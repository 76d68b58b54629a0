"""Grammar of the verbs of reports and exports."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.cli_recall import add_partial, positive
from transforms.legal_bases import BASES

Verb = Callable[..., argparse.ArgumentParser]
REPORTS = ("compliance", "capacity", "health", "cost", "quality")
REQUESTERS = ("subject", "controller", "authority", "operator")
"""As in ``transforms.rights_tables``, which is slow to import."""


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    _add_export(verb, scope)
    report = verb(
        "report",
        "Write a report: page with charts, JSON, CSV, Parquet; exit code 7 where compliance or health fails.",
        "slowwave --lake ./memory report compliance --out report",
        scope,
    )
    report.add_argument("name", nargs="?", choices=REPORTS, help="which report")
    report.add_argument("--out", metavar="DIR", required=True, help="folder to write, outside of the lake")
    add_partial(report)
    report.add_argument(
        "--scenarios", metavar="FILE", help="capacity: scenarios to plan for, TOML (default: built-in ones)"
    )
    report.add_argument(
        "--days", type=positive, metavar="N", help="look back so many days (default: as configured)"
    )


def _add_export(verb: Verb, scope: argparse.ArgumentParser) -> None:
    export = verb(
        "export",
        "Everything held about a person, as a zip: a readable page, JSON and a manifest.",
        "slowwave --lake ./memory export --tenant acme --user u1 --out u1.zip",
        scope,
    )
    export.add_argument("--out", metavar="FILE", required=True, help="file to write, outside of the lake")
    export.add_argument(
        "--form",
        choices=("zip", "jsonl"),
        default="zip",
        help="zip: all that is held, as an answer to a request (default); jsonl: the episodes only, of a"
        " person, an agent or a whole tenant; ingest takes both back",
    )
    export.add_argument(
        "--basis",
        default="gdpr-art-15",
        metavar="BASIS",
        help=f"legal basis: {', '.join(BASES)} or other:<word> (default gdpr-art-15)",
    )
    export.add_argument(
        "--requested-by", choices=REQUESTERS, default="subject", help="who asks (default subject)"
    )
    export.add_argument(
        "--alias", action="append", default=[], metavar="NAME", help="another name the user speaks under"
    )
    export.add_argument("--force", action="store_true", help="replace the file where it exists")
