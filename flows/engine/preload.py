"""Sets up a Dask worker that a run has started on its own machine."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Worker


def dask_setup(worker: Worker) -> None:
    """Called by Dask as the worker starts: Ctrl-C is the run's business, and stdout its document."""
    del worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
