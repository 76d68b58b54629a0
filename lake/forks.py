"""A process forked after Polars has started its threads would wait for them for ever: say so instead."""

from __future__ import annotations

import os
import re
from pathlib import Path

from transforms.errors import UsageError

_POOL_THREAD = re.compile(r"polars-\d+")
_state = {"had_pool": False, "is_cut_off": False}


def require_threads() -> None:
    """Check that this process can compute.

    Raises:
        UsageError: It was forked from one whose Polars threads, which a fork does not copy, had begun.
    """
    if _state["is_cut_off"]:
        raise UsageError(
            "this process was forked after its parent had used slowwave, and cannot compute",
            'Fork before the first call, or use the "spawn" or "forkserver" start method.',
        )


def _pool_runs() -> bool:
    names = []
    for task in Path("/proc/self/task").glob("*/comm"):
        try:
            names.append(task.read_text().strip())
        except OSError:  # the thread has ended
            continue
    return any(map(_POOL_THREAD.fullmatch, names))


def _before() -> None:
    _state["had_pool"] = _pool_runs()


def _in_child() -> None:
    _state["is_cut_off"] = _state["is_cut_off"] or _state["had_pool"]


os.register_at_fork(before=_before, after_in_child=_in_child)
