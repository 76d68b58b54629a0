"""Grammar of the verbs of erasure and its certificates."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    del verb, scope
