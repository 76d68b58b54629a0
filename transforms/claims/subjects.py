"""Whom or what a claim is about."""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"(?:i|we|my|our|us|me|myself)$", re.IGNORECASE)
_RELATIVE = re.compile(r"my\s+(.*?)(?:,?\s+(?-i:[^\W\d_a-z])\S*)?$", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:the|our|my|an?|all|any|every)\s+", re.IGNORECASE)
_OVER = re.compile(
    r"(?:anything|everything|all|amounts?|sums?|refunds?|payments?|payouts?|what is)\s+(?:above"
    r"|over|beyond)\s+(.*)$",
    re.IGNORECASE,
)


def subject_of(text: str | None) -> str:
    """The subject that a rule caught: ``user`` for the first person, ``sister`` for my sister Odile."""
    if text is None or _FIRST_PERSON.match(text.strip()):
        return "user"
    text = text.strip(" ,")
    relative = _RELATIVE.match(text)
    if relative and text[:3].lower() == "my ":
        return relative[1].strip(" ,").lower()
    found = _DETERMINER.match(text)
    text = text[found.end() :] if found else text
    over = _OVER.match(text)
    return f"amounts above {over[1]}" if over else text
