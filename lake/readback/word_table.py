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
_BLOCK = 1 << 16
"""Words at once: what is computed of half a megabyte stays in the processor's cache."""
_MOST_BITS = 28
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
        bits = min(max(16, (len(keys) * _SPARSE).bit_length()), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, np.bool_)
        self._table[(self._keys >> self._shift).view(np.int64)] = True

    def _mixed(self, words: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Keys of rows of words."""
        keys: NDArray[np.uint64] = words[:, 0] * _FIRST
        if self._words == 2:
            keys += words[:, 1] * _SECOND
        return keys

    def find(self, data: bytes) -> Iterator[Found]:
        """All places of all patterns."""
        for at, first, last in self._candidates(data):
            for entry in range(first, last):
                owner = int(self._owners[entry])
                pattern = self._patterns[owner]
                start = at - int(self._places[entry])
                if start >= 0 and data.startswith(pattern, start):
                    yield start, start + len(pattern), owner

    def _candidates(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Places of known keys, and which registered entries have them."""
        words = np.frombuffer(data, np.uint64, len(data) // WORD)
        count = len(words) - self._words + 1
        for begin in range(0, count, _BLOCK):
            end = min(begin + _BLOCK, count)
            keys = words[begin:end] * _FIRST
            if self._words == 2:
                keys += words[begin + 1 : end + 1] * _SECOND
            places = np.flatnonzero(self._table[(keys >> self._shift).view(np.int64)])
            if not len(places):
                continue
            near = keys[places]
            first = np.searchsorted(self._keys, near, "left")
            is_known = self._keys[np.minimum(first, len(self._keys) - 1)] == near
            first, near = first[is_known], near[is_known]
            last = np.searchsorted(self._keys, near, "right")
            at = (begin + places[is_known]) * WORD
            yield from zip(at.tolist(), first.tolist(), last.tolist(), strict=True)


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
        min(places, key=lambda at: rank(pattern, at))
        for pattern, places in zip(patterns, tried, strict=True)
    ]
