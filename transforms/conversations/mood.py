"""Mood of what a person writes: words of a lexicon, turned by negation, strength and contrast.

Valences are added as in VADER (Hutto and Gilbert, 2014), whose squashing ``s / sqrt(s² + 15)`` brings a
sum to -1..1. Only texts that a prefilter over all texts finds are read one by one, each distinct text once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import polars as pl

from transforms.conversations.mood_phrases import NEUTRAL, PHRASES, SARCASM
from transforms.conversations.mood_words import (
    DIMINISHERS,
    EMOJI,
    FUNCTION_WORDS,
    INTENSIFIERS,
    LEXICON,
    NEGATIONS,
    OTHER,
    SMILEYS,
    UNSPACED,
)

SQUASH = 15.0
NEGATED = -0.7
"""A denied word says the opposite, more weakly: not happy, not bad."""
STRONGER, WEAKER = 1.4, 0.6
BEFORE_BUT, AFTER_BUT = 0.7, 1.2
SARCASTIC = 2.0
"""Valence against what is praised in mockery."""
ACKNOWLEDGED = 0.5
"""A message that opens with "Good." goes on to something else; it is courtesy more than mood."""
_REACH = 3
"""Words back that a negation or an intensifier reaches; four in German and French catch no more."""
MAX_CHARS = 4_000
"""Mood stands in what a person types, not in a file they paste."""

_UNSPACED_RANGE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(
    rf"[^\W\d_{_UNSPACED_RANGE}]+(?:['’-][^\W\d_{_UNSPACED_RANGE}]+)*|[{_UNSPACED_RANGE}]+|[!]+"
)
_BLOCK = (
    r"(?s)\[REDACTED:\w+\]|```.*?(?:```|$)|`[^`\n]*`|https?://\S+|(?m:^\s*>[^\n]*$)|“[^”]*”|„[^“”]*[“”]"
    r"|\"[^\"\n]{3,}\"|«[^»]*»"
)
"""Code, addresses, and what is quoted from others."""
_NEUTRAL = rf"\b(?:{NEUTRAL})\b"
_PHRASES = [
    (valence, re.compile(rf"(?<!\w)(?:{words})(?!\w)|(?:{words})(?<=[^\x00-\u2fff])"))
    for valence, words in PHRASES.items()
]
_ANY_PHRASE = "|".join(f"(?:{words})" for words in PHRASES.values()).replace(r"\b", "").replace(r"\w", r"\S")
"""Matches wherever one of the phrases does, and is fast: without the borders of words."""
_ELIDED = r"\b([jldmnstc]|qu)'(\w)"
"""French and Italian: j'adore, n'aime, dell'anno; English has no word of one letter before such a mark."""
_ACKNOWLEDGED = r"^\W*(?:good|fine|nice|cool|works|gut|bien|bon|bene|bom|хорошо|好)\s*(?:[.,;]|$)"
_SENTENCE_END = re.compile(r"[.!?。！？\n]+(?=\s|$|[^\x00-\u2fff])")
_CLAUSE = re.compile(r"[.;:!?。！？；…\n]+|,|，|、")
_BUT = re.compile(
    r"\b(?:but|however|although|though|yet|except|aber|jedoch|obwohl|pero|aunque|mais|pourtant|ma|però|mas"
    r"|porém|но|зато)\b|但是?|不过|可是|けど|けれど|でも|しかし|ですが|だが|하지만|그런데"
)
_IF = re.compile(r"^\s*(?:if|in case|unless|falls|wenn|si|se|если|如果|要是|もし)\b")
_NOT = frozenset(NEGATIONS.split())
_MORE = frozenset(INTENSIFIERS.split())
_LESS = frozenset(DIMINISHERS.split())
_NEGATED_AFTER = re.compile(
    r"^(?:く|い|しく)?(?:じゃ|では|は)?(?:な(?:い|か|く)|ありませ)|^く(?:な(?:い|か)|ありませ)|^(?:지"
    r"|하지) ?(?:않|못)"
)
_NEGATED_BEFORE = re.compile(r"(?:不|没|沒|(?<!特)別|(?<!特)别|无|未|不太|不怎么|不是很|没有|안|못|안 )$")


