"""How a rule is written: an expression with named groups, cues without which it cannot match, a claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from transforms.claims.lexicon import LANGUAGES, OCCUPATIONS, PETS, RELATIVES

Level = Literal["firm", "stated", "reported"]
"""How sure: said of now and for good, said, or passed on from somebody else."""

_NAME = (
    r"(?-i:(?!(?:I|He|She|It|They|This|That|There|Who|You|We|The|And|But|Everyone|Everybody|Nobody"
    r"|Someone|People|Here|What|Which|If|My|Our|No|Yes|So|Then|One|All|Today|Monday|Tuesday"
    r"|Wednesday|Thursday|Friday|Saturday|Sunday|Tomorrow|Please|When|In|On|At|For|From|As|Just|Not"
    r"|Also|Only|After|Before|Now|Since|While|Still|Sorry"
    r"|Thanks)\b)[^\W\d_a-z][\w-]*+(?:'[A-Z]\w+)?)"
)
_PLACE = (
    r"(?:the )?(?-i:[^\W\d_a-z][\w'.-]*(?:(?:,? (?:of |de |del |la |upon |on |am |an der |sur |the "
    r")*)(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|(?:January|February|March|April|May|June|July|August"
    r"|September|October|November|December)\b)[^\W\d_a-z][\w'.-]*){0,3})"
)
_MONTHS = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan"
    r"|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_DAYS = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_DATE = (
    rf"(?:(?:the )?(?:{_DAYS},? )?(?:the )?(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? "
    rf"{_MONTHS}(?:,? \d{{4}})?|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:next |this )?{_DAYS}"
    rf"|(?:next )?{_MONTHS}(?: \d{{4}})?|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}"
    r"|(?:the )?\d{1,2}(?:st|nd|rd|th)|tomorrow|the end of (?:the |this |next )?\w+|next (?:week|month"
    r"|year)))"
)
_MONEY = (
    r"(?:(?:eur|usd|gbp|chf|inr|jpy|us\$|[€$£¥₹]) ?\d[\d.,]*\d?k?|\d[\d.,' ]*\d?k?(?: ?(?:euros?|eur"
    r"|dollars?|usd|bucks|pounds|gbp|quid|yen|francs|chf|rupees|crowns|kronor|zloty|[€$£¥₹])|(?= an? "
    r"(?:night|month|week|day|year|head|person))))"
    r"(?: ?(?:an?|per|/|each) ?(?:night|month|week|day|year|head|person|hour|seat|user))?"
)
_FILLERS = (
    r"(?:(?:and|but|so|also|actually|honestly|well|yes|yeah|yep|no|nope|ok|okay|hi|hello|hey|sorry|thanks"
    r"|thank you|oh|ah|btw|fyi|besides|plus|note|please note"
    r"|for the record|frankly|personally|these days|nowadays|from now on|currently|right now|lately"
    r"|remember|to be clear|just so you know|as you know|by the way|between us|in general|generally|usually"
    r"|normally|sadly|luckily|finally|unfortunately|one more thing|again|then|now|today|for \w+-?\w*"
    r"|because|since|as|in fact|ugh|good|great|well then|sure"
    rf"|(?:from|since|starting|in|as of|on) (?:next |last )?(?:{_MONTHS}|{_DAYS}|autumn|summer|winter"
    r"|spring|week|month|year|today|tomorrow|\d{4})"
    r"|one|two|correction|update|reminder|good news|please|also note|do note|of course)[,:!.]? )"
)
_LEAD = re.compile(
    r"^[\W_]*|[,:(!\x00\u2013\u2014-] |\b(?:and|but|so|because|since|that|as|now on|says|said|told me"
    r"|tells me|told us|confirms|confirmed) ",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?: (?:really|always|usually|mostly|generally|normally|often|typically|currently|now|still"
    r"|just|actually|also|only|both|definitely|honestly|absolutely|personally|much|strongly"
    r"|secretly|totally|do|simply|recently|finally|mainly|quite|truly|nearly always|almost always"
    r"|regularly|officially))*"
)
_PERSON = (
    rf"(?P<s>i|we|my (?:{RELATIVES})(?:,? {_NAME},?)?|(?:the|our) (?:patient|guest|child|baby)"
    rf"|{_NAME})"
)
MACROS = {
    "{I}": rf"(?:i|we){_ADVERBS}",
    "{Im}": rf"(?:i'm|i am|im|we're|we are|i've been|we've been){_ADVERBS}",
    "{Ive}": rf"(?:i've|i have|i|we've|we have|we){_ADVERBS}",
    "{S}": rf"{_PERSON}{_ADVERBS}",
    "{be}": rf"(?:'m|'re|'s| am| are| is){_ADVERBS}",
    "{NOT}": r"(?:don't|do not|doesn't|does not|dont|can't|cannot|can not|never|no longer)",
    "{NAME}": _NAME,
    "{PLACE}": _PLACE,
    "{DATE}": _DATE,
    "{MONEY}": _MONEY,
    "{LANG}": rf"(?:{LANGUAGES})",
    "{OCC}": rf"(?:{OCCUPATIONS})",
    "{REL}": rf"(?:{RELATIVES})",
    "{PET}": rf"(?:{PETS})",
    "{END}": r"(?=\s*(?:[.,;:!?)\x00]|$))",
    "{MONTH}": _MONTHS,
}


_FILLER = re.compile(_FILLERS, re.IGNORECASE)
_MOST_FILLERS = 4


def clause_starts(text: str) -> list[int]:
    """Where a clause of the speaker's own may start in a sentence, before and after words like also."""
    starts: list[int] = []
    for lead in _LEAD.finditer(text):
        start = lead.end()
        starts.append(start)
        for _ in range(_MOST_FILLERS):
            filler = _FILLER.match(text, start)
            if not filler:
                break
            start = filler.end()
            starts.append(start)
    return sorted(set(starts))


