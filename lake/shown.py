"""How long work in the lake says how far it is, to a caller that shows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Shown = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Given how many items there are, a block around the work, which is told the count of finished ones; from any
thread."""


def unseen(total: int) -> AbstractContextManager[Callable[[int], None]]:
    """For callers that show nothing."""
    del total
    return nullcontext(lambda _: None)
