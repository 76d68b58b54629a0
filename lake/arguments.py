"""Arguments of recall as callers pass them: a wrong one is a ``UsageError`` that says what to pass."""

from __future__ import annotations

import operator
from collections.abc import Collection
from datetime import UTC, datetime

from transforms.errors import UsageError

MOST_ROWS = 10_000
MOST_TOKENS = 10_000_000


def question(query: object) -> str:
    """A query that is text with something in it.

    Raises:
        UsageError: It is not.
    """
    if not isinstance(query, str):
        raise UsageError(f"the query is {_type(query)}, not text", "Pass a str.")
    if not query.strip():
        raise UsageError("the query is empty", "Say what to look for.")
    return query


def count(name: str, value: object, most: int) -> int:
    """A whole number from 1 to ``most``.

    Raises:
        UsageError: It is not; ``name`` says which one.
    """
    remedy = f"Pass a whole number from 1 to {most:,}."
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise UsageError(f"{name} is {_type(value)}, not a whole number", remedy)
    if not 1 <= number <= most:
        raise UsageError(f"{name} is {number if number.bit_length() < 64 else 'out of range'}", remedy)
    return number


def instant(as_of: object) -> datetime | None:
    """An aware datetime, or ISO 8601 text with a zone, in UTC; None stays None.

    Raises:
        UsageError: It is anything else.
    """
    remedy = "Pass an aware datetime, or ISO 8601 text with a zone such as 2026-06-30T12:00:00Z."
    if as_of is None:
        return None
    if isinstance(as_of, str):
        try:
            as_of = datetime.fromisoformat(as_of)
        except ValueError as error:
            raise UsageError("as_of is no ISO 8601 time", remedy) from error
    if not isinstance(as_of, datetime):
        raise UsageError(f"as_of is {_type(as_of)}, not a time", remedy)
    if as_of.utcoffset() is None:
        raise UsageError("as_of has no time zone", remedy)
    try:
        return as_of.astimezone(UTC)
    except OverflowError as error:
        raise UsageError("as_of lies outside the calendar in UTC", remedy) from error


def names(name: str, given: object, known: Collection[str]) -> tuple[str, ...] | None:
    """Some of the known names, from a list, tuple or set; None stays None.

    Raises:
        UsageError: It is none of these, empty, or holds another name.
    """
    if given is None:
        return None
    remedy = f"Pass a list of some of {', '.join(sorted(known))}."
    if not isinstance(given, list | tuple | set | frozenset):
        raise UsageError(f"{name} is {_type(given)}, not a list", remedy)
    if not given:
        raise UsageError(f"{name} is empty", remedy)
    strange = [value for value in given if not (isinstance(value, str) and value in known)]
    if strange:
        raise UsageError(f"{name} holds {ascii(strange[0])[:40]}, which is none", remedy)
    return tuple(given)


def _type(value: object) -> str:
    return type(value).__name__
