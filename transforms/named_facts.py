"""Facts that a question names by their keys."""

from __future__ import annotations

from transforms.fact_keys import (
    USER,
    WEAK,
    Asking,
    Fact,
    FactKeys,
    Hit,
    aspect_names,
    names_aspect,
    predicate_stems,
)
from transforms.predicates import BY_NAME
from transforms.question_words import stem

TIES = ("reports_to", "works_at", "has_relative", "has_pet", "works_on")
"""Predicates whose object is someone or something that has facts of its own."""


def named_facts(text: str, keys: FactKeys, *, most: int, least: float) -> list[Hit]:
    """Facts whose keys a question names, the most fully named first, then the newest confirmed.

    Args:
        text: The question.
        keys: Facts of the scope.
        most: Most facts; a key that more facts than this share singles none out.
        least: Strength below which a fact counts as not named.
    """
    asked = Asking.of(text)
    named = named_subjects(asked, keys)
    touched = keys.touched(asked, named)
    ties = {keys.facts[place].predicate for place in touched if _is_tie(asked, keys, place)}
    found = [
        (strength, place, why)
        for place in touched
        if not _is_of_another(asked, keys.facts[place], ties)
        for strength, why in [_strength(asked, keys, place, named)]
        if strength >= least
    ]
    found.sort(key=lambda hit: (-hit[0], hit[1]))
    kept = _singled_out(found, most)
    return [hit_of(keys.facts[place], strength, why) for strength, place, why in kept]


def hit_of(fact: Fact, strength: float, why: str, *, through: str = "") -> Hit:
    """A fact as it was named."""
    return Hit(fact.id, strength, why, fact.predicate, fact.sources, bool(through), through, fact)


def _singled_out(found: list[tuple[float, int, str]], most: int) -> list[tuple[float, int, str]]:
    """Facts by falling strength, while those of one strength are not too many to mean one of them."""
    kept: list[tuple[float, int, str]] = []
    for level in sorted({strength for strength, _, _ in found}, reverse=True):
        same = [hit for hit in found if hit[0] == level]
        if len(kept) + len(same) > most:
            break
        kept += same
    return kept


def named_subjects(asked: Asking, keys: FactKeys) -> frozenset[frozenset[str]]:
    """Subjects other than the user that the question names in full."""
    return frozenset(
        subject for subject in keys.by_subject if subject <= asked.stems or subject <= asked.every
    )


def _strength(
    asked: Asking, keys: FactKeys, place: int, named: frozenset[frozenset[str]]
) -> tuple[float, str]:
    """How much of a fact's key is named, and what of it."""
    fact = keys.facts[place]
    subject, thing = keys.subjects[place], keys.objects[place]
    by_subject = bool(subject) and subject in named
    is_own = fact.subject == USER
    if not by_subject and (named or not is_own):
        return (0.0, "") if named else _of_object(asked, fact, thing)
    hint = predicate_stems(fact.predicate) & asked.every
    has_aspect = bool(fact.aspect) and names_aspect(asked, fact.aspect)
    has_object = _names_object(asked, thing)
    has_predicate = bool(hint - WEAK) or (bool(hint) and (by_subject or has_object or _is_all(hint, asked)))
    is_covered = _covers(asked, subject, fact, hint | thing)
    strength = 0.0
    if has_aspect and (fact.predicate == "prefers" or hint):
        strength = 1.0 if has_predicate or by_subject else 0.9
    elif has_predicate and is_covered:
        has_which = fact.predicate in BY_NAME and BY_NAME[fact.predicate].has_aspect
        strength = 0.9 if has_object else 0.7 if has_which else 0.8
    elif (by_subject or has_object) and _is_all(subject | thing, asked):
        strength = 0.6  # who is Biscuit?
    may_be_another = strength > 0 and not (by_subject or asked.is_first_person)
    if may_be_another and _strangers(asked, keys, fact, subject | thing):
        strength = max(strength - 0.4, 0.0)
    flags = {"subject": by_subject, "aspect": has_aspect, "predicate": has_predicate, "object": has_object}
    return strength, " and ".join(name for name, flag in flags.items() if flag)


def _is_tie(asked: Asking, keys: FactKeys, place: int) -> bool:
    """Whether a question speaks of whom or what a fact ties the user to: my manager, my sister."""
    fact = keys.facts[place]
    if fact.subject != USER or fact.predicate not in TIES:
        return False
    return bool((predicate_stems(fact.predicate) & asked.every) - WEAK or keys.objects[place] & asked.stems)


def _is_of_another(asked: Asking, fact: Fact, ties: set[str]) -> bool:
    """Whether a question for a fact of the user is about someone tied to him: where my manager lives."""
    others = frozenset().union(*(predicate_stems(tie) for tie in ties if tie != fact.predicate))
    spoken = (others & asked.every) - WEAK - predicate_stems(fact.predicate)
    return fact.subject == USER and fact.predicate not in ties and bool(spoken)


def _covers(asked: Asking, subject: frozenset[str], fact: Fact, key: frozenset[str]) -> bool:
    """Whether a fact's key makes up half of what is asked: *favourite childhood book* asks more."""
    content = asked.stems - subject
    aspects = frozenset().union(*aspect_names(fact.aspect)) if fact.aspect else frozenset()
    return 2 * len(content & (key | aspects)) >= len(content)


def _is_all(part: frozenset[str], asked: Asking) -> bool:
    """Whether a question asks of nothing else."""
    return asked.stems <= part


def _strangers(asked: Asking, keys: FactKeys, fact: Fact, own: frozenset[str]) -> set[str]:
    """Names in a question that are neither the user's nor in the fact: it may be about them."""
    aspects = frozenset().union(*aspect_names(fact.aspect)) if fact.aspect else frozenset()
    return {n for n in asked.names if stem(n) not in own | aspects and n not in keys.names}


def _of_object(asked: Asking, fact: Fact, thing: frozenset[str]) -> tuple[float, str]:
    """A fact about something else than what is asked of, whose object is: who lives in Oslo?"""
    predicate = predicate_stems(fact.predicate) & asked.every
    if _names_object(asked, thing) and predicate - WEAK:
        return 0.8, "predicate and object"
    return 0.0, ""


def _names_object(asked: Asking, thing: frozenset[str]) -> bool:
    """Whether a question names an object: all its words, or its name among them."""
    if not thing:
        return False
    shared = thing & asked.stems
    return shared == thing or any(stem(name) in shared for name in asked.names)
