"""A death inside the test's own process: from one effect on nothing reaches the disk any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lake import tables
from lake.storage import LocalStorage

EFFECTS: tuple[tuple[Any, str], ...] = (
    (LocalStorage, "write"),
    (LocalStorage, "create"),
    (LocalStorage, "delete"),
    (tables, "_commit"),
)
"""What changes something on disk."""


class Dead(BaseException):
    """No error that anything handles; whatever tidies up on the way out dies of it again."""


class Life:
    """Counts effects, and ends before the one it was told.

    Attributes:
        last: Effects that are still to come; None: it does not end.
    """

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.count = 0

    def watched(self, real: Callable[..., Any], is_counted: Callable[..., bool]) -> Callable[..., Any]:
        def act(*arguments: Any, **keywords: Any) -> Any:
            if is_counted(*arguments):
                if self.last is not None and self.count >= self.last:
                    raise Dead
                self.count += 1
            return real(*arguments, **keywords)

        return act

    def die(self) -> None:
        """Here and now."""
        self.last = self.count
        raise Dead


def _always(*_: Any) -> bool:
    return True


@contextmanager
def living(
    last: int | None = None,
    effects: Iterable[tuple[Any, str]] = EFFECTS,
    is_counted: Callable[..., bool] = _always,
) -> Iterator[Life]:
    """Run what stands inside until its death, which is no failure.

    Args:
        last: Effects before it; None: it lives, unless ``die`` is called.
        effects: Functions that change something on disk.
        is_counted: Whether a call with these arguments is one.
    """
    life = Life(last)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in effects:
            patch.setattr(owner, name, life.watched(getattr(owner, name), is_counted))
        try:
            yield life
        except Dead:
            return
    if last is not None:
        raise AssertionError(f"it lived on: there were {life.count} effects only")
