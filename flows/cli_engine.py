"""Flags of the verbs that run work units."""

from __future__ import annotations

import argparse

from flows.cli_recall import positive


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """Add what says where units run; what is not given says section ``[engine]``."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--engine",
        choices=("local", "dask"),
        default=None,
        help="processes here, or workers of Dask",
    )
    group.add_argument("--workers", type=positive, metavar="N", default=None, help="processes (default 1)")
    group.add_argument(
        "--scheduler", metavar="ADDRESS", default=None, help="of a Dask scheduler, such as tls://host:8786"
    )
