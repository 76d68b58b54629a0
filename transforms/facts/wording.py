"""Whether two words are forms or spellings of one: endings, one letter more, less or other, one in two."""

from __future__ import annotations

from functools import lru_cache

_ENDINGS = ("ing", "ies", "ed", "es", "en", "er", "s", "y", "e", "n")
_VERBAL = ("ing", "ed", "es", "er")
_LEAST_STEM = 2
_LEAST_TYPO = 5
_LEAST_PREFIX = 4
_TAIL = 2
"""Letters in which two long words with one beginning may end differently, in any language."""


@lru_cache(maxsize=65_536)
def are_forms(left: str, right: str) -> bool:
    """Whether two case-folded words are forms of one. Symmetric; wrong for some, as *train* and *trail*."""
    if left == right or not _stems(left).isdisjoint(_stems(right)):
        return True
    shared = _shared(left, right)
    if shared >= _LEAST_PREFIX and max(len(left), len(right)) - shared <= _TAIL:
        return True
    if min(len(left), len(right)) >= _LEAST_TYPO and _is_one_off(left, right, shared):
        return True
    # Scripts without blanks do not mark where a word begins.
    return left.upper() == left.lower() and (left in right or right in left)


def _stems(word: str) -> set[str]:
    """The word and what it may be a form of."""
    stems = {word}
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _LEAST_STEM:
            stems.add(stem)
            if ending in _VERBAL:
                stems |= {stem + "e", stem[:-1]} if stem[-1] == stem[-2] else {stem + "e"}
    return stems


def _shared(left: str, right: str) -> int:
    """Letters that both begin with."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return place
    return min(len(left), len(right))


def _is_one_off(left: str, right: str, shared: int) -> bool:
    """Whether one letter was put in, left out, changed, or put before its neighbour."""
    one, other = left[shared:], right[shared:]
    if len(one) == len(other):
        return one[1:] == other[1:] or (one[:2] == other[1::-1] and one[2:] == other[2:])
    short, long = sorted((one, other), key=len)
    return long[1:] == short
