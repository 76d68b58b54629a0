"""Texts to sentences with their place: several scripts, lists and code; all texts at once.

A text is cut into segments by one expression, and segments that a full stop cut wrongly (``e.g.``,
``J. Smith``, ``12. Mai``) are joined again.
"""

from __future__ import annotations

import polars as pl

_CODE = r"```.*?(?:```|$)|`[^`\n]+`"
_END = (
    r"[.!?…]+[\"'”’»)\]*_]*(?:\s+|$)"  # a full stop inside a word, a number or an address ends nothing
    r"|[。！？｡]+[」』）”’\"]*\s*|[।؟۔]+\s*|\n\s*|$"
)
_SEGMENT = rf"(?s)(?:{_CODE}|.)*?(?:{_END})"
"""Lazy: at each place an end is tried first, then a piece of code as a whole, then one character."""

_ABBREVIATION = (
    r"(?i)(?:^|[\s(\[\"'])(?:e\.g|i\.e|vs|cf|ca|approx|dr|mr|mrs|ms|prof|jr|mt|dept|corp|z\.\s?b|d\.\s?h"
    r"|u\.\s?a|bzw|usw|evtl|ggf|inkl|p\.\s?ex|par ex|env|srta|т\.\s?е|т\.\s?д|ул)\.\s*$"
)
_NUMBERED = (
    r"(?i)(?:^|[\s(\[\"'])(?:no|nos|nr|fig|eq|sec|ch|vol|pp?|min|max|abs|art|pág|núm|стр|tel|est"
    r"|u?ds?)\.\s*$"
)
"""Abbreviations before a number; without one, most of them are words that may end a sentence."""
_INITIAL = r"(?:^|[\s(])\p{Lu}\.\s*$"
_DAY_NUMBER = r"(?:^|\s)\d{1,2}\.\s*$"
_MONTH = (
    r"^(?:Jan|Feb|Mär|Mar|Apr|Mai|Maj|Jun|Jul|Aug|Sep|Okt|Oct|Nov|Dez|Dec|dub|květ|led|jan|feb|mar|apr|maj"
    r"|jun|jul|aug|sep|okt|nov|dec)"
)
_WRAPPED = r"^.{60,}\S[^\S\n]*\n$"
_LEAD = r"(?s)^\s*(?:```.*?(?:```|$)\s*)*(?:[-*•·–>#]+[^\S\n]+|\d{1,3}[.)][^\S\n]+|\[[ xX]\]\s+)*\s*"
"""Code blocks, marks of lists and quotes, and blanks before a sentence."""
_BULLET_ONLY = r"^\s*(?:\d{1,3}|[a-zA-Z])[.)]\s*$"

SCHEMA = pl.Schema(
    {
        "row": pl.UInt32,
        "number": pl.UInt32,
        "start": pl.Int64,
        "end": pl.Int64,
        "sentence": pl.String,
        "is_cut": pl.Boolean,
    }
)


def split(texts: pl.Series, max_chars: int) -> pl.DataFrame:
    """Sentences of each text, in order.

    Args:
        texts: String.
        max_chars: A longer sentence is cut at a blank, or inside a word that long.

    Returns:
        Frame of ``SCHEMA``: ``row`` of the text, ``number`` of the sentence in it from 0, ``start``
        and ``end`` in code points, ``sentence`` as it stands between them, without list marks and
        outer blanks, and whether it ``is_cut``. Code blocks and empty lines are no sentences.
    """
    if texts.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    joined = _join(_segments(texts))
    lead = pl.col("sentence").str.extract(f"({_LEAD})").str.len_chars()
    bare = joined.with_columns(
        start=pl.col("start") + lead, sentence=pl.col("sentence").str.slice(lead).str.strip_chars_end()
    ).filter(pl.col("sentence") != "")
    return (
        bare.with_columns(is_cut=pl.col("sentence").str.len_chars() > max_chars, sentence=_cut(max_chars))
        .with_columns(
            end=pl.col("start") + pl.col("sentence").str.len_chars().cast(pl.Int64),
            number=pl.int_range(pl.len(), dtype=pl.UInt32).over("row"),
        )
        .select(SCHEMA.names())
    )


def _segments(texts: pl.Series) -> pl.DataFrame:
    frame = pl.DataFrame({"sentence": texts.str.extract_all(_SEGMENT)}).with_row_index("row")
    pieces = frame.explode("sentence", empty_as_null=False).filter(pl.col("sentence") != "")
    length = pl.col("sentence").str.len_chars().cast(pl.Int64)
    return pieces.with_columns(start=length.cum_sum().over("row") - length)


def _join(pieces: pl.DataFrame) -> pl.DataFrame:
    """Segments with those joined to the one before that belong to it."""
    before = pl.col("sentence").shift(1).over("row")
    opens = pl.col("sentence").shift(2).over("row").str.ends_with("\n").fill_null(True)
    belongs = (
        before.str.contains(_ABBREVIATION)
        | before.str.contains(_INITIAL)
        | (before.str.contains(_NUMBERED) & pl.col("sentence").str.contains(r"^\d"))
        | (before.str.contains(_BULLET_ONLY) & opens)
        | (before.str.contains(_DAY_NUMBER) & pl.col("sentence").str.contains(_MONTH))
        | (before.str.contains(_WRAPPED) & pl.col("sentence").str.contains(r"^\p{Ll}"))
    )
    block = (~belongs.fill_null(False)).cum_sum()
    return (
        pieces.with_columns(block=block)
        .group_by("block", maintain_order=True)
        .agg(pl.col("row", "start").first(), pl.col("sentence").str.join(""))
        .drop("block")
    )


def _cut(max_chars: int) -> pl.Expr:
    """The sentence, of at most so many characters, cut at the last blank if that is in its second half."""
    head = pl.col("sentence").str.slice(0, max_chars)
    at_blank = head.str.replace(r"\s+\S*$", "")
    is_late = at_blank.str.len_chars() >= max_chars // 2
    is_long = pl.col("sentence").str.len_chars() > max_chars
    return pl.when(is_long).then(pl.when(is_late).then(at_blank).otherwise(head)).otherwise("sentence")
