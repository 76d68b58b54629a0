"""Grammar of working memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def add(verb: Callable[..., argparse.ArgumentParser], scope: argparse.ArgumentParser) -> None:
    """Add the verbs of this module."""
    del verb, scope
