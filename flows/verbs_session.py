"""Verbs of working memory: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from flows.setup import Output

VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {}
