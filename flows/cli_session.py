"""Grammar of working memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable

ACTIONS = ("show", "add", "update", "close")


def add(verb: Callable[..., argparse.ArgumentParser], scope: argparse.ArgumentParser) -> None:
    """Add the verbs of this module."""
    session = verb(
        "session",
        "The working memory of an open session: show it, add a message, update its task, close it.",
        'slowwave --lake ./memory session add "Book it" --tenant acme --agent travel --session s1',
        scope,
    )
    session.add_argument("action", choices=ACTIONS, help="what to do")
    session.add_argument("text", nargs="?", default=None, help="with add: what is said")
    message = session.add_argument_group("add")
    message.add_argument(
        "--role", choices=("user", "assistant", "system", "tool"), default="user", help="who says it (user)"
    )
    message.add_argument(
        "--tool-call", metavar="NAME", help="it calls this tool; the text is its arguments, JSON"
    )
    message.add_argument("--tool-result", metavar="CALL", help="it is the result of this call")
    message.add_argument("--id", default=None, help="the caller's own id: added again, it is the same row")
    state = session.add_argument_group("update")
    for name, told in (("goal", "what is wanted"), ("current-action", "what is being done")):
        state.add_argument(f"--{name}", metavar="TEXT", help=told)
    for name, told in (
        ("sub-task", "a part of the task"),
        ("complete", "a part that is done"),
        ("error", "what went wrong"),
        ("note", "what is worth keeping"),
        ("ask", "a decision that somebody else has to take"),
        ("decide", "a decision that was taken, as it was asked"),
    ):
        state.add_argument(
            f"--{name}", action="append", default=[], metavar="TEXT", help=f"{told}; repeatable"
        )
    shown = session.add_argument_group("show")
    shown.add_argument(
        "--budget", type=int, default=None, metavar="TOKENS", help="as text of at most so many"
    )
