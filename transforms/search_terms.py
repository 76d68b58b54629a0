"""Words of texts as hashed stems: what word search inside a scope compares. Every script, emoji too.

A row's words are stemmed in the language that its words of grammar tell (English where they tell none), a
question's in every language written in its script, for a question is too short to tell.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from functools import lru_cache
from itertools import groupby
from threading import local

import numpy as np
import polars as pl
import Stemmer
from numpy.typing import NDArray

from transforms.irregular_forms import BASE
from transforms.search_text import MOST_QUERY_CHARS, search_text
from transforms.topics.stop_words import BY_LANGUAGE

Terms = NDArray[np.uint32]
Starts = NDArray[np.int64]

# Scripts without blanks between words, and Hangul, whose words carry their particles: each character
# and each pair of neighbours is a term, for no dictionary is at hand.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = rf"[{_UNSPACED}]+|[\p{{L}}\p{{M}}\p{{N}}&&[^{_UNSPACED}]]+"
_UNUSUAL = r"[^\x00-\x7f‘’“”–—…]"
_IS_UNSPACED = rf"^[{_UNSPACED}]"
_ASKS = r"[?？؟;][\s\"'”’)\]]*(?:\[[^\]]*\]\s*)?$"

LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch")
"""Languages of Latin script that are told apart."""
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_ASKING = """
a an the of in on at to for from by with about into over and or but if is are was were be been am do does
did has have had will would can could should shall may might must what which who whom whose where when
why how not no it its this that these those there i me my you your he she him her his they them their we
us our please tell say says said s t d ll re ve m don didn doesn isn wasn
"""
# Fewer than what says nothing of a topic: "work" or "love" may be all that is asked about.
_ENGLISH = frozenset(_ASKING.split())
_LEAST_HITS = 2
"""Words of another language's grammar that a row needs, and more of them than of English ones."""
_MOST_WORD_CHARS = 64
"""A longer one is data: its head stands for it."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_UNSPACED_CHAR = re.compile(rf"[{_UNSPACED}]")
_ONE_ROW = np.zeros(1, np.int64)
_own = local()


def hashed(term: str) -> int:
    """The 32 bits that stand for a term: CRC-32 of its UTF-8, the same on every machine."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


QUESTION = hashed("\x00question")
"""Term of a row that ends in a question; no word of a text can be it."""


def hashed_terms(texts: pl.Series) -> tuple[Terms, Starts]:
    """Hashed stems of each text, as often as they occur, in no order.

    Args:
        texts: ``search_text`` of each row; null is empty.

    Returns:
        uint32 terms of all texts, text after text, and int64 (texts + 1) where those of each begin.
    """
    found = _words(texts)
    rows = np.repeat(np.arange(len(texts)), found.list.len().to_numpy())
    flat = found.explode(empty_as_null=False)
    is_run = flat.str.contains(_IS_UNSPACED).to_numpy().astype(np.bool_)
    spaced, spaced_rows = flat.filter(~is_run), rows[~is_run]
    runs, run_rows = _characters(flat.filter(is_run), rows[is_run])
    asking = np.flatnonzero(texts.str.contains(_ASKS).fill_null(False).to_numpy())
    terms = np.concatenate(
        [_stems(spaced, spaced_rows, len(texts)), runs, np.full(len(asking), QUESTION, np.uint32)]
    )
    owners = np.concatenate([spaced_rows, run_rows, asking])
    order = np.argsort(owners, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(texts)))])
    return terms[order], starts.astype(np.int64)


def query_terms(text: str) -> tuple[tuple[int, ...], ...]:
    """What a question looks for: for each of its words the hashed forms a row may hold it in.

    Words that only make it a question are left out, unless there are no others. Of a long text the first
    ``MOST_QUERY_CHARS`` are read.
    """
    return _query_terms(text[:MOST_QUERY_CHARS])


@lru_cache(maxsize=128)
def _query_terms(text: str) -> tuple[tuple[int, ...], ...]:
    words = words_of(text)
    small = _small_words(words)
    kept = [word for word in words if word not in small] or words
    groups: dict[tuple[int, ...], None] = {}
    for word in kept:
        if _UNSPACED_CHAR.match(word):
            groups |= {(code,): None for code in _characters(pl.Series([word]), _ONE_ROW)[0].tolist()}
        else:
            groups[tuple(sorted({hashed(_stem(word, name)) for name in _languages(word)}))] = None
    return tuple(groups)


def words_of(text: str) -> list[str]:
    """Words of one text, as ``hashed_terms`` finds them; in Python, for a search has only one."""
    plain = unicodedata.normalize("NFKC", search_text(text)).lower()
    if plain.isascii():
        return _ASCII_WORD.findall(plain)
    return ["".join(run) for kind, run in groupby(plain, _class_of) if kind]


