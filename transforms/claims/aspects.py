"""Aspects: which seat, drink, format or limit a claim is about, in one word for many phrasings."""

from __future__ import annotations

import polars as pl

from transforms.claims.keys import key_of

ALIASES: dict[str, str] = {
    alias: aspect
    for aspect, aliases in {
        "seat": "seats|seating|seat on flights|plane seat|flight seat|airplane seat|seat preference"
        "|sitzplatz|asiento|siège|座位|席",
        "drink": "drinks|beverage|beverages|hot drink|morning drink|getränk|bebida|boisson|饮料|飲み物",
        "food": "meal|meals|dish|essen|comida|nourriture",
        "lodging": "accommodation|accommodations|stay|stays|hotel|hotels|hostel|hostels|unterkunft"
        "|alojamiento|hébergement|宿",
        "language": "languages|reply language|language of replies|sprache|idioma|langue|语言|言語",
        "format": "output format|report format|write up|write ups|answer format|style|reply style"
        "|format of answers",
        "money format": "amounts|amount format|currency|currency format|money|number format",
        "units": "unit|measurement|measurements|unit system|einheiten|unidades|unités",
        "meeting hour": "meeting time|meetings|meeting|meeting hours|call time|calls",
        "study hour": "study time|study|studying|practice time|practice hour|practice|learning time",
        "workout hour": "workout|workouts|exercise time|gym time|training time",
        "editor": "ide|code editor|text editor",
        "theme": "ui theme|colour theme|color theme|mode|appearance",
        "shell": "terminal shell",
        "airline": "airlines|carrier",
        "transport": "transportation|travel mode|way of travel|getting around",
        "room": "hotel room|room type",
        "contact": "contact channel|contact method|channel|notifications|notification channel",
        "date format": "dates|format of dates",
        "time format": "times|clock|format of times",
        "length": "answer length|reply length|verbosity|length of answers",
        "tone": "tone of replies|register",
        "name": "form of address|how to be addressed|nickname",
        "desk": "workplace desk",
        "colour": "color|favourite colour|favorite color",
        "rate": "rate limit|request rate|requests|requests per minute|api rate",
    }.items()
    for alias in aliases.split("|")
}
"""Other names of an aspect, as keys."""


def aspect_of(names: pl.Series) -> pl.Series:
    """The one name of each aspect: its key, by its alias where it has one.

    Args:
        names: String; as an extractor wrote it.

    Returns:
        String series of the same name and length.
    """
    keys = key_of(names)
    return keys.replace(list(ALIASES), list(ALIASES.values()))