def _entries(table: dict[float, str]) -> dict[str, float]:
    return {word: valence for valence, words in table.items() for word in words.split()}


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(set(words)))


def _split_stems(table: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    whole = {w: v for w, v in table.items() if not w.endswith("*")}
    return whole, {w[:-1]: v for w, v in table.items() if w.endswith("*")}


_WORDS = {language: _split_stems(_entries(table)) for language, table in (LEXICON | {"other": OTHER}).items()}
_STEMS_ANYWHERE = _entries(UNSPACED)
_ANYWHERE = re.compile("|".join(map(re.escape, sorted(_STEMS_ANYWHERE, key=lambda s: (-len(s), s)))))
_SIGNS = _entries(EMOJI) | {sign: valence for valence, signs in SMILEYS.items() for sign in signs}
_SIGN_FORM = "|".join(
    re.escape(s) if not s[-1].isalpha() else rf"(?<!\w){re.escape(s)}(?!\w)"
    for s in sorted(_SIGNS, key=lambda s: (-len(s), s))
)
_SIGN, _SIGN_LOWER = re.compile(_SIGN_FORM), re.compile(_SIGN_FORM, re.IGNORECASE)
_SPOKEN: dict[str, tuple[str, ...]] = {
    word: tuple(name for name, words in FUNCTION_WORDS.items() if word in words.split())
    for word in " ".join(FUNCTION_WORDS.values()).split()
}
_LONG = 6
_HINTS = (
    rf"\b(?:(?:{_either(w for whole, _ in _WORDS.values() for w in whole)})\b"
    rf"|(?:{_either(w for _, stems in _WORDS.values() for w in stems)}))"
)


def moods(texts: pl.Series) -> pl.DataFrame:
    """Positive and negative mood of each text.

    Args:
        texts: String.

    Returns:
        Float64 ``positive`` and ``negative``, sums of valence, both at or above 0, a row each, in order;
        null where a text holds no word or sign of mood.
    """
    plain = (
        texts.str.slice(0, MAX_CHARS)
        .str.replace_all(_BLOCK, " ")
        .str.replace_all("’", "'")
        .str.replace_all("\ufe0f", "")
        .rename("plain")
    )
    read = _read(plain.unique())
    found = [_mood(**row) for row in read.iter_rows(named=True)]
    schema = {"plain": pl.String, "positive": pl.Float64, "negative": pl.Float64}
    known = [(text, *sums) for text, sums in zip(read["plain"], found, strict=True) if sums]
    table = pl.DataFrame(known, schema=schema, orient="row")
    joined = plain.to_frame().join(table, on="plain", how="left", maintain_order="left")
    return joined.select("positive", "negative")


def _read(plain: pl.Series) -> pl.DataFrame:
    """Texts that may carry mood, with what is told of each by expressions over all of them."""
    low, text = pl.col("lower"), pl.col("plain")
    lowered = text.str.to_lowercase().str.replace_all(_ELIDED, "${1} ${2}")
    marked = plain.to_frame().with_columns(lower=lowered)
    told = marked.with_columns(
        is_sarcastic=low.str.contains(SARCASM),
        has_sign=text.str.contains_any(list(_SIGNS)),
        has_phrase=low.str.contains(_ANY_PHRASE),
        has_word=low.str.contains(_HINTS) | low.str.contains_any(list(_STEMS_ANYWHERE)),
    )
    held = told.filter(pl.any_horizontal("is_sarcastic", "has_sign", "has_phrase", "has_word")).drop(
        "has_word"
    )
    bare = held.with_columns(lower=low.str.replace_all(_NEUTRAL, " "))
    bare = bare.with_columns(is_courteous=low.str.contains(_ACKNOWLEDGED))
    return bare.with_columns(lower=low.str.replace(_ACKNOWLEDGED, " "))


def squash(total: float) -> float:
    """A sum of valences on the scale -1 to 1."""
    return total / math.sqrt(total * total + SQUASH)


def _mood(
    plain: str, lower: str, *, is_sarcastic: bool, has_sign: bool, has_phrase: bool, is_courteous: bool
) -> tuple[float, float] | None:
    """Sums of positive and of negative valence of a text, or None where nothing carries mood."""
    found = [_SIGNS[m.group()] for m in _SIGN.finditer(plain)] if has_sign else []
    if is_sarcastic:
        return 0.0, SARCASTIC + sum(-v for v in found if v < 0)
    if found:
        lower = _SIGN_LOWER.sub(" ", lower)
    if is_courteous:
        found.append(ACKNOWLEDGED)
    if has_phrase:
        lower = _without_phrases(lower, found)
    language = _language(lower)
    for clause, weight in _clauses(lower):
        found.extend(valence * weight for valence in _valences(clause, language))
    if not found:
        return None
    return sum(v for v in found if v > 0), -sum(v for v in found if v < 0)


def _without_phrases(text: str, found: list[float]) -> str:
    """The text without turns of phrase, whose valences are added to what is found."""
    for valence, phrase in _PHRASES:
        for match in phrase.finditer(text):
            before = _WORD.findall(text[max(0, match.start() - 30) : match.start()])[-_REACH:]
            is_denied = valence > 0 and any(w in _NOT or w.endswith("n't") for w in before)
            found.append(valence * (NEGATED if is_denied else 1.0))
        text = phrase.sub(" ", text)
    return text


def _clauses(text: str) -> list[tuple[str, float]]:
    """Clauses with their weight: what comes after "but" counts for more than what comes before."""
    clauses: list[tuple[str, float]] = []
    for sentence in _SENTENCE_END.split(text):
        parts = _BUT.split(sentence)
        for i, part in enumerate(parts):
            weight = 1.0 if len(parts) == 1 else AFTER_BUT if i == len(parts) - 1 else BEFORE_BUT
            pieces = [p for p in _CLAUSE.split(part) if p.strip()]
            clauses.extend((piece, weight) for piece in pieces if not _IF.match(piece))
    return clauses


def _language(text: str) -> str | None:
    """The language whose function words stand in the text most often; None where none or several do."""
    hits = Counter(name for word in _WORD.findall(text) for name in _SPOKEN.get(word, ()))
    top = hits.most_common(2)
    if not top or (len(top) == 2 and top[0][1] == top[1][1]):
        return None
    return top[0][0]


def _valences(clause: str, language: str | None) -> list[float]:
    found = []
    tokens = _WORD.findall(clause)
    for at, token in enumerate(tokens):
        valence = _lookup(token, language)
        if valence:
            found.append(valence * _turn(tokens[max(0, at - _REACH) : at], valence, language))
    for match in _ANYWHERE.finditer(clause):
        valence = _STEMS_ANYWHERE[match.group()]
        if not valence:  # a longer word that only looks like one of mood
            continue
        is_denied = _NEGATED_BEFORE.search(clause[: match.start()]) or _NEGATED_AFTER.match(
            clause[match.end() :]
        )
        found.append(valence * (NEGATED if is_denied else 1.0))
    return found


def _turn(before: list[str], valence: float, language: str | None) -> float:
    """What the words before one make of it."""
    factor = 1.0
    for word in before:
        if word in _NOT or word.endswith("n't"):
            # "No, great" answers a question; it denies nothing.
            factor = factor if word == "no" and language == "en" and valence > 0 else NEGATED
        elif word in _MORE:
            factor *= STRONGER
        elif word in _LESS:
            factor *= WEAKER
    return factor


@lru_cache(maxsize=65_536)
def _lookup(word: str, language: str | None) -> float | None:
    """Valence of a word: in its language; else, where that is unknown, in any.

    A word that is long enough to belong to one language only counts among words of another, too.
    """
    if language is None:
        return next((v for name in _WORDS if (v := _in_language(word, name)) is not None), None)
    found = _in_language(word, language)
    if found is not None or len(word) < _LONG or language in _SPOKEN.get(word, ()):
        return found
    return next((whole[word] for whole, _ in _WORDS.values() if word in whole), None)


def _in_language(word: str, language: str) -> float | None:
    whole, stems = _WORDS[language]
    if word in whole:
        return whole[word]
    return next((stems[word[:end]] for end in range(len(word), 2, -1) if word[:end] in stems), None)
