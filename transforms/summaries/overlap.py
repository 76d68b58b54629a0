"""How far two sentences say the same, by their words and numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"\d+(?:[.,:/]\d+)*|[{_UNSPACED}]+|[^\W\d_{_UNSPACED}]+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|nicht|kein\w*|nie|ohne|pas|jamais|sans|nunca|sin|non|mai|não"
    r"|не|нет)\b|n['’]t\b|[不没沒無]|ない|ません|않|못"
)
_WORD_STEM = 6
"""Words of European languages that share six letters are mostly forms of one: remind, reminder."""
_STOP_WORDS = (
    "a an the of to in on at for with by from and or but as is are was were be been it its this that these"
    " those i we you he she they me us my our your his her their will would can could do does did have has"
    " der die das den dem ein eine einen und oder zu im am mit von für auf ist sind war ich wir du sie es"
    " el la los las un una y o de del al en con por para es son yo le les du des et ou à au aux avec pour"
    " est il lo gli e di da che per sono os um uma em и в на с по к"
)
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Gist:
    """What a sentence is compared by.

    Args:
        words: Stems of its words, pairs of neighbours where a script sets no blanks, and its numbers.
        numbers: Its numbers alone.
        is_negated: Whether it denies something.
        text: The sentence without case and outer blanks.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    is_negated: bool
    text: str


def gist(sentence: str) -> Gist:
    """What a sentence is compared by."""
    text = sentence.casefold().strip()
    words: set[str] = set()
    numbers: set[str] = set()
    for token in _TOKEN.findall(text):
        if token[0].isdigit():
            numbers.add(token)
        elif token[0] >= "\u0e00":  # the first of the unspaced scripts; no cased letter lies above it
            words.update(token[i : i + 2] for i in range(max(1, len(token) - 1)))
        elif token not in _STOP:
            words.add(token[:_WORD_STEM].removesuffix("s") or token)
    return Gist(frozenset(words | numbers), frozenset(numbers), bool(_NEGATION.search(text)), text)


def overlap(one: Gist, other: Gist) -> float:
    """Cosine of the two sets of words, 0 to 1; 1 for the same text."""
    if one.text == other.text:
        return 1.0
    if not one.words or not other.words:
        return 0.0
    return len(one.words & other.words) / math.sqrt(len(one.words) * len(other.words))


def repeats(one: Gist, other: Gist, shared: float, repeat_ratio: float) -> bool:
    """Whether one says what the other said: enough words shared, the same numbers, both denied or neither.

    Two addresses, dates or limits that differ are no repetition, however alike the words.
    """
    if one.text == other.text:
        return True
    return shared >= repeat_ratio and one.numbers == other.numbers and one.is_negated == other.is_negated
