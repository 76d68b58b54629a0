"""How a question is to be answered: by a fact's key, by time, by topic, by meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from transforms.fact_hops import LEADS, hops
from transforms.fact_keys import FactKeys, Hit
from transforms.named_facts import named_facts
from transforms.policy_recall import RoutingPolicy
from transforms.question_words import asks_of_something
from transforms.time_expressions import MOST_CHARS, TimeRange, time_ranges, without_quotes
from transforms.time_vocabulary import COUNTS, alternatives

RouteKind = Literal["exact_key", "recency", "temporal", "topic", "semantic", "two_hop", "general"]
KINDS: tuple[RouteKind, ...] = (
    "exact_key",
    "recency",
    "temporal",
    "topic",
    "semantic",
    "two_hop",
    "general",
)


@dataclass(frozen=True)
class Sessions:
    """Sessions that a question names by their place in time.

    Attributes:
        back: 1 for the last one, 2 for the one before; below 0 from the first on: -1 is the first.
        count: How many, from that one towards the past, or from the first on.
    """

    back: int = 1
    count: int = 1


@dataclass(frozen=True)
class Route:
    """How a question is answered.

    Attributes:
        kind: exact_key: facts of these very keys. recency: what happened lately, newest first. temporal: in
            a range of time. topic: all about a subject. two_hop: through a fact that joins two. semantic:
            by meaning and words. general: nothing to tell memories apart by.
        ranges: Times it names.
        sessions: Sessions it names.
        is_filter: Whether rows outside of these are left out. Else they only lose weight: what happened
            in May may be told in June.
        is_newest_first: Whether time gives the order, because nothing else is asked.
        facts: Facts it names, fetched whatever their similarity.
        why: The same in words.
    """

    kind: RouteKind = "semantic"
    ranges: tuple[TimeRange, ...] = ()
    sessions: Sessions | None = None
    is_filter: bool = False
    is_newest_first: bool = False
    facts: tuple[Hit, ...] = ()
    why: str = "by meaning and words"

    @property
    def since(self) -> datetime | None:
        """First instant of all ranges; null for none or where one has no start."""
        starts = [r.since for r in self.ranges]
        return None if not starts or None in starts else min(s for s in starts if s)

    @property
    def until(self) -> datetime | None:
        """First instant after all ranges; null for none or where one has no end."""
        ends = [r.until for r in self.ranges]
        return None if not ends or None in ends else max(e for e in ends if e)

    def as_dict(self) -> dict[str, object]:
        """The shape that ``--json`` prints."""
        return {
            "kind": self.kind,
            "since": self.since.isoformat() if self.since else None,
            "until": self.until.isoformat() if self.until else None,
            "is_filter": self.is_filter,
            "why": self.why,
            "facts": [{"id": hit.id, "strength": hit.strength, "why": hit.why} for hit in self.facts],
        }


_NUMBER = rf"(?P<count>\d{{1,3}}|{alternatives(w for w in COUNTS if w.isascii())})"
_MANY = _NUMBER.replace("count", "count2")
_SESSION = (
    r"(?:session|conversation|chat|discussion|sitzung|gespräche?|unterhaltung|séance|sesión|sesiones"
    r"|conversación|conversaciones)(?:s|en)?"
)
_LAST = (
    r"last|latest|most recent|previous|prior|past|letzte[nrs]?|vorige[nrs]?|dernières?|dernier|últim[oa]s?"
)
_OUR = r"(?:the\s+|our\s+|my\s+)*"
_SESSIONS = re.compile(
    rf"\b{_OUR}{_SESSION}\s+(?P<before>before\s+(?:the\s+)?(?:last|that|previous)(?:\s+one)?)\b"
    rf"|\b(?P<ago>{_NUMBER})\s+{_SESSION}\s+(?:ago|back|earlier)\b"
    rf"|\b(?:in\s+|during\s+)?{_OUR}(?:{_LAST})\s+(?P<many>{_MANY}\s+)?{_SESSION}\b"
    r"|\b(?:the\s+)?last\s+time\s+(?:we|i|you)\b|\b(?:letztes|letzten)\s+mal\b|\bla dernière fois\b"
    r"|\bla última vez\b"
    rf"|\b{_OUR}(?P<start>(?:very\s+)?first|erste[nrs]?|première|primera)\s+{_SESSION}\b"
    r"|上次(?:的)?(?:对话|會話|会话|聊天|谈话)?|上一次(?:的)?(?:对话|会话|聊天|谈话)?"
    r"|前回(?:の(?:会話|セッション))?",
    re.IGNORECASE,
)
_SESSION_PARTS = (
    "session", "conversation", "chat", "discussion", "sitzung", "gespräch", "unterhaltung", "séance", "sesi",
    "conversaci", "last time", "mal", "fois", "vez", "上", "前回",
)  # fmt: skip
_TELLING = re.compile(
    r"\b(?:we|i|you|us|me)\b(?:\W+\w+){0,2}?\W+(?:discuss|talk|say|said|tell|told|mention|ask|chat|speak|spoke"
    r"|cover|go over|agree|decide|work)(?:ed|s|ing)?\b|\bremind me\b"
    r"|\bour (?:discussion|conversation|chat)s?\b",
    re.IGNORECASE,
)
_LATELY = re.compile(
    r"\b(?:recent|recently|lately|latest|newest|most recent|these days|just now|so far today"
    r"|neulich|kürzlich|neueste[nrs]?"
    r"|zuletzt|récemment|dernièrement|recientemente|últimamente)\b|最近|最新|この頃",
    re.IGNORECASE,
)
_TOPIC = re.compile(
    r"\b(?:everything|anything|all|notes?|history|overview|summar\w+|know|information|details|news|update)\b"
    r"[^?.!]{0,40}?\b(?:about|on|of|regarding|concerning|around)\b\s+\w"
    r"|\btell me about\b|\bwhat about\b|\b(?:on the )?(?:topic|subject) of\b|\b(?:regarding|concerning)\b"
    r"|\b(?:alles|was weißt du) über\b|\btout sur\b|\btodo sobre\b|关于|について",
    re.IGNORECASE,
)


def route(
    query: str,
    as_of: datetime,
    *,
    zone: tzinfo = UTC,
    known: FactKeys | None = None,
    policy: RoutingPolicy | None = None,
) -> Route:
    """How a question is to be answered.

    Args:
        query: The question, in any language.
        as_of: When it is asked; aware.
        zone: Whose days and weeks it speaks of.
        known: Facts of the scope; None: no fact is looked for.
        policy: Limits; the default ones where None.

    Returns:
        One route. Times are kept whatever its kind: a question for a fact's key may name one as well.

    Raises:
        UsageError: The as-of has no time zone.
    """
    numbers = policy or RoutingPolicy()
    plain = without_quotes(query[:MOST_CHARS])
    ranges = tuple(time_ranges(query, as_of, zone))
    named = _SESSIONS.search(plain) if _may_name_sessions(plain) else None
    rest = _without(plain, [*((r.first, r.last) for r in ranges), *([named.span()] if named else [])])
    about = asks_of_something(rest)
    timed = _timed(plain, ranges, named, about)
    return _keyed(query, timed, about, known, numbers)


def _may_name_sessions(text: str) -> bool:
    """A quick look: the expression itself takes ten times as long."""
    low = text.lower()
    return any(part in low for part in _SESSION_PARTS)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for first, last in spans:
        text = f"{text[:first]}{' ' * (last - first)}{text[last:]}"
    return text


def _timed(text: str, ranges: tuple[TimeRange, ...], named: re.Match[str] | None, about: bool) -> Route:
    """The route as far as times decide it."""
    if named is not None:
        sessions = _sessions(named)
        told = _told_sessions(sessions)
        return Route("recency", ranges, sessions, True, not about, why=f"rows of {told}")
    if ranges:
        is_filter = not about or bool(_TELLING.search(text))
        kind: RouteKind = "recency" if not about and any(r.is_relative for r in ranges) else "temporal"
        told = " and ".join(map(_told, ranges))
        effect = "only rows" if is_filter else "rows are preferred"
        return Route(kind, ranges, None, is_filter, not about, why=f"{effect} {told}")
    if not about:
        if _LATELY.search(text):
            return Route("recency", is_newest_first=True, why="the newest rows")
        return Route("general", why="nothing is named to tell memories apart by")
    if _TOPIC.search(text):
        return Route("topic", why="about a topic")
    return Route()


def _sessions(named: re.Match[str]) -> Sessions:
    if named["start"]:
        return Sessions(-1)
    if named["before"]:
        return Sessions(2)
    if named["ago"]:
        return Sessions(max(1, _count(named["count"])))
    return Sessions(1, max(1, _count(named["count2"]))) if named["many"] else Sessions()


def _count(text: str) -> int:
    return COUNTS.get(text.lower()) or int(text)


def _told_sessions(sessions: Sessions) -> str:
    if sessions.back < 0:
        return "the first session"
    if sessions.count > 1:
        return f"the last {sessions.count} sessions"
    return {1: "the last session", 2: "the session before the last"}.get(
        sessions.back, f"the session {sessions.back} sessions ago"
    )


def _told(one: TimeRange) -> str:
    since = f"from {_instant(one.since)}" if one.since else ""
    until = f"before {_instant(one.until)}" if one.until else ""
    return " and ".join(part for part in (since, until) if part)


def _instant(at: datetime) -> str:
    return (
        f"{at:%Y-%m-%d}"
        if at - at.replace(hour=0, minute=0, second=0, microsecond=0) == timedelta()
        else (f"{at:%Y-%m-%d %H:%M}")
    )


def _keyed(query: str, timed: Route, about: bool, known: FactKeys | None, policy: RoutingPolicy) -> Route:
    """The route with the facts that the question names; they decide its kind unless time alone is asked."""
    if known is None or not known.facts or (not about and timed.kind != "general"):
        return timed
    exact = named_facts(query, known, most=policy.exact_facts, least=policy.exact_strength)
    joined = hops(query, known, most=policy.exact_facts)
    passed = {hit.predicate for hit in joined if hit.is_hop and hit.strength >= LEADS}
    links = {hit.id for hit in joined}
    # Where does my sister live: not where I do.
    exact = [hit for hit in exact if hit.predicate not in passed or hit.id in links]
    held = {hit.id for hit in exact}
    facts = (*exact, *(hit for hit in joined if hit.id not in held))
    if not facts:
        return timed
    kind: RouteKind
    if passed:
        kind, why = "two_hop", "through a fact that joins two"
    else:
        kind, why = (
            "exact_key",
            f"facts named by {exact[0].why}" if exact else "through a fact that joins two",
        )
    if timed.is_filter:
        return replace(timed, facts=facts, why=f"{timed.why}; {why}")
    why = why if timed.kind in ("semantic", "topic", "general") else f"{why}; {timed.why}"
    return replace(timed, kind=kind, facts=facts, why=why)
