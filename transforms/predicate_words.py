"""Words by which people ask for a fact of each predicate; full-text search reads them with the fact.

Search knows no word stems and no synonyms: without these, "where does she live" would not find
"lives in".
"""

from __future__ import annotations

import polars as pl

PREDICATE_WORDS: dict[str, str] = {
    "name": "name called",
    "born_on": "born birthday birth",
    "age": "age old years",
    "comes_from": "from origin country come",
    "speaks": "speak language languages",
    "works_as": "work job occupation profession role",
    "works_at": "work employer company job workplace",
    "reports_to": "boss manager report",
    "works_on": "work project",
    "studies": "study studying course exam learn",
    "responsible_for": "who charge responsible sign signs approve approves owner",
    "lives_in": "live living home city town residence moved",
    "located_at": "where address place location located",
    "timezone": "time zone timezone",
    "has_relative": "family relative",
    "has_pet": "pet pets animal",
    "likes": "like likes likes dislikes favourite favorite taste",
    "prefers": "prefer preference like likes choice",
    "habit": "habit usually routine",
    "allergic_to": "allergy allergies allergic intolerance",
    "diet": "diet eat eats food",
    "has_condition": "condition illness health injury",
    "takes": "take medicine medication treatment",
    "plans": "plan plans planning going",
    "goal": "goal goals aim",
    "deadline": "deadline due date when",
    "budget": "budget cost much price",
    "uses": "use uses tool tools",
    "owns": "own owns have",
    "account": "account login username",
    "limit": "limit limits maximum quota",
    "setting": "setting configured value",
    "version": "version",
    "costs": "cost costs price much",
    "decided": "decide decided decision",
    "rule": "rule rules policy",
}


def predicate_words() -> pl.Expr:
    """The words of each row's ``predicate``; empty where it has none."""
    return pl.col("predicate").replace_strict(PREDICATE_WORDS, default="", return_dtype=pl.String)
