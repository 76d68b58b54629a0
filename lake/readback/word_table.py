"""Many long patterns in one pass: found by words of eight bytes that lie at multiples of eight.

Each pattern registers eight keys, of one or two words, that begin at eight places in a row. Wherever it
lies, one of these begins at a multiple of eight, so only there need be looked: one word in eight bytes,
whatever the number of patterns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

WORD = 8
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd numbers without pattern: what they multiply is spread over the upper bits."""
_SPARSE = 64
"""Places of the table for each key: one random word in so many is looked at twice."""
_BLOCK = 1 << 14
"""Words at once: what is computed of so few stays in the processor's cache."""
_SMALL_BITS = 20
"""A table of a megabyte stays there, too; what it lets pass is looked up in a larger one."""
_MOST_BITS = 27
_STEP = 8
"""Bytes between the places of a pattern that are tried for its keys."""

Found = tuple[int, int, int]
"""First byte, one past the last, and number of the pattern."""


class WordTable:
    """Patterns by their words.

    Args:
        patterns: Each of at least ``least(words)`` bytes, each once.
        words: Words of a key, 1 or 2.
    """

    def __init__(self, patterns: Sequence[bytes], words: int) -> None:
        self._patterns = patterns
        self._words = words
        size = least(words)
        begins = _begins(patterns, size)
        cut = [pattern[at : at + size] for pattern, at in zip(patterns, begins, strict=True)]
        raw = np.frombuffer(b"".join(cut), np.uint8).reshape(len(cut), size)
        windows = np.ascontiguousarray(sliding_window_view(raw, words * WORD, axis=1))
        keys = self._mixed(windows.view(np.uint64).reshape(-1, words))
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._owners = order // WORD
        self._places = np.array(begins, np.int64)[self._owners] + order % WORD
        self._sizes = np.array([len(pattern) for pattern in patterns], np.int64)
        tails = b"".join(pattern[-WORD:] for pattern in patterns)
        self._lasts = np.frombuffer(tails, np.uint64)
        wanted = (len(keys) * _SPARSE).bit_length()
        self._small = _Marks(self._keys, 0, min(max(16, wanted), _SMALL_BITS))
        self._large = _Marks(self._keys, _SMALL_BITS, wanted) if wanted > _SMALL_BITS else None

    def _mixed(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Keys of rows of words."""
        keys: NDArray[np.uint64] = words[:, 0] * _FIRST
        if self._words == 2:
            keys += words[:, 1] * _SECOND
        return keys

    def find(self, data: bytes) -> Iterator[Found]:
        """All places of all patterns."""
        bytes_ = np.frombuffer(data, np.uint8)
        for at, first, counts in self._candidates(data):
            entries = np.repeat(first, counts) + _ramps(counts)
            owners = self._owners[entries]
            starts = np.repeat(at, counts) - self._places[entries]
            ends = starts + self._sizes[owners]
            is_inside = (starts >= 0) & (ends <= len(data))
            owners, starts, ends = owners[is_inside], starts[is_inside], ends[is_inside]
            last = np.ascontiguousarray(bytes_[(ends - WORD)[:, None] + np.arange(WORD)])
            is_same = last.view(np.uint64)[:, 0] == self._lasts[owners]
            for owner, start in zip(owners[is_same].tolist(), starts[is_same].tolist(), strict=True):
                pattern = self._patterns[owner]
                if data.startswith(pattern, start):
                    yield start, start + len(pattern), owner

    def _candidates(
        self, data: bytes
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Places of known keys, the first registered entry of each, and how many there are of it."""
        words = np.frombuffer(data, np.uint64, len(data) // WORD)
        count = len(words) - self._words + 1
        for begin in range(0, count, _BLOCK):
            end = min(begin + _BLOCK, count)
            keys = words[begin:end] * _FIRST
            if self._words == 2:
                keys += words[begin + 1 : end + 1] * _SECOND
            places = np.flatnonzero(self._small.holds(keys))
            if self._large is not None:
                places = places[self._large.holds(keys[places])]
            near = keys[places]
            first = np.searchsorted(self._keys, near, "left")
            counts = np.searchsorted(self._keys, near, "right") - first
            is_known = counts > 0
            if is_known.any():
                yield (begin + places[is_known]) * WORD, first[is_known], counts[is_known]


def _ramps(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... for each count, one after the other."""
    ends = np.cumsum(counts)
    ramps: NDArray[np.int64] = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    return ramps


class _Marks:
    """A table that says of most keys that they are not registered, by some of their bits."""

    def __init__(self, keys: NDArray[np.uint64], skipped: int, bits: int) -> None:
        self._skipped = np.uint64(skipped)
        self._shift = np.uint64(64 - min(bits, _MOST_BITS))
        self._table = np.zeros(1 << min(bits, _MOST_BITS), np.bool_)
        self._table[self._slots(keys)] = True

    def _slots(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        shifted = keys << self._skipped if self._skipped else keys
        return (shifted >> self._shift).view(np.int64)

    def holds(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether each may be registered."""
        found: NDArray[np.bool_] = self._table[self._slots(keys)]
        return found


def least(words: int) -> int:
    """Bytes of a pattern from which on it holds eight keys that begin at eight places in a row."""
    return words * WORD + WORD - 1


def _begins(patterns: Sequence[bytes], size: int) -> list[int]:
    """Where the keys of each pattern begin: where fewest patterns say the same, and bytes differ most."""
    tried = [range(0, len(pattern) - size + 1, _STEP) for pattern in patterns]
    shared = Counter(
        pattern[at : at + size] for pattern, places in zip(patterns, tried, strict=True) for at in places
    )

    def rank(pattern: bytes, at: int) -> tuple[int, int, int]:
        cut = pattern[at : at + size]
        return shared[cut], -len(set(cut)), at

    return [
        min(places, key=lambda at: rank(pattern, at)) for pattern, places in zip(patterns, tried, strict=True)
    ]
