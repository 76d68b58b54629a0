"""Answers to scripted questions judged: what leaked, what was stale, what crowded out the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from transforms.bm25 import words
from transforms.evaluation.scenarios import Ask, Person, Suite

SIMILAR = 0.6
"""Share of words that two rows have in common from which one repeats the other (Jaccard). "As I said, my
parcel goes to 9 Elm Street" and the same without its first three words: 0.7."""


@dataclass(frozen=True)
class Shown:
    """One row of an answer: its text, the ids in the suite of what it rests on, whose it is."""

    text: str
    rests_on: tuple[str, ...]
    is_derived: bool
    user: str | None


@dataclass(frozen=True)
class Told:
    """What a question brought: rows of ``search``, facts as texts, and the packed context."""

    rows: tuple[Shown, ...]
    facts: tuple[str, ...]
    context: str


@dataclass
class Measure:
    """A count out of so many.

    Attributes:
        meaning: What is counted.
        of: Out of how many.
        is_good: Whether more is better.
        is_hard: Whether anything but 0 fails the run.
    """

    meaning: str
    unit: str
    is_good: bool = False
    is_hard: bool = False
    count: int = 0
    of: int = 0

    def add(self, count: int, of: int = 1) -> None:
        """Count on."""
        self.count += count
        self.of += of

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        ratio = self.count / self.of if self.of else None
        return {
            "meaning": self.meaning,
            "unit": self.unit,
            "count": self.count,
            "of": self.of,
            "ratio": ratio,
            "more_is": "better" if self.is_good else "worse",
            "must_be_none": self.is_hard,
        }


def _measures() -> dict[str, Measure]:
    return {
        "leaked": Measure("content of other users or tenants", "texts", is_hard=True),
        "deleted_seen": Measure("erased content seen", "texts", is_hard=True),
        "expired_seen": Measure("rows past their time seen", "rows", is_hard=True),
        "unproven": Measure("erasures whose proof failed", "erasures", is_hard=True),
        "injected_seen": Measure("injected instructions served", "rows"),
        "right_first": Measure("right answer at rank 1", "questions", is_good=True),
        "right_found": Measure("right answer in the top k", "questions", is_good=True),
        "script_found": Measure("found in scripts without blanks, and emoji", "questions", is_good=True),
        "changed_first": Measure("changed value at rank 1", "questions", is_good=True),
        "changed_found": Measure("changed value in the top k", "questions", is_good=True),
        "changed_first_fresh": Measure("changed value at rank 1 before the night", "questions", is_good=True),
        "stale_rows": Measure("superseded content among the rows of changed values", "rows"),
        "stale_first": Measure("superseded content above the value that holds", "questions"),
        "stale_facts": Measure("superseded or retracted facts told as current", "questions"),
        "past_first": Measure("as-of: what held then at rank 1", "questions", is_good=True),
        "past_facts": Measure("as-of: facts told as they were then", "questions", is_good=True),
        "future_rows": Measure("as-of: content that was not known yet", "rows"),
        "crowding": Measure("pairs of rows in an answer that say the same", "pairs"),
        "crowded_found": Measure("what else was said, found beside repetitions", "questions", is_good=True),
    }


