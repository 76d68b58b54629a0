"""Keys: the form in which two phrasings of one thing are equal. Any script; digits and units stay."""

from __future__ import annotations

from functools import cache

import polars as pl

_ARTICLES = (
    "the|a|an|my|our|your|his|her|its|their|this|that|these|those|some"
    "|der|die|das|den|dem|ein|eine|einen|einem|einer|mein|meine|meinen|meinem|meiner|unser|unsere"
    "|el|la|los|las|un|una|unos|unas|mi|mis|nuestro|nuestra|le|les|une|mon|ma|mes|notre|nos"
)
"""Words at the start of a phrase that say which one, not what."""
_QUOTES = dict.fromkeys("‘’ʼ´′`", "'")
_DASHES = dict.fromkeys("‐‒–—―−", "-")
_BLANKS = dict.fromkeys(
    '"()[]{}*|' + "\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f\u300a\u300b\u3008\u3009", " "
)
_BLANKS |= dict.fromkeys("\u3010\u3011\u3002\u3001\u00bf\u00a1\u2022", " ")
_HIDDEN = dict.fromkeys("\u200b\u2060\ufeff\xad", "")
MARKS = {**_QUOTES, **_DASHES, **_BLANKS, **_HIDDEN}
"""Characters told apart by looks only, brackets and quotes, and what they become."""

STEPS: tuple[tuple[str, str], ...] = (
    (r"\.{2,}", " "),
    (r"(\w)'s\b", "${1}"),
    # Twice, as a match eats the letter that the next one starts with: a-b-c.
    (r"(\p{L})-+(\p{L})", "${1} ${2}"),
    (r"(\p{L})-+(\p{L})", "${1} ${2}"),
    (r"(^|\s)[,;:!?'-]+(\s|$)", " "),
    (r"(^|\s)[,;:!?']+", " "),
    (r"[.,;:!?']+(\s|$)", " "),
    (r"\s+", " "),
)
"""Expressions and replacements, in order, on folded text: a point or comma inside a number stays."""


_LAST_CASED = 0x1_FFFF
"""No letter beyond the second plane has a case."""


@cache
def fold_pairs() -> dict[str, str]:
    """Lower-case characters whose case-folded form is another one, as ``ß`` and ``ss``."""
    low = set("".join(map(chr, range(_LAST_CASED + 1))).lower())
    return dict(sorted((c, folded) for c in low if (folded := c.casefold()) != c))


def key_expr(text: pl.Expr) -> pl.Expr:
    """The key of a text: NFKC, case-folded, without articles, possessives, quotes and edge punctuation.

    Args:
        text: String; null stays null.

    Returns:
        String; empty only where the text is blank.
    """
    pairs = fold_pairs()
    folded = text.str.normalize("NFKC").str.to_lowercase()
    folded = folded.str.replace_many(list(pairs), list(pairs.values())).str.normalize("NFKC")
    plain = folded.str.replace_many(list(MARKS), list(MARKS.values()))
    for pattern, becomes in STEPS:
        plain = plain.str.replace_all(pattern, becomes)
    plain = plain.str.strip_chars(" ")
    bare = plain.str.replace(rf"^(?:(?:{_ARTICLES}) )+", "").str.replace_all(r" (?:the )+", " ")
    spaced = folded.str.replace_all(r"\s+", " ").str.strip_chars(" ")
    return pl.when(bare != "").then(bare).when(plain != "").then(plain).otherwise(spaced)


def key_of(texts: pl.Series) -> pl.Series:
    """``key_expr`` of a series; each distinct text is read once.

    Args:
        texts: String.

    Returns:
        String series of the same name and length.
    """
    distinct = texts.unique().drop_nulls()
    if distinct.is_empty():
        return texts.cast(pl.String)
    keys = distinct.to_frame("text").select(key_expr(pl.col("text"))).to_series()
    return texts.replace_strict(distinct, keys, default=None, return_dtype=pl.String)
