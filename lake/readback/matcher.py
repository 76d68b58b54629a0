"""All needles in one pass over bytes: long patterns by a table of words, short ones by an automaton."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import ahocorasick_rs

from lake.readback.bounds import is_bounded, is_bounded_base64, is_bounded_wide
from lake.readback.needles import CLASSES, IDENTIFIERS, Needles, Pattern, encoded, patterns
from lake.readback.word_table import WORD, WordTable, least

Place = tuple[int, int, Pattern]
"""First byte, one past the last, and the pattern."""


@dataclass(frozen=True, slots=True)
class Match:
    """One find: first byte, one past the last, and class and index of the needle."""

    start: int
    end: int
    needle: tuple[int, int]


class Matcher:
    """Searches bytes for all needles. Safe between threads.

    Args:
        needles: What to search for.
    """

    def __init__(self, needles: Needles) -> None:
        self.needles = needles
        self._plain = [encoded(value) for value in needles.values[CLASSES[IDENTIFIERS]]]
        found = _distinct(patterns(needles))
        self.longest = max((len(p.data) for p in found), default=0)
        sizes = (least(2), least(1), 0)
        long = [p for p in found if len(p.data) >= sizes[0]]
        middle = [p for p in found if sizes[0] > len(p.data) >= sizes[1]]
        self._tables = [
            (held, WordTable([p.data for p in held], words))
            for held, words in ((long, 2), (middle, 1))
            if held
        ]
        short = [p for p in found if len(p.data) < sizes[1]]
        self._automata = {
            False: _automaton(short),
            True: _automaton([p for p in short if len(p.data) >= WORD]),
        }

    def find(self, data: bytes, *, is_packed: bool = False) -> list[Match]:
        """All finds in bytes that are one text.

        Args:
            data: Any bytes.
            is_packed: Whether they are compressed: then patterns below eight bytes, which stand in
                them by chance, are left out.
        """
        found = self.raw(data, is_packed=is_packed)
        kept = {Match(s, e, p.needle) for s, e, p in found if self.counts(data, s, e, p)}
        return sorted(kept, key=lambda m: (m.start, m.needle))

    def parts(self, parts: Sequence[bytes]) -> Iterator[tuple[int, Match]]:
        """All finds in each of many short texts, searched together: the text's number and the find."""
        data = b"".join(parts)
        begins = [0, *accumulate(map(len, parts))]
        found = set()
        for start, end, pattern in self.raw(data):
            number = bisect_right(begins, start) - 1
            first = begins[number]
            if end <= begins[number + 1] and self.counts(parts[number], start - first, end - first, pattern):
                found.add((number, Match(start - first, end - first, pattern.needle)))
        yield from sorted(found, key=lambda one: (one[0], one[1].start, one[1].needle))

    def raw(self, data: bytes, *, is_packed: bool = False) -> Iterator[Place]:
        """All places of patterns, whatever stands beside them; one may come twice."""
        for held, table in self._tables:
            for start, end, number in table.find(data):
                yield start, end, held[number]
        automaton = self._automata[is_packed]
        if automaton is not None:
            yield from automaton.find(data)

    def counts(self, data: bytes, start: int, end: int, pattern: Pattern) -> bool:
        """Whether a find counts: of an identifier only where no word goes on beside it."""
        if pattern.needle[0] != IDENTIFIERS:
            return True
        if pattern.form == "base64":
            return is_bounded_base64(data, start, end, self._plain[pattern.needle[1]], pattern.shift)
        if pattern.form != "utf-8":
            return is_bounded_wide(data, start, end, pattern.form)
        return is_bounded(data, start, end)


def _distinct(found: Iterator[Pattern]) -> list[Pattern]:
    """Patterns by their bytes, once for each class and form: many texts may begin alike."""
    held: dict[tuple[bytes, int, str], Pattern] = {}
    for pattern in found:
        held.setdefault((pattern.data, pattern.needle[0], pattern.form), pattern)
    return list(held.values())


class _Automaton:
    """Short patterns. The quick search gives one find of those that overlap, the thorough one all."""

    def __init__(self, held: list[Pattern]) -> None:
        by_data: dict[bytes, list[Pattern]] = {}
        for pattern in held:
            by_data.setdefault(pattern.data, []).append(pattern)
        data, self._held = list(by_data), list(by_data.values())
        leftmost = ahocorasick_rs.MatchKind.LeftmostLongest
        self._quick = ahocorasick_rs.BytesAhoCorasick(data, matchkind=leftmost)
        self._thorough = ahocorasick_rs.BytesAhoCorasick(data)

    def find(self, data: bytes) -> Iterator[Place]:
        near, until = least(1), -1
        for _, start, end in self._quick.find_matches_as_indexes(data):
            if end <= until:
                continue
            first, until = max(0, start - near), end + near
            for number, s, e in self._thorough.find_matches_as_indexes(data[first:until], overlapping=True):
                for pattern in self._held[number]:
                    yield first + s, first + e, pattern


def _automaton(short: list[Pattern]) -> _Automaton | None:
    return _Automaton(short) if short else None
