"""What full-text search reads: the text, with each emoji as a word, because no tokenizer finds emoji."""

from __future__ import annotations

import re

import polars as pl

_RANGES = "\U0001f000-\U0001faff☀-➿⬀-⯿⌚-⏿‼⁉〰〽㊗㊙"
_EMOJI = re.compile(f"[{_RANGES}]")


def search_text(text: str) -> str:
    """The text with each emoji as a word such as `` emoji1f355 ``; same for rows and for queries."""
    return text if text.isascii() else _EMOJI.sub(lambda m: f" emoji{ord(m.group()):x} ", text)


def search_texts(texts: pl.Series) -> pl.Series:
    """``search_text`` of each; only rows that hold an emoji are touched."""
    has_emoji = texts.str.contains(f"[{_RANGES}]").fill_null(False)
    if not has_emoji.any():
        return texts
    rewritten = pl.Series([search_text(t) for t in texts.filter(has_emoji)], dtype=pl.String)
    positions = has_emoji.arg_true()
    return texts.clone().scatter(positions, rewritten)  # scatter changes its own series
