"""A claim as a sentence, from the template of its predicate."""

from __future__ import annotations

import re
from string import Formatter

import polars as pl

from transforms.claims.lexicon import RELATIVES
from transforms.predicates import ALL_BY_NAME, REMEMBERED

_NO_LONGER = "No longer so: "
_BARE = "{subject} takes back what was said: "
_ASPECT = re.compile(r" \([^()]*\{aspect\}[^()]*\)")
_PHRASE = r"(?i)^(?:(?:early |late )?in the|at|before|after|around|on|by|between|from) "
_TO = r"call|e-?mail|text|ask|tell|send|show|give|warn|remind|contact|with|to|for|from"
_DO = r"have|ask|say|get|need|want|work|travel|send|write|use|do|can|live|approve|sign"
_THIRD_PERSON = (
    (r"\b(?:my|our) (?:own )?", "their "),
    (r"\bmyself\b|\bourselves\b", "themselves"),
    (r"\b(?:mine|ours)\b", "theirs"),
    (rf"\b({_TO}) (?:me|us)\b", "${1} them"),
    (r"\b(?:I'm|I am|we're|we are)\b", "they are"),
    (r"\b(?:I've|we've)\b", "they have"),
    (rf"\b(?:I|we) ({_DO})\b", "they ${1}"),
)
"""First person in an object and what it is in a sentence about the speaker; ``my.cnf`` and ``US`` stay."""


def _filled(template: str) -> pl.Expr:
    """The template with its fields read from columns ``shown``, ``aspect`` and ``object``."""
    parts: list[pl.Expr] = []
    for literal, field, _, _ in Formatter().parse(template):
        if literal:
            parts.append(pl.lit(literal))
        if field:
            parts.append(pl.col({"subject": "shown"}.get(field, field)))
    return pl.concat_str(parts)


def _template(
    operation: str, predicate: str, polarity: str, has_object: bool, has_aspect: bool, is_phrase: bool
) -> str:
    known = ALL_BY_NAME[predicate]
    if not has_object:
        return _BARE + predicate.replace("_", " ") + (" ({aspect})" if has_aspect else "")
    sentence = known.positive if polarity == "positive" else known.negative
    if is_phrase and polarity == "positive" and known.by_aspect and has_aspect:
        sentence = known.by_aspect
    if not has_aspect:
        sentence = _ASPECT.sub("", sentence)
    return sentence if operation == "assert" else _NO_LONGER + sentence


def _in_third_person() -> pl.Expr:
    """The object as said of the speaker; an imported memory keeps its words."""
    text = pl.col("object")
    for pattern, becomes in _THIRD_PERSON:
        text = text.str.replace_all(pattern, becomes)
    return pl.when(pl.col("predicate") == REMEMBERED.name).then("object").otherwise(text).alias("object")


def _tells_more() -> pl.Expr:
    """Whether the aspect is not in the subject or object already: a window seat is a seat."""
    aspect = pl.col("aspect")
    is_said = pl.any_horizontal(
        pl.col(name).str.to_lowercase().str.contains(aspect, literal=True) for name in ("subject", "object")
    )
    return (aspect != "") & ~is_said


def sentence_of(claims: pl.DataFrame) -> pl.Series:
    """The sentence of each claim.

    Args:
        claims: Columns operation, subject, predicate (known), aspect, object, polarity, speaker; the
            subject ``user`` is shown by the speaker's name, or as ``The user``, and a relative as theirs.

    Returns:
        String series ``fact``, a row each, in order.
    """
    name = pl.when(pl.col("speaker").str.strip_chars() != "").then("speaker").otherwise(pl.lit("The user"))
    subject = pl.col("subject")
    is_kin = subject.str.to_lowercase().is_in(RELATIVES.split("|"))
    rows = claims.select(
        "operation", "predicate", "polarity", "aspect",
        object=_in_third_person(),
        shown=pl.when(subject == "user")
        .then(name)
        .when(is_kin)
        .then(name + "'s " + subject)
        .otherwise(subject),
        has_object=pl.col("object") != "",
        has_aspect=_tells_more(),
        is_phrase=pl.col("object").str.contains(_PHRASE),
    ).with_row_index("row")  # fmt: skip
    forms = ["operation", "predicate", "polarity", "has_object", "has_aspect", "is_phrase"]
    parts = [
        part.select("row", fact=_filled(_template(*form)))
        for form, part in rows.partition_by(forms, as_dict=True).items()
    ]
    if not parts:
        return pl.Series("fact", [], dtype=pl.String)
    return pl.concat(parts).sort("row")["fact"]