def _class_of(char: str) -> int:
    """0 between words, 1 within a word, 2 within a run of characters."""
    if _UNSPACED_CHAR.match(char):
        return 2
    return int(unicodedata.category(char)[0] in "LMN")


def _words(texts: pl.Series) -> pl.Series:
    """Words of each text, and whole runs of scripts without blanks; lower case, NFKC."""
    plain = texts.fill_null("")
    odd = plain.str.contains(_UNUSUAL)
    if odd.any():
        plain = plain.zip_with(~odd, plain.str.normalize("NFKC"))
    return plain.str.to_lowercase().str.extract_all(_WORD)


def _small_words(words: list[str]) -> frozenset[str]:
    """Words of grammar of the language that a question is in."""
    hits = {name: sum(word in small for word in words) for name, small in BY_LANGUAGE.items()}
    best = max(hits, key=lambda name: (hits[name], name == "english"))
    return _ENGLISH if best == "english" else BY_LANGUAGE[best]


def _languages(word: str) -> tuple[str, ...]:
    """Languages whose stemmer takes a word of this script; none for numbers."""
    first = word[0]
    if first < "\u0250":
        return LATIN
    return tuple(name for low, high, name in _SCRIPTS if low <= first <= high) or ("",)


def _stems(words: pl.Series, rows: NDArray[np.int64], texts: int) -> Terms:
    """Hashed stem of each word, in its row's language."""
    if words.is_empty():
        return np.zeros(0, np.uint32)
    told = words.to_arrow().dictionary_encode()
    names, codes = told.dictionary.to_pylist(), told.indices.to_numpy().astype(np.int64)
    pairs = codes * len(LATIN) + _spoken(names, codes, rows, texts)[rows]
    table = np.zeros(len(names) * len(LATIN), np.uint32)
    is_used = np.zeros(len(table), np.bool_)
    is_used[pairs] = True
    for pair in np.flatnonzero(is_used).tolist():
        table[pair] = hashed(_stem(names[pair // len(LATIN)], LATIN[pair % len(LATIN)]))
    stems: Terms = table[pairs]
    return stems


def _spoken(
    known: list[str], codes: NDArray[np.int64], rows: NDArray[np.int64], texts: int
) -> NDArray[np.int64]:
    """Language of each text, by its place in ``LATIN``."""
    hits = np.zeros((len(LATIN), texts))
    for place, name in enumerate(LATIN):
        is_small = np.array([word in BY_LANGUAGE[name] for word in known])
        hits[place] = np.bincount(rows, weights=is_small[codes], minlength=texts)
    best = hits.argmax(axis=0)  # the first of equals: English
    is_sure = hits[best, np.arange(texts)] >= _LEAST_HITS
    return np.where(is_sure, best, 0)


def _stem(word: str, language: str) -> str:
    """The stem of a word in a language of its script, accents of Latin letters left out."""
    head = word[:_MOST_WORD_CHARS]
    own = _languages(head)
    name = language if own is LATIN else own[0]
    if not name:
        return head
    stem = str(_stemmer(name).stemWord(BASE.get(head, head) if name == "english" else head))
    if own is LATIN and not stem.isascii():
        plain = unicodedata.normalize("NFKD", stem)
        stem = "".join(c for c in plain if not unicodedata.combining(c))
    return stem


def _stemmer(language: str) -> Stemmer.Stemmer:
    """One of this thread: they hold a buffer."""
    held: dict[str, Stemmer.Stemmer] = _own.__dict__
    if language not in held:
        held[language] = Stemmer.Stemmer(language)
    return held[language]


def _characters(runs: pl.Series, rows: NDArray[np.int64]) -> tuple[Terms, NDArray[np.int64]]:
    """Hashed characters, and pairs of neighbours, of runs of characters."""
    if runs.is_empty():
        return np.zeros(0, np.uint32), np.zeros(0, np.int64)
    lengths = runs.str.len_chars().to_numpy().astype(np.int64)
    codes = np.frombuffer("".join(runs.to_list()).encode("utf-32-le"), "<u4").astype(np.uint64)
    owners = np.repeat(rows, lengths)
    is_last = np.zeros(len(codes), np.bool_)
    is_last[np.cumsum(lengths) - 1] = True
    firsts = np.flatnonzero(~is_last)
    pairs = (codes[firsts] << np.uint64(21)) | codes[firsts + 1] | np.uint64(1 << 42)
    return _mixed(np.concatenate([codes, pairs])), np.concatenate([owners, owners[firsts]])


def _mixed(keys: NDArray[np.uint64]) -> Terms:
    """32 well-spread bits of each key (the finaliser of splitmix64)."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)).astype(np.uint32)
