"""Where an object ends, and what is none."""

from __future__ import annotations

import re

_VERBS_NEXT = (
    r"i|i'm|i've|we|we're|my|our|he|she|it|they|you|the|is|am|are|was|were|want|need|needs|don't|do|does"
    r"|did|can|can't|cannot|could|will"
    r"|won't|would|have|has|had|please|so|then|not|never|no|there|let|let's|that|this|if|when|feel|feels"
    r"|see|get|got|tell|send|keep|call|also"
    r"|hate|love|like|dislike|prefer|always|usually|now|still|just|everyone|nobody|mornings|explains?"
    r"|find|write|make|avoid|stay|go|hope|think"
)
_STOP = re.compile(
    r"\s*(?:,(?!\d)|[;:(\[\x00]|\s[\u2013\u2014-]+\s|\.(?:\s|$)|[!?]|\bbut\b|\bbecause\b|\bsince (?:i|we"
    r"|it|the|my|they|he|she|that|there)\b|\bso that\b|\bso (?:i|we|please|keep|the|no|that|it|my|use"
    r"|don't|plan)\b|\bwhich\b|\bwho\b|\bwhose\b|\balthough\b|\bthough\b"
    r"|\bwhile\b|\bwhereas\b|\bwhen(?:ever)?\b|\bunless\b|\bif\b|\bas (?:i|it|they|we|you|he|she|long"
    r"|soon|the|well)\b|\bafter all\b|\binstead(?: of)?\b|\brather than\b|\bin order to\b|\bjust in "
    r"case\b|\bor else\b|\bevery ?time\b|\bthat (?:i|we|you|it|is|are|was)\b"
    r"|\bto (?:keep|avoid|stretch|save|make|get|be)\b|\bafter (?:a|an|one|two|three|four|five|many|all"
    rf"|so many|\d+)\b|\bthe way\b|\b(?:and|or) (?:{_VERBS_NEXT})\b|\bthanks\b|\bok(?:ay)?\b|\blol\b)",
    re.IGNORECASE,
)
_STOP_LOOSE = re.compile(
    r"\s*(?:[;(\[\x00]|\s[\u2013\u2014]+\s|\.(?:\s|$)|[!?]|\bbecause\b|\bso that\b|,? (?:but|so) "
    r"(?:i|we|please|keep|the|no|it|my|use|don't|plan)\b|,\s*(?:i|we|it|so|which|and (?:i|we|it"
    r"|the)|as|the|please|ok|right|thanks|though|flag|who)\b|\bafter all\b)",
    re.IGNORECASE,
)
"""For plans, rules and addresses: a comma is part of them, a new clause is not."""
_TAIL = re.compile(
    r"[\s,]*\b(?:now|from now on|these days|nowadays|at the moment|currently|right now|for now|please|pls"
    r"|too|as well|again|btw|by the way|instead|any ?more|any longer|either"
    r"|always|originally|today|yesterday|last night|last week|this time|next time|in general|generally"
    r"|lately|recently|myself|ourselves|though|mostly|anyway|you know|at all|best|the most|a lot|so much"
    r"|very much|more and more|especially|literally|honestly"
    r"|at home|for (?:me|us)|with me|with us|everywhere|anywhere|on me|more than (?:anything|most)|for "
    r"(?:years|ages|months|weeks|long|good|life|free)|all the time|of course|and (?:so on|all that)"
    r"|already|ever|then|there|since then|twice a day|once a day|daily|in production|for everything|for "
    r"all imports)\s*$",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:this(?! (?:year|month|week|summer|autumn|winter|spring|quarter|weekend|season|time)\b)"
    r"|that|these|those|it|them|him|her|you|your|yours|there|such)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:it|that|this|them|these|those|one|ones|you|him|her|me|us|so|what|how|when|where|why|who"
    r"|everything|something|anything|nothing|none|all|both|neither|either|any|some|much|more|most|less|to"
    r"|the (?:same|idea|way|fact|rest|former|latter|one|ones|thing)\b.*|(?:the )?[\w ]*\bones?|the "
    r"(?:first|second|third|last|next|previous|other|same)(?: (?:option|draft|version|one|idea|plan"
    r"|answer|suggestion|proposal)\b.*)?|(?:your|his|her|their|that|this|these|those|its) .*"
    r"|a (?:lot|bit|question|problem|look|minute|moment|second|feeling|few|million|couple)\b.*|(?:the "
    r")?(?:option|answer|draft|version|idea|plan|suggestion|proposal)s?\b.*|not\b.*|being\b.*|be\b.*|in\b"
    r"|on\b|at\b|it\b.*|if\b.*|how\b.*|what\b.*|when\b.*|that\b.*|you\b.*|and\b.*|or\b.*|of\b.*|(?:a "
    r"|some |another |the )?(?:(?:new|big|small|little|cool|fun|special|secret|own|few|couple of|side) "
    r")*(?:projects?|things?|stuff|ideas?|ton|tons|lot|lots|while|bit|hard|real hard|so hard)|where\b.*"
    r"|why\b.*|who\b.*|which\b.*)",
    re.IGNORECASE,
)
_TIMES = (
    r"(?:early |late )?(?:(?:in|on|since|from|by|until|till|starting|around|back in|at the (?:start|end) "
    r"of) )?(?:(?:the )?(?:last|this|next|past|coming) (?:week(?:end)?|month|year|spring|summer|autumn"
    r"|fall|winter|quarter"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june"
    r"|july|august|september|october|november|december)|yesterday|tomorrow|tonight"
    r"|(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of) (?:days?|weeks?"
    r"|months?|years?) ago"
    r"|(?<=in )(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)(?: \d{4})?|(?<=since )(?:last )?\w+(?: \d{4})?|(?<=from )(?:january|february|march|april"
    r"|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday)"
    r"|(?<=in )(?:19|20)\d\d"
    r"|(?<=until )[\w ]+|(?<=till )[\w ]+|(?:for (?:the (?:last|past) )?(?:about |almost |over )?(?:\w+"
    r"|a few|a couple of) (?:days|weeks|months|years))|this quarter|the start of the year)"
)
_TIME_TAIL = re.compile(rf"[\s,]*\b{_TIMES}\s*$", re.IGNORECASE)
_ORNAMENT = re.compile(r"[\s\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]+$")
_ARTICLE = re.compile(r"(?:an?|the)\s+(?=\S)", re.IGNORECASE)


