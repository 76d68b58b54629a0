"""Which facts a question names: by the fact's own words and those of its predicate, whatever the similarity.

A fact is keyed by subject, predicate, aspect and object. A question that names enough of these names the
fact. Two facts join where the object of one is the subject of the other: the question names one end, the
answer lies at the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from transforms.claims.aspects import ALIASES
from transforms.predicate_words import PREDICATE_WORDS
from transforms.predicates import BY_NAME
from transforms.question_words import folded, names_in, stem, stems_of, words_of

USER = "user"
"""Subject of what people say of themselves."""
_FIRST = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our", "i'm", "ich", "mein", "meine", "mich",
                    "mir", "je", "mon", "ma", "mes", "yo", "mi", "mis"})  # fmt: skip
WEAK = frozenset(
    stem(word)
    for word in (
        "have when where who much going from time like old year use come up due value set work plan condition "
        "home call charge own place study going what how"
    ).split()
)
"""Words of predicates that questions use for much else: they count beside another key only."""
NOT_EVEN_A_HINT = WEAK - {
    "like",
    stem("work"),
    stem("home"),
    stem("use"),
    stem("own"),
    stem("study"),
    stem("plan"),
}
"""Of these, words that do not even hint at their predicate alone."""


@dataclass(frozen=True)
class Fact:
    """Keys of one fact.

    Attributes:
        id: Its memory.
        subject: As shown; ``user`` for the speaker.
        predicate: One of ``transforms.predicates``.
        aspect: Empty where it has none.
        object: What is claimed.
        event_us: Last confirmed, microseconds since 1970.
        sources: Ids of the episodes it rests on.
        speaker: Name of who said so; empty where not known. What ``user`` is called.
    """

    id: str
    subject: str
    predicate: str
    aspect: str
    object: str
    event_us: int
    sources: tuple[str, ...] = ()
    speaker: str = ""


@dataclass(frozen=True)
class Hit:
    """A fact that a question names.

    Attributes:
        id: Its memory.
        strength: 0 to 1: how much of its key was named.
        why: What was named.
        predicate: Of the fact.
        sources: Ids of the episodes it rests on.
        is_hop: Whether it was reached through another fact.
        through: That fact.
    """

    id: str
    strength: float
    why: str
    predicate: str = ""
    sources: tuple[str, ...] = ()
    is_hop: bool = False
    through: str = ""


@cache
def predicate_stems(predicate: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(PREDICATE_WORDS.get(predicate, "")))


@cache
def _aspect_names(aspect: str) -> tuple[frozenset[str], ...]:
    """Each name of an aspect as stems."""
    names = [aspect, *(alias for alias, main in ALIASES.items() if main == aspect)]
    return tuple(found for name in names if (found := frozenset(stem(w) for w in words_of(name))))


@cache
def _han_aspects(aspect: str) -> tuple[str, ...]:
    names = [aspect, *(alias for alias, main in ALIASES.items() if main == aspect)]
    return tuple(name for name in names if any(c > "\u2fff" for c in name))


@dataclass
class FactKeys:
    """Facts of a scope, to be asked by the words of questions.

    Attributes:
        facts: Newest confirmed first.
    """

    facts: Sequence[Fact]
    subjects: list[frozenset[str]] = field(default_factory=list)
    objects: list[frozenset[str]] = field(default_factory=list)
    by_subject: dict[frozenset[str], list[int]] = field(default_factory=lambda: defaultdict(list))
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for place, fact in enumerate(self.facts):
            subject = frozenset(stems_of(fact.speaker if fact.subject == USER else fact.subject))
            self.subjects.append(subject)
            self.objects.append(frozenset(stems_of(fact.object)))
            if subject:
                self.by_subject[subject].append(place)
            if fact.subject == USER and fact.predicate == "name":
                self.names |= set(words_of(fact.object))


def keys_of(rows: Iterable[Mapping[str, Any]]) -> FactKeys:
    """Keys of facts, newest confirmed first.

    Args:
        rows: With ``memory_id``, ``subject``, ``predicate``, ``aspect``, ``object``, ``event_at``
            (microseconds since 1970), ``source_refs`` and ``speaker``; rows without a predicate are passed over.
    """
    facts = [
        Fact(
            row["memory_id"],
            row["subject"] or USER,
            row["predicate"],
            row["aspect"] or "",
            row["object"] or "",
            row["event_at"],
            tuple(row["source_refs"] or ()),
            row["speaker"] or "",
        )
        for row in rows
        if row.get("predicate")  # an index of an older version has no keys
    ]
    return FactKeys(sorted(facts, key=lambda fact: (-fact.event_us, fact.id)))


@dataclass(frozen=True)
class Asking:
    text: str
    stems: frozenset[str]
    every: frozenset[str]
    names: frozenset[str]
    is_first_person: bool

    @staticmethod
    def of(text: str) -> Asking:
        words = words_of(text)
        names = names_in(text)
        return Asking(
            folded(text),
            frozenset(stems_of(text)),
            frozenset(map(stem, words)),
            frozenset(names),
            not _FIRST.isdisjoint(words),
        )


def named_facts(text: str, keys: FactKeys, *, most: int, least: float) -> list[Hit]:
    """Facts whose keys a question names, the most fully named first, then the newest confirmed.

    Args:
        text: The question.
        keys: Facts of the scope.
        most: Most facts; a key that more facts than this share singles none out.
        least: Strength below which a fact counts as not named.
    """
    asked = Asking.of(text)
    if not asked.every and not asked.text.strip():
        return []
    named = named_subjects(asked, keys)
    found = [
        (strength, place, why)
        for place, fact in enumerate(keys.facts)
        for strength, why in [_strength(asked, keys, place, fact, named)]
        if strength >= least
    ]
    found.sort(key=lambda hit: (-hit[0], hit[1]))
    kept = _singled_out(found, most)
    return [hit_of(keys.facts[place], strength, why) for strength, place, why in kept]


def hit_of(fact: Fact, strength: float, why: str, *, through: str = "") -> Hit:
    return Hit(fact.id, strength, why, fact.predicate, fact.sources, bool(through), through)


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
    asked: Asking, keys: FactKeys, place: int, fact: Fact, named: frozenset[frozenset[str]]
) -> tuple[float, str]:
    """How much of a fact's key is named, and what of it."""
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
    if (
        strength
        and not by_subject
        and not asked.is_first_person
        and _strangers(asked, keys, fact, subject | thing)
    ):
        strength = max(strength - 0.4, 0.0)
    flags = {"subject": by_subject, "aspect": has_aspect, "predicate": has_predicate, "object": has_object}
    return strength, " and ".join(name for name, flag in flags.items() if flag)


def _covers(asked: Asking, subject: frozenset[str], fact: Fact, key: frozenset[str]) -> bool:
    """Whether a fact's key makes up half of what is asked: *favourite book of her childhood* asks for more."""
    content = asked.stems - subject
    aspects = frozenset().union(*_aspect_names(fact.aspect)) if fact.aspect else frozenset()
    return 2 * len(content & (key | aspects)) >= len(content)


def _is_all(part: frozenset[str], asked: Asking) -> bool:
    """Whether a question asks of nothing else."""
    return asked.stems <= part


def _strangers(asked: Asking, keys: FactKeys, fact: Fact, own: frozenset[str]) -> set[str]:
    """Names in a question that are neither the user's nor in the fact: it may be about them."""
    aspects = frozenset().union(*_aspect_names(fact.aspect)) if fact.aspect else frozenset()
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


def names_aspect(asked: Asking, aspect: str) -> bool:
    return any(name <= asked.every for name in _aspect_names(aspect)) or any(
        name in asked.text for name in _han_aspects(aspect)
    )
