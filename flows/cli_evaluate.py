"""Grammar of evaluation."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.cli_recall import not_negative

SETS = ("locomo", "rows", "scenarios")
INDEXES = ("night", "episodes", "both")


def add(verb: Callable[..., argparse.ArgumentParser], scope: argparse.ArgumentParser) -> None:
    """Add the verb."""
    del scope
    evaluate = verb(
        "evaluate",
        "Measure recall on a labelled set or on scripted scenarios, in lakes made for it.",
        "slowwave evaluate --set locomo --data locomo10.json --out evaluation",
    )
    _add_what(evaluate)
    _add_how(evaluate)


def _add_what(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument("--set", choices=SETS, required=True, dest="set_name", help="what to run")
    evaluate.add_argument(
        "--data", metavar="FILE", help="the labelled set; scenarios bring their own and take none"
    )
    evaluate.add_argument(
        "--conversations", metavar="LIST", help="only these of LoCoMo, such as 6-10 or 1,3 (default all)"
    )
    evaluate.add_argument(
        "--preset",
        metavar="NAME,...",
        help="weights to run: five, three, two, relevance (default: those of the configuration)",
    )
    evaluate.add_argument(
        "--index",
        choices=INDEXES,
        default="both",
        help="search what a night publishes, the episodes alone, or one after the other (default both)",
    )


def _add_how(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument("--k", metavar="N,...", default="5,10,20", help="cuts of recall (default 5,10,20)")
    evaluate.add_argument(
        "--no-price", action="store_true", help="do not measure what the retention of the policy costs"
    )
    evaluate.add_argument(
        "--context",
        action="store_true",
        help="pack a context for each question, too: what it holds of the answer",
    )
    evaluate.add_argument("--against", metavar="FILE", help="compare with an earlier result of this command")
    evaluate.add_argument(
        "--out", metavar="DIR", help="folder for a page, the result as JSON, and every question as Parquet"
    )
    evaluate.add_argument(
        "--seed", metavar="N", type=not_negative, default=0, help="of the bootstrap (default 0)"
    )
    evaluate.add_argument(
        "--resamples", metavar="N", type=_resamples, default=2_000, help="of the bootstrap (default 2000)"
    )


def _resamples(text: str) -> int:
    number = not_negative(text)
    if not 100 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text} is not between 100 and 1000000")
    return number
