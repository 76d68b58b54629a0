"""Which way a run shows how far it is: bars on a terminal, lines in a log, or not at all."""

from __future__ import annotations

import os
import sys

from flows.job import Progress, Silent
from transforms.errors import UsageError

KINDS = ("auto", "bars", "lines", "none")


def progress_of(kind: str, every_seconds: float, *, is_json: bool) -> Progress:
    """The progress of a call, on standard error.

    Args:
        kind: One of ``KINDS``. ``auto``: nothing beside JSON, else bars on a terminal, else lines.
        every_seconds: Between two lines of a task.
        is_json: Whether the call prints JSON, which a program reads.

    Raises:
        UsageError: There is no such kind.
    """
    if kind not in KINDS:
        raise UsageError(f"no progress {kind}", f"Use one of {', '.join(KINDS)}.")
    if kind == "auto":
        kind = "none" if is_json else "bars" if _is_terminal() else "lines"
    if kind == "bars":
        from flows.progress_bars import Bars

        return Bars()
    if kind == "lines":
        from flows.progress_lines import lines

        return lines(every_seconds)
    return Silent()


def _is_terminal() -> bool:
    """Whether standard error is a terminal that can draw a line anew."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
