"""Grammar of the verbs that replay the past under other policies."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.cli_recall import positive

Verb = Callable[..., argparse.ArgumentParser]
SEARCHES = ("guided", "random", "grid")
LABELS = ("auto", "used", "feedback", "echo")
"""Where it is taken from which memories were of use; ``auto``: the first that there is enough of."""


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    tune = verb(
        "tune",
        "Replay logged recalls under other policies, and say whether one of them would have served better.",
        "slowwave --lake ./memory tune --out tuned",
        scope,
    )
    tune.add_argument("--out", metavar="DIR", required=True, help="folder to write, outside of the lake")
    tune.add_argument("--grid", metavar="FILE", help="values to try by policy key, TOML; see docs/tuning.md")
    tune.add_argument(
        "--search", choices=SEARCHES, default=None, help="how to search (default guided; grid with --grid)"
    )
    tune.add_argument("--trials", type=positive, metavar="N", help="policies to try (default tune.trials)")
    tune.add_argument(
        "--traces", metavar="FILE", help="replay these recalls, Parquet in the shape of the table recalls"
    )
    tune.add_argument(
        "--labels", metavar="NAME|FILE", default="auto",
        help=f"{', '.join(LABELS)}, or a file of call_id, memory_id and gain (default auto)",
    )  # fmt: skip
    tune.add_argument("--max-tokens", type=positive, metavar="N", help="most tokens an answer may take, mean")
    tune.add_argument(
        "--max-index-bytes", type=positive, metavar="N", help="most bytes of the index under the policy"
    )
    whatif = verb(
        "what-if",
        "What a policy would make the lake forget, and what of it was of use later; writes nothing into it.",
        "slowwave --lake ./memory what-if --policy new.toml --out what-if",
        scope,
    )
    whatif.add_argument(
        "--policy",
        metavar="FILE",
        required=True,
        help="TOML of the other policy; keys it leaves out are as configured",
    )
    whatif.add_argument("--out", metavar="DIR", required=True, help="folder to write, outside of the lake")
