"""Which spans of a source are done with: only those that are still held are read again after a kill."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from transforms.readers.lines import Point

_BEGINS = 10_000
"""Records whose beginnings are kept without asking which of them count."""


class Places:
    """Numbers the spans of a source, or their parts, in its order; what is told already gets no number.

    Args:
        start: Where the reading begins.
        count: Numbers given before that.
        until: Numbers given when the source was read before; 0: it was not.
        is_open: Of these the ones that are wanted again.
    """

    def __init__(self, start: Point, count: int = 0, until: int = 0, is_open: Iterable[int] = ()) -> None:
        """Nothing has been read."""
        self.count, self._until, self._open = count, until, frozenset(is_open)
        self._begins = deque([(count, start)])
        self._most = _BEGINS

    def begin(self, point: Point | None) -> None:
        """A record begins here; None: the source cannot be read on from here."""
        if point is not None:
            self._begins.append((self.count, point))

    @property
    def is_long(self) -> bool:
        """Whether it is time to let go of beginnings: by asking ``before`` for the first that counts."""
        return len(self._begins) > self._most

    def take(self) -> int | None:
        """The number of what is read now; None: it is told already."""
        number = self.count
        self.count += 1
        return None if number < self._until and number not in self._open else number

    def before(self, number: int) -> tuple[int, Point]:
        """Where a record begins before or at a number that is not smaller than one asked for earlier.

        Returns:
            How many numbers were given before it, and the place.
        """
        while len(self._begins) > 1 and self._begins[1][0] <= number:
            self._begins.popleft()
        self._most = max(_BEGINS, 2 * len(self._begins))
        return self._begins[0]


def packed(numbers: Iterable[int]) -> list[int]:
    """Rising numbers as begin and length of each run of them."""
    found: list[int] = []
    for number in numbers:
        if found and found[-2] + found[-1] == number:
            found[-1] += 1
        else:
            found += [number, 1]
    return found


def unpacked(runs: list[int]) -> list[int]:
    """The numbers of ``packed``."""
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return [number for begin, length in pairs for number in range(begin, begin + length)]
