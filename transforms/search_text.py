"""What full-text search reads: the text, with each emoji as a word, because no tokenizer finds emoji."""

from __future__ import annotations

import re

import polars as pl

_RANGES = "\U0001f000-\U0001faff☀-➿⬀-⯿⌚-⏿‼⁉〰〽㊗㊙"
_EMOJI = re.compile(f"[{_RANGES}]")


MOST_QUERY_CHARS = 8_000
"""Of a longer question the start is searched by words, as it is embedded: each word costs a pass."""


def search_text(text: str) -> str:
    """The text with each emoji as a word such as `` emoji1f355 ``; same for rows and for queries."""
    return text if text.isascii() else _EMOJI.sub(lambda m: f" emoji{ord(m.group()):x} ", text)


_QUESTION = """
a an the of in on at to for from by with about into over and or but if is are was were be been am do does
did has have had will would can could should shall may might must what which who whom whose where when
why how not no it its this that these those there i me my you your he she him her his they them their we
us our please tell say says said
"""
_ASKING = frozenset(_QUESTION.split())
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def query_text(query: str) -> str:
    """What full-text search is asked: the question without the words that only make it one.

    ``does`` and ``not`` would find every row that says "does not". A question of nothing else is asked
    as it is. English only: in other languages every word counts. Of a long text the first
    ``MOST_QUERY_CHARS`` are read.
    """
    query = query[:MOST_QUERY_CHARS]
    kept = [word for word in _WORDS.findall(query) if word.lower().replace("’", "'") not in _ASKING]
    return search_text(query) if not kept or not query.isascii() else " ".join(kept)


def search_texts(texts: pl.Series) -> pl.Series:
    """``search_text`` of each; only rows that hold an emoji are touched."""
    has_emoji = texts.str.contains(f"[{_RANGES}]").fill_null(False)
    if not has_emoji.any():
        return texts
    rewritten = pl.Series([search_text(t) for t in texts.filter(has_emoji)], dtype=pl.String)
    positions = has_emoji.arg_true()
    return texts.clone().scatter(positions, rewritten)  # scatter changes its own series
