"""Grammar of the verbs of pins, holds, opt-outs, forbidden topics, periods, corrections, requests."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    del verb, scope
