"""Grammar of recall: search, context, facts and why they are held."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]
WEIGHTS = ("five", "three", "two")
"""``transforms.weights.PRESETS``, which is too heavy to be imported for a grammar."""


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs of this module."""
    _add_search(verb, scope)
    _add_hints(verb, scope)
    _add_used(verb, scope)
    _add_beliefs(verb, scope)


def _add_search(verb: Verb, scope: argparse.ArgumentParser) -> None:
    recall = verb(
        "recall", "Find memories.", 'slowwave --lake ./memory recall "seat" --tenant acme --user u1', scope
    )
    recall.add_argument("query", help="what to look for")
    recall.add_argument("-k", type=positive, default=None, help="how many (default 10)")
    recall.add_argument("--kinds", metavar="KIND,...", help="only these kinds")
    recall.add_argument("--explain", action="store_true", help="show ids and sources too")
    recall.add_argument(
        "--weights", choices=WEIGHTS, help="weigh so many factors (default: as the policy says)"
    )
    context = verb(
        "context",
        "Pack memories for a prompt.",
        'slowwave --lake ./memory context "seat" --tenant acme --user u1',
        scope,
    )
    context.add_argument("query", help="what the prompt is about")
    context.add_argument(
        "--budget", type=positive, default=None, metavar="TOKENS", help="most tokens (default 2000)"
    )
    context.add_argument(
        "--preset", choices=("small", "large"), help="room for 2,000 tokens, or for 16,000 of more candidates"
    )
    context.add_argument(
        "--model-context",
        type=positive,
        metavar="TOKENS",
        help="the model's window, in place of a budget: what query and answer leave of it is the budget",
    )
    context.add_argument(
        "--reserve",
        type=positive,
        metavar="TOKENS",
        help="kept for the answer with --model-context (default 4096)",
    )
    for parser in (recall, context):
        _add_tenant_wide(parser)
        add_partial(parser)
        _add_also(parser)


def _add_hints(verb: Verb, scope: argparse.ArgumentParser) -> None:
    hints = verb(
        "hints",
        "What past attempts suggest for a task: what worked, what failed and why.",
        'slowwave --lake ./memory hints "deploy the service" --tenant acme --agent ops',
        scope,
    )
    hints.add_argument("query", help="the task at hand")
    hints.add_argument("-k", type=positive, default=5, help="how many (default 5)")
    _add_tenant_wide(hints)


def _add_used(verb: Verb, scope: argparse.ArgumentParser) -> None:
    used = verb(
        "used",
        "Say which recalled memories were of use; the next night notes it on their recalls.",
        "slowwave --lake ./memory used ID --call CALL --tenant acme",
        scope,
    )
    used.add_argument("ids", nargs="+", metavar="ID", help="of memories that a call gave")
    used.add_argument(
        "--call",
        metavar="CALL",
        help="call_id of the answer; without it the newest call of the scope that gave the memory",
    )


def _add_beliefs(verb: Verb, scope: argparse.ArgumentParser) -> None:
    facts = verb(
        "facts",
        "What is held to be true; with --as-of, what was at that instant.",
        "slowwave --lake ./memory facts --tenant acme --user u1",
        scope,
    )
    facts.add_argument("--history", action="store_true", help="facts that no longer hold, too")
    facts.add_argument(
        "--recorded-by", metavar="ISO", help="only by what the lake held at this instant, whatever came since"
    )
    explain = verb(
        "explain",
        "Why a row is there: its words, its claims and every decision.",
        "slowwave --lake ./memory explain ID --tenant acme",
        scope,
    )
    explain.add_argument("id", help="of a memory, fact, claim, topic, conversation or attempt")
    add_partial(facts)
    for parser in (facts, explain):
        _add_tenant_wide(parser)
    _add_also(explain)


def add_partial(parser: argparse.ArgumentParser) -> None:
    """The flag of verbs that can answer as of the past."""
    parser.add_argument(
        "--partial",
        action="store_true",
        help="with --as-of: be content with what the lake still holds of what stood then",
    )


def _add_tenant_wide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tenant-wide", action="store_true", help="search the whole tenant, not one user, agent or session"
    )


def _add_also(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="SCOPE",
        help="read besides: user, agent, tenant, system, team:<id> or teams; may be repeated",
    )


def positive(text: str) -> int:
    """A count from the command line.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not (text.isascii() and text.isdigit() and 0 < int(text[:19]) < 1 << 31):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def not_negative(text: str) -> int:
    """A number from 0 from the command line.

    Raises:
        ArgumentTypeError: It is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 0")
    return int(text)
