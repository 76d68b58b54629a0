"""Facts that answer through another: *X works at Y, Y is in Z*, asked of X."""

from __future__ import annotations

from transforms.fact_keys import (
    NOT_EVEN_A_HINT,
    USER,
    WEAK,
    Asking,
    Fact,
    FactKeys,
    Hit,
    names_aspect,
    predicate_stems,
)
from transforms.named_facts import hit_of, named_subjects

LEADS = 0.75
"""Strength from which a fact reached through another is what was asked for."""


def hops(text: str, keys: FactKeys, *, most: int) -> list[Hit]:
    """Facts that answer through another: *X works at Y, Y is in Z*, asked of X.

    The question names one end of the first fact and hints at the predicate or aspect of the second, but
    does not name what joins both.

    Args:
        text: The question.
        keys: Facts of the scope.
        most: Most facts, first ones and second ones together.
    """
    asked = Asking.of(text)
    named = named_subjects(asked, keys)
    found: dict[str, Hit] = {}
    for place in keys.touched(asked, named):
        fact = keys.facts[place]
        subject, thing = keys.subjects[place], keys.objects[place]
        starts = subject in named or (fact.subject == USER and not named and asked.is_first_person)
        if not starts or not thing or thing <= asked.stems or not _links(asked, fact, thing):
            continue
        for second in _about(thing, keys):
            after = keys.facts[second]
            strength = _hint(asked, after)
            if second != place and strength:
                found.setdefault(fact.id, hit_of(fact, 0.7, f"leading to {fact.object}"))
                found.setdefault(after.id, hit_of(after, strength, f"way of {fact.object}", through=fact.id))
    return sorted(found.values(), key=lambda hit: -hit.strength)[:most]


def _links(asked: Asking, fact: Fact, thing: frozenset[str]) -> bool:
    """Whether a question speaks of the tie itself: my employer, my sister."""
    return bool(predicate_stems(fact.predicate) & asked.every - NOT_EVEN_A_HINT) or bool(thing & asked.stems)


def _hint(asked: Asking, fact: Fact) -> float:
    hint = predicate_stems(fact.predicate) & asked.every
    if hint - WEAK or (fact.aspect and names_aspect(asked, fact.aspect)):
        return 0.8
    return 0.65 if hint else 0.0


def _about(thing: frozenset[str], keys: FactKeys) -> list[int]:
    """Facts whose subject is an object, or a name inside it: daughter Ana, and Ana."""
    exact = keys.by_subject.get(thing, [])
    if exact or len(thing) == 1:
        return list(exact)
    return [place for one in thing for place in keys.by_subject.get(frozenset({one}), [])]