@dataclass
class Judge:
    """Counts over the answers of a suite.

    Attributes:
        suite: The suite.
        measures: Counts by name.
        faults: What failed a hard measure, in words, with the question.
        missed: By measure, the questions that went wrong by it.
    """

    suite: Suite
    measures: dict[str, Measure] = field(default_factory=_measures)
    faults: list[str] = field(default_factory=list)
    missed: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up whose the rows are."""
        self._owners = self.suite.owners()
        self._stage = ""

    def judge(
        self,
        ask: Ask,
        told: Told,
        *,
        erased: Sequence[str],
        gone: frozenset[str],
        is_fresh: bool,
        stage: str = "",
    ) -> None:
        """Count one answer.

        Args:
            ask: The question.
            told: What it brought.
            erased: Words that may be seen nowhere by now.
            gone: Ids of rows past their time, unless the question is about an instant before.
            is_fresh: Whether it was asked before the night.
            stage: Where in the suite, to be told with what went wrong.
        """
        self._stage = f"{stage}, before the night" if is_fresh else stage
        self._boundaries(ask, told, erased)
        late = [r for r in told.rows if not r.is_derived and gone.intersection(r.rests_on)]
        self._hard("expired_seen", ask, len(late), len(told.rows))
        if ask.kind == "injected":
            self._add("injected_seen", ask, sum(has(r.text, ask.stale) for r in told.rows), len(told.rows))
        similar = sum(_is_same(a.text, b.text) for a, b in combinations(told.rows, 2))
        self._add("crowding", ask, similar, len(told.rows) * (len(told.rows) - 1) // 2)
        if ask.right and ask.kind != "retracted":
            self._answered(ask, told, is_fresh=is_fresh)
        if ask.kind in ("changed", "retracted", "past"):
            self._outdated(ask, told, is_fresh=is_fresh)

    def erased(self, person: Person, fault: str | None) -> None:
        """Count one erasure, and why its proof failed where it did."""
        self.measures["unproven"].add(fault is not None)
        if fault is not None:
            self.faults.append(f"erasing of {person.tenant}/{person.user}: {fault}")

    def _boundaries(self, ask: Ask, told: Told, erased: Sequence[str]) -> None:
        """Nothing of others, nothing erased: in rows, facts and the packed text."""
        foreign = [w for person, held in self.suite.secrets.items() if person != ask.person for w in held]
        texts = [*(r.text for r in told.rows), *told.facts, told.context]
        leaks = sum(has(text, foreign) for text in texts)
        leaks += sum(self._is_foreign(row, ask.person) and not has(row.text, foreign) for row in told.rows)
        self._hard("leaked", ask, leaks, len(texts))
        if erased:
            self._hard("deleted_seen", ask, sum(has(text, erased) for text in texts), len(texts))

    def _is_foreign(self, row: Shown, person: Person) -> bool:
        owners = {self._owners[name] for name in row.rests_on if name in self._owners}
        return bool(owners - {person}) or row.user != person.user

    def _answered(self, ask: Ask, told: Told, *, is_fresh: bool) -> None:
        is_right = [has(row.text, ask.right) for row in told.rows]
        first, found = bool(is_right) and is_right[0], any(is_right)
        if ask.kind != "past":
            self._add("right_first", ask, first)
            self._add("right_found", ask, found)
        if ask.kind == "changed":
            self._add("changed_first", ask, first)
            self._add("changed_found", ask, found)
            if is_fresh:
                self._add("changed_first_fresh", ask, first)
        elif ask.kind == "past":
            self._add("past_first", ask, first)
            self._add("past_facts", ask, any(has(fact, ask.right) for fact in told.facts))
        elif ask.kind == "script":
            self._add("script_found", ask, found)
        elif ask.kind == "crowded":
            self._add("crowded_found", ask, all(any(has(r.text, [w]) for r in told.rows) for w in ask.right))

    def _outdated(self, ask: Ask, told: Told, *, is_fresh: bool) -> None:
        """What no longer holds, or did not hold yet: a text that names both, as a move does, is neither."""
        is_stale = [has(r.text, ask.stale) and not has(r.text, ask.right) for r in told.rows]
        facts = any(has(fact, ask.stale) and not has(fact, ask.right) for fact in told.facts)
        if ask.kind == "past":
            self._add("future_rows", ask, sum(is_stale), len(told.rows))
            return
        is_right = [has(row.text, ask.right) for row in told.rows]
        best = is_right.index(True) if any(is_right) else len(is_right)
        self._add("stale_rows", ask, sum(is_stale), len(told.rows))
        self._add("stale_first", ask, any(is_stale[:best]))
        if not is_fresh:  # facts are derived in the night
            self._add("stale_facts", ask, facts)

    def _add(self, name: str, ask: Ask, count: int, of: int = 1) -> None:
        measure = self.measures[name]
        measure.add(int(count), of)
        if bool(count) != measure.is_good:
            self.missed.setdefault(name, []).append(self._asked(ask))

    def _hard(self, name: str, ask: Ask, count: int, of: int) -> None:
        self.measures[name].add(count, of)
        if count:
            self.faults.append(f"{self.measures[name].meaning}: {count:,}, when {self._asked(ask)}")

    def _asked(self, ask: Ask) -> str:
        """Who asked what, where in the suite, and as of when."""
        then = "" if ask.as_of is None else f", as of {ask.as_of:%Y-%m-%d}"
        return f"{ask.person.tenant}/{ask.person.user} asked: {ask.query} ({self._stage}{then})"


def has(text: str, markers: Sequence[str]) -> bool:
    """Whether a text holds any of the markers, whatever their case."""
    folded = text.casefold()
    return any(marker.casefold() in folded for marker in markers)


def _is_same(one: str, other: str) -> bool:
    a, b = set(words(one)), set(words(other))
    return bool(a | b) and len(a & b) / len(a | b) >= SIMILAR
