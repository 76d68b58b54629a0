"""Since and until when a claim holds, by the times that stand near it in its sentence."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from transforms.claims.times import moments, validity

_CHANGED = re.compile(
    r"\b(?:moved|relocated|started|joined|left|quit|resigned|switched|changed|migrated|stopped|gave up"
    r"|bought|sold|was|hurt|broke|tore|sprained"
    r"|injured|died|cancelled|canceled|decided|agreed|adopted|diagnosed|took|got)\b",
    re.IGNORECASE,
)
"""With these a time in the past says since when."""
_LONG_AGO = timedelta(days=300)
_REACH = 40
"""How many characters after a match a time may stand."""


def holding(text: str, match: re.Match[str], said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Since and until when what a rule caught holds; null where the sentence does not say.

    Args:
        text: The masked sentence.
        match: What the rule caught in it.
        said_at: Which times are anchored on; aware.
    """
    has_changed = bool(_CHANGED.search(match.group()))
    near = [
        m
        for m in moments(text, said_at, is_past=has_changed)
        if m.last >= match.start() - 2
        and m.first <= match.end() + _REACH
        and (has_changed or m.relation != "at")
    ]
    since, until = validity(near)
    if until is not None and until <= (since or said_at):
        until = None
    return since, until


def is_told_late(phrase: str, since: datetime | None, said_at: datetime) -> bool:
    """Whether a change is told long after it happened: things may have changed again since.

    "I moved to Linz in 2019" says less of today than "I live in Graz", and must not replace it.
    """
    return since is not None and since <= said_at - _LONG_AGO and bool(_CHANGED.search(phrase))
