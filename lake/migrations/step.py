"""What a migration is made of: one step from a version of the lake to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lake.lake import Lake


@dataclass(frozen=True)
class Step:
    """One step.

    A step finds by itself what is left to do, so that it goes on after it was killed anywhere, and changes
    nothing where it was done before.

    Args:
        from_version: Version of the lake that it begins with.
        to_version: Version that it leads to.
        does: What it does, a sentence.
        plan: What is left to do, a phrase each; raises ``LakeError`` where it cannot be done, and all of it
            is asked before any step changes anything.
        apply: Does it.
    """

    from_version: int
    to_version: int
    does: str
    plan: Callable[[Lake], list[str]]
    apply: Callable[[Lake], None]
