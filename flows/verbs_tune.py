"""Verbs that replay the past under other policies: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.setup import Output


def tune(options: argparse.Namespace) -> Output:
    """Search for a policy that would have served better."""
    from flows.tune import tune_output

    return tune_output(options)


def what_if(options: argparse.Namespace) -> Output:
    """What a policy would make the lake forget."""
    from flows.what_if import what_if_output

    return what_if_output(options)


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"tune": tune, "what-if": what_if}
