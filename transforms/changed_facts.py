"""What messages that no night has read say of a fact: that it holds, that it ended, that it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from transforms.fact_keys import USER, Fact
from transforms.predicates import SINGLE_VALUED
from transforms.question_words import folded, words_of

if TYPE_CHECKING:
    from transforms.claims.read import Reading
    from transforms.claims.rule import Rule


@dataclass(frozen=True)
class Said:
    """A message of the person that a fact is of.

    Attributes:
        text: What it says.
        at: When, with time zone.
    """

    text: str
    at: datetime


class _Verdict(NamedTuple):
    """Of a message on a fact: ``holds``, ``ended``, or ``changed`` to a value, folded."""

    what: str
    value: str = ""


def readings(predicate: str, said: Said) -> list[Reading]:
    """What the rules read of a predicate in a message; questions and suppositions claim nothing."""
    from transforms.claims.read import read  # a search without such a fact needs no rules

    rules, every_cue = _rules(predicate)
    low = said.text.lower().replace("\u2019", "'")
    cues = [cue for cue in every_cue if cue in low]
    live = [rule for rule in rules if not rule.cue_set.isdisjoint(cues)]
    return [one for one in read(said.text, said.at, live, cues) if one.predicate == predicate] if live else []


@cache
def _rules(predicate: str) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """Rules that may read a predicate, in order, and what a text must hold for one of them to match."""
    from transforms.claims.rules import USER_RULES

    rules = tuple(rule for rule in USER_RULES if predicate in (rule.predicate, rule.otherwise))
    return rules, tuple(sorted({cue for rule in rules for cue in rule.cue_set}))


def changed_by(fact: Fact, messages: Sequence[Said], as_of: datetime) -> list[int]:
    """Positions of the messages that hold instead of a fact.

    The newest that says anything of the fact's key decides. A new value is only one of a predicate that has
    one value at a time: who likes tea may still like coffee.

    Args:
        fact: As the night left it.
        messages: Later than its last confirmation, in any order.
        as_of: When it is asked: a move next month is none yet.

    Returns:
        Ascending: those that say the newest value, and those that say the old one is over.
    """
    order = sorted(range(len(messages)), key=lambda place: (messages[place].at, place), reverse=True)
    found: list[int] = []
    value: str | None = None
    for place in order:
        verdict = _verdict(fact, messages[place], as_of)
        if verdict is None:
            continue
        if verdict.what == "holds":
            break
        if verdict.what == "changed" and value is None:
            value = verdict.value
        if verdict.what == "ended" or verdict.value == value:
            found.append(place)
    return sorted(found)


def _verdict(fact: Fact, said: Said, as_of: datetime) -> _Verdict | None:
    """What a message says of a fact's key; of several things a new value, then that it ended."""
    told: dict[str, _Verdict] = {}
    for reading in readings(fact.predicate, said):
        if not _is_of(fact, reading) or not _holds_at(reading, as_of):
            continue
        same = _is_same(reading.object, fact.object)
        if reading.operation != "assert" or reading.rule.polarity != "positive":
            if same:
                told["ended"] = _Verdict("ended")
        elif same:
            told["holds"] = _Verdict("holds")
        elif fact.predicate in SINGLE_VALUED:
            told["changed"] = _Verdict("changed", folded(reading.object).strip())
    return next((told[what] for what in ("changed", "ended", "holds") if what in told), None)


def _is_of(fact: Fact, reading: Reading) -> bool:
    """Whether a reading has a fact's subject and aspect."""
    mine, other = folded(fact.subject or USER), folded(reading.subject or USER)
    return mine == other and folded(fact.aspect) == folded(reading.aspect)


def _holds_at(reading: Reading, at: datetime) -> bool:
    since, until = reading.valid_from, reading.valid_until
    return (since is None or since <= at) and (until is None or until > at)


def _is_same(one: str, other: str) -> bool:
    """Whether two objects name one thing: Graz, and Graz in Austria. None at all names any."""
    left, right = set(words_of(one)), set(words_of(other))
    return left <= right or right <= left