@dataclass(frozen=True)
class Rule:
    """One rule.

    Args:
        predicate: What it claims.
        cues: Lower-case strings, ``|`` between them; a text without any of them cannot match.
        pattern: Expression, case ignored, ``{…}`` from ``MACROS``; after ``{L}`` it matches only where a
            clause starts. Group ``o`` is the object, ``s`` the subject (absent or first person: the user),
            ``w`` whose the subject is, ``a`` the aspect, ``r`` what goes before the object.
        level: How sure.
        polarity: Of the claim.
        operation: Of the claim.
        aspect: Fixed aspect; ``?`` for what the object is a choice of, ``=`` for the kind of amount, ``s``
            for the subject.
        otherwise: With ``?``: the predicate where no list has the object; empty for no claim.
        is_list: Whether the object names several, each a claim.
        keeps_time: Whether time expressions belong to the object.
        shape: Object from its text, as ``no {}``; with ``|`` between them several, each a claim.
        most_words: A longer object is no such object.
        flags: ``anywhere``: also in a question; ``reported``: also in others' words, then less sure;
            ``conditional``: also after if; ``unreal``: also after could or would; ``loose``: with commas in
            the object; ``not_a_choice``: not where the object is a choice of ``lexicon.ASPECT_WORDS``;
            ``whole``: the claim has no object, ``o`` only says where it stands.
    """

    predicate: str
    cues: str
    pattern: str
    level: Level = "stated"
    polarity: str = "positive"
    operation: str = "assert"
    aspect: str = ""
    otherwise: str = ""
    is_list: bool = False
    keeps_time: bool = False
    shape: str = "{}"
    most_words: int = 9
    flags: tuple[str, ...] = ()

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression; made when a text first holds a cue, as most runs need few of them."""
        text = self.pattern.removeprefix("{L}")
        for name, becomes in MACROS.items():
            text = text.replace(name, becomes)
        return re.compile(text, re.IGNORECASE)

    @cached_property
    def cue_set(self) -> frozenset[str]:
        """The cues one by one."""
        return frozenset(self.cues.split("|"))

    @cached_property
    def is_anchored(self) -> bool:
        """Whether it matches only where a clause starts."""
        return self.pattern.startswith("{L}")

    def matches(self, text: str, starts: Sequence[int]) -> list[re.Match[str]]:
        """Where the rule matches: an anchored one at the starts of clauses, another anywhere."""
        if not self.is_anchored:
            return list(self.compiled.finditer(text))
        found = (self.compiled.match(text, start) for start in starts)
        return [match for match in found if match]
