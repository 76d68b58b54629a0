"""Verbs of evaluation: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.setup import Output


def evaluate(options: argparse.Namespace) -> Output:
    """Measure recall."""
    from flows.evaluate import run_evaluate

    return run_evaluate(options)


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"evaluate": evaluate}
