"""Rules applied to one message: what it claims, where it says so, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from transforms.claims.holding import holding
from transforms.claims.lexicon import aspect_in
from transforms.claims.objects import bare, in_plural, is_named, is_thing, parts, points, trimmed, unshouted
from transforms.claims.passages import HOLE, Manner, manner, masked, meant_until, spans
from transforms.claims.rule import Level, Rule, clause_starts
from transforms.claims.subjects import subject_of
from transforms.claims.taken_back import may_be_taken_back, taken_back
from transforms.claims.times import end_of
from transforms.predicates import SINGLE_VALUED


@dataclass(frozen=True)
class Reading:
    """One claim as read; spans are code points of the message."""

    rule: Rule
    subject: str
    predicate: str
    aspect: str
    object: str
    level: Level
    span_start: int
    span_end: int
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    is_taken_back: bool = False

    @property
    def operation(self) -> str:
        """What the claim does: after "forget that" no rule asserts."""
        return "retract" if self.is_taken_back else self.rule.operation


_LOOSE = ("plans", "rule", "decided", "located_at", "goal", "deadline", "born_on")
_TIMELESS = ("deadline", "born_on", "age", "costs", "limit", "budget", "has_relative", "name", "comes_from")
"""Predicates whose times are part of what is claimed, or of something else in the sentence."""


_BYTES = re.compile(r"\d ?[kmgt]i?b\b", re.IGNORECASE)


def read(content: str, said_at: datetime, rules: Sequence[Rule], cues: Sequence[str]) -> list[Reading]:
    """What a user's message claims.

    Args:
        content: The message.
        said_at: Its ``event_at``, which times in it are anchored on.
        rules: In order of precedence; those without a cue in the message may be left out.
        cues: The cues that stand in the message; others may be among them.

    Returns:
        Readings in order of the text. Of two values of one single-valued slot the later one stands.
    """
    text = masked(content)
    found: list[Reading] = []
    until = -1
    for start, end in spans(text):
        sentence = _Sentence(text[start:end], start)
        matches = sentence.matches(rules, cues)
        if not matches:
            continue
        until = meant_until(text, content) if until < 0 else until
        if end > until:
            break
        found += _said(sentence, matches, content, said_at)
    return _settled(found)


@dataclass(frozen=True)
class _Sentence:
    """A masked sentence and where it starts in the content."""

    text: str
    start: int

    def matches(self, rules: Sequence[Rule], cues: Sequence[str]) -> list[tuple[Rule, re.Match[str]]]:
        low = self.text.lower()
        held = [cue for cue in cues if cue in low]
        if not held:
            return []
        live = [rule for rule in rules if not rule.cue_set.isdisjoint(held)]
        starts = sorted({*clause_starts(self.text), *(start for start, _ in taken_back(self.text))})
        return [(rule, match) for rule in live for match in rule.matches(self.text, starts)]


def _said(
    sentence: _Sentence, matches: list[tuple[Rule, re.Match[str]]], content: str, said_at: datetime
) -> list[Reading]:
    """The readings of a sentence's matches that its manner allows; of two that overlap the first rule's."""
    how = manner(sentence.text)
    undone = taken_back(sentence.text)
    taken: list[tuple[int, int]] = []
    found: list[Reading] = []
    for rule, match in matches:
        scope = next(((a, b) for a, b in undone if a <= match.start() < b), None)
        if scope and not may_be_taken_back(rule):
            continue
        if not _is_allowed(rule, _manner_in(sentence.text, scope, how) if scope else how):
            continue
        of_match: list[tuple[int, int]] = []
        for reading, span in _matched(rule, match, sentence, content):
            is_asserted = not scope and rule.operation == "assert"
            if is_asserted and any(a <= span[0] < b for a, b in undone):
                continue
            if any(a < span[1] and span[0] < b for a, b in taken):
                continue
            of_match.append(span)
            if scope:
                found.append(replace(reading, is_taken_back=True))
                continue
            reported = replace(reading, level="reported") if how.is_reported else reading
            found.append(_timed(reported, match, sentence, said_at))
        taken += of_match
    return sorted(found, key=lambda r: (r.span_start, r.span_end))


def _manner_in(text: str, scope: tuple[int, int], how: Manner) -> Manner:
    """How what is taken back was said; I never said is no reason to doubt it, a question is."""
    inner = manner(text[slice(*scope)])
    return replace(inner, is_question=how.is_question, is_conditional=how.is_conditional)


def _is_allowed(rule: Rule, how: Manner) -> bool:
    return not (
        (how.is_unreal and "unreal" not in rule.flags)
        or (how.is_question and "anywhere" not in rule.flags)
        or (how.is_reported and "reported" not in rule.flags)
        or (how.is_conditional and "conditional" not in rule.flags)
    )


def _matched(
    rule: Rule, match: re.Match[str], sentence: _Sentence, content: str
) -> Iterator[tuple[Reading, tuple[int, int]]]:
    """The readings of one match, each with the offsets of its object in the sentence."""
    groups = match.groupdict()
    subject = subject_of(groups.get("s"))
    if groups.get("w"):
        # The ryokan called: the shuttle ... means its own.
        subject = f"{groups['w']}'s {subject}"
    if subject != "user" and not is_named(subject):
        return
    first, text = match.start("o"), match["o"] or ""
    if "whole" in rule.flags:
        aspect = rule.aspect or groups.get("a") or ""
        start, end = sentence.start + match.start(), sentence.start + match.end()
        yield Reading(rule, subject, rule.predicate, aspect, "", rule.level, start, end), match.span("o")
        return
    is_loose = rule.predicate in _LOOSE or "loose" in rule.flags
    members = [(0, len(text))]
    if rule.is_list:
        start, end = trimmed(_unlisted(text), is_loose=True, keeps_time=rule.keeps_time)
        members = [(start + a, start + b) for a, b in parts(text[start:end])]
    for a, b in members:
        start, end = trimmed(text[a:b], is_loose=is_loose, keeps_time=rule.keeps_time)
        start, end = first + a + start, first + a + end
        shown = unshouted(content[sentence.start + start : sentence.start + end])
        if not _is_object(rule, sentence.text, start, end):
            if rule.is_list:
                break
            continue
        for made in _made(rule, groups, subject, shown):
            is_whole = end == match.end("o")
            last = max(end, match.end("s") if groups.get("s") else 0, match.end() if is_whole else 0)
            whole = (sentence.start + min(match.start(), start), sentence.start + last)
            lead = len(content[whole[0] : whole[1]]) - len(content[whole[0] : whole[1]].lstrip(" ,:;-"))
            yield replace(made, span_start=whole[0] + lead, span_end=whole[1]), (start, end)


def _is_object(rule: Rule, text: str, start: int, end: int) -> bool:
    """Whether these characters of a sentence say what is claimed, and all of it."""
    shown = text[start:end]
    return (
        is_thing(shown)
        and len(shown.split()) <= rule.most_words
        and (rule.predicate in _MAY_POINT or not points(shown))
        and HOLE not in shown
        # The watched, read or played thing stood in quotes.
        and not text[end:].lstrip(" ").startswith(HOLE)
    )


_MAY_POINT = ("rule", "located_at", "setting", "version")
_WHERE = re.compile(r"(?:at|in|on) (?=\S)", re.IGNORECASE)
_NEW_CLAUSE = re.compile(
    r"(?:,? (?:and|but|so|or)|,)\s+(?:i|we|my|our|he|she|it|they|you|the|please|so|then|not|never"
    r"|no|there|even|keep|plan|though|one|that|this|need|want|feel|stairs)\b.*",
    re.IGNORECASE,
)


def _unlisted(text: str) -> str:
    """The text up to where a list ends and a new clause starts."""
    return _NEW_CLAUSE.sub("", text)


def read_tool(content: str, rules: Sequence[Rule]) -> list[Reading]:
    """What a tool's output claims: the same rules engine on plain text, without a speaker.

    Args:
        content: The output.
        rules: Rules for tools, in order of precedence.

    Returns:
        Readings in order of the text; a match that names no subject is none.
    """
    whole = _Sentence(content, 0)
    taken: list[tuple[int, int]] = []
    found: list[Reading] = []
    for rule in rules:
        for match in rule.matches(content, (0,)):
            groups = match.groupdict()
            named = groups.get("s") or groups.get("a")
            if not named:
                continue
            for reading, span in _matched(rule, match, whole, content):
                if any(a < span[1] and span[0] < b for a, b in taken):
                    continue
                taken.append(span)
                found.append(replace(reading, subject=bare(named.strip())))
    return _settled(sorted(found, key=lambda r: (r.span_start, r.span_end)))


def _made(rule: Rule, groups: dict[str, str | None], subject: str, shown: str) -> Iterator[Reading]:
    predicate, aspect = rule.predicate, rule.aspect or (groups.get("a") or "")
    if rule.aspect == "?":
        aspect = aspect_in(shown)
        if aspect and rule.otherwise and rule.operation == "retract":
            # A choice may have been read as a mere taste.
            yield Reading(rule, subject, rule.otherwise, "", bare(shown), rule.level, 0, 0)
        if not aspect:
            if not rule.otherwise:
                return
            predicate = rule.otherwise
    elif rule.aspect == "=":
        aspect = "size" if _BYTES.search(shown) else "rate"
    elif rule.aspect == "s":
        aspect = subject
    elif groups.get("a") and predicate in ("budget", "prefers"):
        aspect = aspect_in(aspect) or bare(aspect.strip())
    if "not_a_choice" in rule.flags and aspect_in(shown):
        return
    if predicate == "located_at":
        shown = _WHERE.sub("", shown, count=1) if _WHERE.match(shown) else shown
    before = groups.get("r") or ""
    shown = in_plural(bare(shown)) if predicate == "allergic_to" else bare(shown)
    for shape in rule.shape.split("|"):
        text = shape.format(f"{before} {shown}".strip())
        yield Reading(rule, subject, predicate, aspect, text, rule.level, 0, 0)


def _timed(reading: Reading, match: re.Match[str], sentence: _Sentence, said_at: datetime) -> Reading:
    """The reading with the times that its sentence names, where they are times of the claim."""
    if reading.predicate == "plans" and reading.operation == "assert":
        return replace(reading, valid_until=end_of(reading.object, said_at))
    if reading.rule.keeps_time or reading.predicate in _TIMELESS:
        return reading
    since, until = holding(sentence.text, match, said_at)
    return replace(reading, valid_from=since, valid_until=until)


def _settled(found: list[Reading]) -> list[Reading]:
    """Without earlier values of a single-valued slot that the same message replaces."""
    last: dict[tuple[str, str, str], int] = {}
    for at, reading in enumerate(found):
        if _is_slot(reading):
            last[(reading.subject.lower(), reading.predicate, reading.aspect)] = at
    return [
        reading
        for at, reading in enumerate(found)
        if not _is_slot(reading) or last[(reading.subject.lower(), reading.predicate, reading.aspect)] == at
    ]


def _is_slot(reading: Reading) -> bool:
    return (
        reading.predicate in SINGLE_VALUED
        and reading.operation == "assert"
        and reading.rule.polarity == "positive"
    )
