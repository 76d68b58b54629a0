"""A claim as a sentence, from the template of its predicate."""

from __future__ import annotations

from string import Formatter

import polars as pl

from transforms.predicates import BY_NAME

_NO_LONGER = "No longer so: "
_BARE = "{subject} takes back what was said: "


def _filled(template: str) -> pl.Expr:
    """The template with its fields read from columns ``shown``, ``aspect`` and ``object``."""
    parts: list[pl.Expr] = []
    for literal, field, _, _ in Formatter().parse(template):
        if literal:
            parts.append(pl.lit(literal))
        if field:
            parts.append(pl.col({"subject": "shown"}.get(field, field)))
    return pl.concat_str(parts)


def _template(operation: str, predicate: str, polarity: str, has_object: bool, has_aspect: bool) -> str:
    known = BY_NAME[predicate]
    if not has_object:
        return _BARE + predicate.replace("_", " ") + (" ({aspect})" if has_aspect else "")
    sentence = known.positive if polarity == "positive" else known.negative
    if not has_aspect:
        sentence = sentence.replace(" ({aspect})", "")
    return sentence if operation == "assert" else _NO_LONGER + sentence


def sentence_of(claims: pl.DataFrame) -> pl.Series:
    """The sentence of each claim.

    Args:
        claims: Columns operation, subject, predicate (known), aspect, object, polarity, speaker; the
            subject ``user`` is shown by the speaker's name, or as ``The user``.

    Returns:
        String series ``fact``, a row each, in order.
    """
    has = (pl.col("object") != "", pl.col("aspect") != "")
    name = pl.when(pl.col("speaker").str.strip_chars() != "").then("speaker").otherwise(pl.lit("The user"))
    rows = claims.select(
        "operation", "predicate", "polarity", "aspect", "object",
        shown=pl.when(pl.col("subject") == "user").then(name).otherwise("subject"),
        has_object=has[0],
        has_aspect=has[1],
    ).with_row_index("row")  # fmt: skip
    forms = ["operation", "predicate", "polarity", "has_object", "has_aspect"]
    parts = [
        part.select("row", fact=_filled(_template(*form)))
        for form, part in rows.partition_by(forms, as_dict=True).items()
    ]
    if not parts:
        return pl.Series("fact", [], dtype=pl.String)
    return pl.concat(parts).sort("row")["fact"]
