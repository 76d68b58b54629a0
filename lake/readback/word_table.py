"""Many long patterns in one pass: found by words of eight bytes that lie at multiples of eight.

Each pattern registers eight keys, of one or two words, that begin at eight places in a row. Wherever it
lies, one of these begins at a multiple of eight, so only there need be looked: one word in eight bytes,
whatever the number of patterns. A known key says where a pattern would begin and how long it would be;
words of what lies there say which one it is, however many share the key.
"""

from __future__ import annotations

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
_PROBES = 4
"""Words of a pattern, from its first to its last, that tell it from others of its size."""
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
        self._sizes = np.fromiter(map(len, patterns), np.int64, len(patterns))
        joined = np.frombuffer(b"".join(patterns), np.uint8)
        ends = np.cumsum(self._sizes)
        begins = _begins(joined, ends - self._sizes, self._sizes, size)
        raw = _cut(joined, ends - self._sizes + begins, size)
        windows = np.ascontiguousarray(sliding_window_view(raw, words * WORD, axis=1))
        keys = self._mixed(windows.view(np.uint64).reshape(-1, words))
        shapes = (begins[:, None] + np.arange(WORD)).ravel() << 32 | np.repeat(self._sizes, WORD)
        order = np.lexsort((shapes, keys))
        keys, shapes = keys[order], shapes[order]
        is_first = np.ones(len(keys), np.bool_)
        is_first[1:] = (keys[1:] != keys[:-1]) | (shapes[1:] != shapes[:-1])
        self._keys = keys[is_first]
        self._places, self._lengths = shapes[is_first] >> 32, shapes[is_first] & 0xFFFFFFFF
        prints = _prints(joined, ends - self._sizes, self._sizes)
        self._owners = np.argsort(prints, kind="stable")
        self._prints = prints[self._owners]
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
            starts, sizes = np.repeat(at, counts) - self._places[entries], self._lengths[entries]
            is_inside = (starts >= 0) & (starts + sizes <= len(data))
            starts, sizes = starts[is_inside], sizes[is_inside]
            prints = _prints(bytes_, starts, sizes)
            named, is_known = _looked_up(self._prints, prints)
            if not is_known.any():
                continue
            named, starts = named[is_known], starts[is_known]
            alike = np.searchsorted(self._prints, prints[is_known], "right") - named
            owners = self._owners[np.repeat(named, alike) + _ramps(alike)].tolist()
            for owner, start in zip(owners, np.repeat(starts, alike).tolist(), strict=True):
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
            first, is_known = _looked_up(self._keys, near)
            if is_known.any():
                first = first[is_known]
                counts = np.searchsorted(self._keys, near[is_known], "right") - first
                yield (begin + places[is_known]) * WORD, first, counts


def _looked_up(
    known: NDArray[np.uint64], asked: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """First place of each among sorted numbers, and whether it is there."""
    first = np.searchsorted(known, asked, "left")
    return first, known[np.minimum(first, len(known) - 1)] == asked


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


def _prints(
    data: NDArray[np.uint8], firsts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """What tells stretches of bytes apart: their size and some words of them."""
    prints = sizes.astype(np.uint64) * _FIRST
    windows = sliding_window_view(data, WORD) if len(data) >= WORD else np.empty((0, WORD), np.uint8)
    for probe in range(_PROBES):
        words = windows[firsts + (sizes - WORD) * probe // (_PROBES - 1)]
        prints = (prints ^ words.view(np.uint64)[:, 0]) * _SECOND
        prints ^= prints >> np.uint64(29)
    return prints


def _cut(joined: NDArray[np.uint8], begins: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """As many bytes from each place on, a row each."""
    cut: NDArray[np.uint8] = np.ascontiguousarray(sliding_window_view(joined, size)[begins])
    return cut


def _begins(
    joined: NDArray[np.uint8], firsts: NDArray[np.int64], sizes: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Where the keys of each pattern begin: where fewest patterns say the same, and bytes differ most.

    Args:
        joined: All patterns in a row.
        firsts: First byte of each in it.
        sizes: Bytes of each.
        size: Bytes that the keys of one take.
    """
    counts = (sizes - size) // _STEP + 1
    owners = np.repeat(np.arange(len(sizes)), counts)
    places = _ramps(counts) * _STEP
    prints = np.empty(len(places), np.uint64)
    differing = np.empty(len(places), np.int64)
    for start in range(0, len(places), _BLOCK):
        some = slice(start, start + _BLOCK)
        cut = _cut(joined, firsts[owners[some]] + places[some], size)
        last = np.ascontiguousarray(cut[:, -WORD:]).view(np.uint64)[:, 0]
        held = np.ascontiguousarray(cut[:, : size // WORD * WORD]).view(np.uint64)
        prints[some] = last * _SECOND
        for column in range(held.shape[1]):
            prints[some] = (prints[some] ^ held[:, column]) * _FIRST
        ordered = np.sort(cut, axis=1)
        differing[some] = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    _, alike, shared = np.unique(prints, return_inverse=True, return_counts=True)
    order = np.lexsort((places, -differing, shared[alike], owners))
    best: NDArray[np.int64] = places[order[np.cumsum(counts) - counts]]
    return best