def _cut(text: str, *, is_loose: bool) -> str:
    found = (_STOP_LOOSE if is_loose else _STOP).search(text)
    return text[: found.start()] if found else text


def trimmed(text: str, *, is_loose: bool, keeps_time: bool) -> tuple[int, int]:
    """First and last-plus-one characters of the object inside the text that a rule caught.

    Args:
        text: What the rule caught, up to the end of the sentence or less.
        is_loose: Whether commas belong to the object.
        keeps_time: Whether time expressions do.

    Returns:
        Offsets; equal where nothing is left.
    """
    kept = _cut(text, is_loose=is_loose)
    while True:
        shorter = _TAIL.sub("", kept)
        if not keeps_time:
            shorter = _TIME_TAIL.sub("", shorter)
        shorter = shorter.rstrip(" ,:;-\u2013\u2014.!?'\u3002\u3001")
        shorter = _ORNAMENT.sub("", shorter) or shorter
        if shorter == kept:
            break
        kept = shorter
    start = len(kept) - len(kept.lstrip(" ,:'-"))
    return start, max(start, len(kept))


def bare(text: str) -> str:
    """The text without an article before it."""
    return _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text


_COUNTED = re.compile(
    r"(?:.* )?(?:nut|peanut|walnut|hazelnut|cashew|almond|egg|prawn|cat|dog|horse|bee|wasp|tomato|mango"
    r"|oyster|mussel"
    r"|lentil|mushroom|tree nut)",
    re.IGNORECASE,
)


def in_plural(text: str) -> str:
    """An allergen in one number, so that a nut allergy is one to nuts."""
    if not _COUNTED.fullmatch(text):
        return text
    return text + ("es" if text.lower().endswith(("to", "go")) else "s")


_PLAIN_FIRST = re.compile(
    r"(?:Always|Never|No|All|Every|Each|Only|Don't|Do not|Under|Light|Dark|Short|Shorter|Long|Longer|More"
    r"|Brief"
    r"|Meetings|Calls|Window|Aisle)(?= [a-z])"
)


def unshouted(text: str) -> str:
    """The text without the capital that only the start of a sentence gave it; names keep theirs."""
    return text[:1].lower() + text[1:] if _PLAIN_FIRST.match(text) else text


def is_thing(text: str) -> bool:
    """Whether an object says something by itself, rather than pointing at what was said before."""
    return bool(text) and not _NOTHING.fullmatch(text) and any(c.isalnum() for c in text)


_NOBODY = re.compile(
    r"(?:it|that|this|them|these|those|one|ones|you|your|him|her|he|she|they|us|so|what|which|who|whoever"
    r"|whatever|there|here"
    r"|everyone|everybody|everything|someone|somebody|something|anyone|anything|nobody|nothing|people|all"
    r"|some|each|not)\b.*",
    re.IGNORECASE,
)


def is_named(text: str) -> bool:
    """Whether a subject is somebody or something by a name of its own."""
    return any(c.isalnum() for c in text) and not _NOBODY.fullmatch(text)


def points(text: str) -> bool:
    """Whether an object leans on what was said before: seeing them, a photo like this."""
    return bool(_POINTS.search(text))


_PARTS = re.compile(r"\s*(?:,\s*(?:and|or)\s+|,\s*|\s+and\s+|\s+or\s+|\s*&\s*)", re.IGNORECASE)

_SOME = re.compile(r"(?:also |a (?:bit|little)(?: of)? |some |basic |fluent )+", re.IGNORECASE)


def parts(text: str) -> list[tuple[int, int]]:
    """Offsets of the members of a list: red, green and blue."""
    spans, start = [], 0
    for mark in _PARTS.finditer(text):
        spans.append((start, mark.start()))
        start = mark.end()
    spans.append((start, len(text)))
    members = []
    for start, last in spans:
        some = _SOME.match(text, start, last)
        first = some.end() if some else start
        if text[first:last].strip():
            members.append((first, last))
    return members
