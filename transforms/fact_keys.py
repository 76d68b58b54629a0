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
from transforms.question_words import folded, names_in, stem, stems_of, words_of

MOST_OF_ONE = 100
"""Newest facts of one subject, predicate, aspect or word that are looked at: 2 ms at worst."""
USER = "user"
"""Subject of what people say of themselves."""
_FIRST = frozenset(
    words_of("i me my mine myself we us our i'm ich mein meine mich mir je mon ma mes yo mi mis")
)
WEAK = frozenset(
    map(
        stem,
        words_of(
            "have when where who much going from time like old years use come up due value set work plan"
            " condition home call charge own place study what how"
        ),
    )
)
"""Words of predicates that questions use for much else: they count beside another key only."""
NOT_EVEN_A_HINT = WEAK - frozenset(map(stem, words_of("like work home use own study plan")))
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
        fact: The fact itself; None where only its id is known.
    """

    id: str
    strength: float
    why: str
    predicate: str = ""
    sources: tuple[str, ...] = ()
    is_hop: bool = False
    through: str = ""
    fact: Fact | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Asking:
    """A question as the keys of facts are compared with it.

    Attributes:
        text: Folded.
        stems: Of its words, without those that say nothing about a subject.
        every: Of all its words.
        names: Its words that are names, by their capital.
        is_first_person: Whether it speaks of who asks.
    """

    text: str
    stems: frozenset[str]
    every: frozenset[str]
    names: frozenset[str]
    is_first_person: bool

    @staticmethod
    def of(text: str) -> Asking:
        """The question of a text."""
        words = words_of(text)
        return Asking(
            folded(text),
            frozenset(stems_of(text)),
            frozenset(map(stem, words)),
            frozenset(names_in(text)),
            not _FIRST.isdisjoint(words),
        )


@cache
def predicate_stems(predicate: str) -> frozenset[str]:
    """Stems of the words that people ask for a predicate by."""
    return frozenset(stem(word) for word in words_of(PREDICATE_WORDS.get(predicate, "")))


@cache
def aspect_names(aspect: str) -> tuple[frozenset[str], ...]:
    """Each name of an aspect as stems."""
    names = [aspect, *(alias for alias, main in ALIASES.items() if main == aspect)]
    return tuple(found for name in names if (found := frozenset(stem(w) for w in words_of(name))))


@cache
def _han_aspects(aspect: str) -> tuple[str, ...]:
    """Its names in scripts without spaces, looked for inside the text."""
    names = [aspect, *(alias for alias, main in ALIASES.items() if main == aspect)]
    return tuple(name for name in names if any(c > "\u2fff" for c in name))


def names_aspect(asked: Asking, aspect: str) -> bool:
    """Whether a question names an aspect by any of its names."""
    return any(name <= asked.every for name in aspect_names(aspect)) or any(
        name in asked.text for name in _han_aspects(aspect)
    )


@dataclass
class FactKeys:
    """Facts of a scope, to be asked by the words of questions.

    Attributes:
        facts: Newest confirmed first; the others are made of them.
        subjects: Stems of each fact's subject; of what people say of themselves, of the speaker's name.
        objects: Stems of each fact's object.
        by_subject: Places of the facts of a subject.
        by_object: Places of the facts whose object holds a stem.
        by_predicate: Places of the facts of a predicate.
        by_aspect: Places of the facts of an aspect.
        names: What the user is called, by the facts.
    """

    facts: Sequence[Fact]
    subjects: list[frozenset[str]] = field(default_factory=list)
    objects: list[frozenset[str]] = field(default_factory=list)
    by_subject: dict[frozenset[str], list[int]] = field(default_factory=lambda: defaultdict(list))
    by_object: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_predicate: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_aspect: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for place, fact in enumerate(self.facts):
            subject = frozenset(stems_of(fact.speaker if fact.subject == USER else fact.subject))
            self.subjects.append(subject)
            self.objects.append(frozenset(stems_of(fact.object)))
            if subject:
                self.by_subject[subject].append(place)
            for word in self.objects[-1]:
                self.by_object[word].append(place)
            self.by_predicate[fact.predicate].append(place)
            if fact.aspect:
                self.by_aspect[fact.aspect].append(place)
            if fact.subject == USER and fact.predicate == "name":
                self.names |= set(words_of(fact.object))

    def touched(self, asked: Asking, named: frozenset[frozenset[str]]) -> list[int]:
        """Places of the facts of which a question names anything, ascending."""
        found: set[int] = set()
        for subject in named:
            found.update(self.by_subject[subject][:MOST_OF_ONE])
        for word in asked.stems:
            found.update(self.by_object.get(word, [])[:MOST_OF_ONE])
        for predicate, places in self.by_predicate.items():
            if predicate_stems(predicate) & asked.every:
                found.update(places[:MOST_OF_ONE])
        for aspect, places in self.by_aspect.items():
            if names_aspect(asked, aspect):
                found.update(places[:MOST_OF_ONE])
        return sorted(found)


def keys_of(rows: Iterable[Mapping[str, Any]]) -> FactKeys:
    """Keys of facts, newest confirmed first.

    Args:
        rows: With ``memory_id``, ``subject``, ``predicate``, ``aspect``, ``object``, ``event_at``
            (microseconds since 1970), ``source_refs`` and ``speaker``; those without a predicate are none.
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
