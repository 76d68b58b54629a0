"""Expressions of a time, each with what it means; the earlier ones win."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from transforms import time_handlers as handlers
from transforms.time_handlers import Made
from transforms.time_spans import Clock, lasting, month, nearest_day, nearest_month, year_of
from transforms.time_vocabulary import (
    BEFORE_A_MONTH,
    COUNTS,
    DAYS,
    MONTH_NAMES,
    ORDINAL_NUMBERS,
    PERIODS,
    QUARTERS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    alternatives,
)

Handler = Callable[[re.Match[str], Clock], Made]


@dataclass(frozen=True)
class Rule:
    """One form of a time.

    Attributes:
        pattern: Finds it; where it has a group ``all``, only that is the time. A group ``year`` that did
            not match says that the year is chosen.
        make: Its span; null where it is none after all.
        is_relative: Whether it counts from the instant of the question.
    """

    pattern: re.Pattern[str]
    make: Handler
    is_relative: bool = False


def rule(pattern: str, make: Handler, *, relative: bool = False) -> Rule:
    """A rule; case does not matter."""
    return Rule(re.compile(pattern, re.IGNORECASE), make, relative)


def _ascii(words: Iterable[str]) -> list[str]:
    return [w for w in words if not "\u3000" <= w[0] <= "\u9fff"]


def _han(words: Iterable[str]) -> list[str]:
    return [w for w in words if "\u3000" <= w[0] <= "\u9fff"]


_MONTH = rf"(?P<month>{alternatives(MONTH_NAMES)})"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d-])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|\.)?"
_DAY = rf"(?P<day>\d{{1,2}}|{alternatives(ORDINAL_NUMBERS)})"
_OF = r"\s+(?:of\s+|de\s+|d')?"
_OFYEAR = rf"(?:,?\s*(?:of\s+|de\s+|del\s+)?{_YEAR})?"
_DASH = r"\s*(?:-|–|—|to|and|until|till|through|bis(?: zum)?|und(?: dem)?|au|et(?: le)?|al|y(?: el)?|a)\s*"
_COUNT = rf"(?P<count>\d{{1,4}}|{alternatives(_ascii(COUNTS))})"
_UNIT = rf"(?P<unit>{alternatives(_ascii(UNITS))})"
_HAN_COUNT = rf"(?P<count>\d{{1,4}}|[{''.join(_han(COUNTS))}])"
_HAN_UNIT = rf"(?P<unit>{alternatives(_han(UNITS))})"
_WEEKDAY = rf"(?P<weekday>{alternatives(_ascii(WEEKDAYS))})"
_LONG_WEEKDAY = rf"(?P<weekday>{alternatives(w for w in _ascii(WEEKDAYS) if len(w) > 4)})"
_SEASON = rf"(?P<season>{alternatives(SEASONS)})"
_BEFORE = r"last|past|previous|this|current|next|coming|letzte[nrs]?|vorigen|diese[ns]|nächsten"
_BEHIND = r"dernière|dernier|pasado|pasada|prochain|próximo"
_ROLLING = (
    r"(?:(?:in|within|over|during|for|throughout)\s+)?(?:the\s+)?(?:last|past|previous)"
    r"|(?:in\s+)?(?:den\s+)?(?:letzten|vergangenen)"
)

_PHRASES = alternatives(_ascii({**DAYS, **PERIODS}))
_HAN_PHRASES = alternatives(_han({**DAYS, **PERIODS}))

RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\d-])(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
        r"(?:[T ](?P<h>\d\d):(?P<min>\d\d)(?::(?P<s>\d\d)(?:\.\d{1,9})?)?"
        r"\s?(?P<z>Z|[+-]\d\d:?\d\d)?)?(?![\d-])",
        handlers.iso_span,
    ),
    rule(r"(?<![\d/])(?P<y>\d{4})/(?P<m>\d\d?)/(?P<d>\d\d?)(?![\d/])", handlers.ymd_span),
    rule(r"(?P<y>\d{4})\s*年\s*(?P<m>\d\d?)\s*月\s*(?P<d>\d\d?)\s*[日号]", handlers.ymd_span),
    rule(r"(?<![\d.])(?P<d>\d\d?)\.\s?(?P<m>\d\d?)\.\s?(?P<y>\d{4})(?![\d.])", handlers.ymd_span),
    rule(r"(?<![\d/])(?P<one>\d\d?)/(?P<two>\d\d?)/(?P<y>\d{4})(?![\d/])", handlers.slashed_span),
    rule(
        r"(?<![\d-])(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?![\d-])", lambda m, _: month(int(m["y"]), int(m["m"]))
    ),
    rule(r"(?P<y>\d{4})\s*年\s*(?P<m>\d\d?)\s*月", lambda m, _: month(int(m["y"]), int(m["m"]))),
    rule(
        r"(?<![\d年])(?P<m>\d\d?)\s*月\s*(?P<d>\d\d?)\s*[日号](?P<year>(?!x)x)?",
        lambda m, c: nearest_day(int(m["m"]), int(m["d"]), c),
    ),
    rule(r"(?P<y>(?:19|20)\d\d)\s*年(?!前)", lambda m, _: year_of(int(m["y"]))),
    rule(
        r"(?<![\d年个箇か])(?P<m>1[0-2]|[1-9])\s*月(?![前間间])(?P<year>(?!x)x)?",
        lambda m, c: nearest_month(int(m["m"]), 1, c),
    ),
    rule(
        rf"\b{_DAY}{_ORDINAL}{_DASH}(?:the\s+)?(?P<day2>\d{{1,2}}){_ORDINAL}{_OF}{_MONTH}\b{_OFYEAR}",
        handlers.two_days_span,
    ),
    rule(
        rf"\b{_MONTH}\.?\s+(?P<day>\d{{1,2}}){_ORDINAL}{_DASH}(?:the\s+)?(?P<day2>\d{{1,2}})(?!\d|:){_ORDINAL}{_OFYEAR}",
        handlers.two_days_span,
    ),
    rule(rf"\b{_DAY}{_ORDINAL}{_OF}{_MONTH}\b{_OFYEAR}", handlers.day_of_month_span),
    rule(
        rf"(?P<at>\b(?:{BEFORE_A_MONTH}|on)\s+)?(?P<all>\b{_MONTH}\.?\s+(?P<day>\d{{1,2}})(?![\d:%.]\d?)(?:st|nd|rd|th)?\b{_OFYEAR})",
        handlers.month_day_span,
    ),
    rule(rf"\b(?:{_ROLLING})\s+{_COUNT}\s+{_UNIT}\b", handlers.rolling_span, relative=True),
    rule(
        rf"\b(?:in|within|over|during|throughout)\s+the\s+(?:last|past)\s+{_UNIT}\b",
        handlers.rolling_span,
        relative=True,
    ),
    rule(rf"\b(?:the\s+)?past\s+{_UNIT}\b", handlers.rolling_span, relative=True),
    rule(
        rf"\b{_COUNT}\s+(?:derniers|dernières|últimos|últimas)\s+{_UNIT}\b",
        handlers.rolling_span,
        relative=True,
    ),
    rule(
        rf"\b(?:derniers|dernières|últimos|últimas)\s+{_COUNT}\s+{_UNIT}\b",
        handlers.rolling_span,
        relative=True,
    ),
    rule(
        rf"(?:最近|过去|過去|この|ここ|近){_HAN_COUNT}\s*{_HAN_UNIT}[间間内]?",
        handlers.rolling_span,
        relative=True,
    ),
    rule(
        rf"\b(?:about\s+|around\s+|some\s+)?{_COUNT}\s+{_UNIT}\s+(?:ago|earlier|back)\b",
        handlers.ago_span,
        relative=True,
    ),
    rule(
        rf"\b(?:vor|il y a|hace)\s+(?:etwa\s+|environ\s+|unos\s+)?{_COUNT}\s+{_UNIT}\b",
        handlers.ago_span,
        relative=True,
    ),
    rule(rf"{_HAN_COUNT}\s*{_HAN_UNIT}(?:之前|以前|前)", handlers.ago_span, relative=True),
    rule(r"\b(?:the\s+)?other\s+day\b", lambda _m, c: lasting(7, "day", c), relative=True),
    rule(
        rf"(?P<han>上个?|这个?|下个?|先週の?|今週の?)?(?P<weekday>{alternatives(_han(WEEKDAYS))})",
        handlers.han_weekday_span,
        relative=True,
    ),
    rule(
        rf"\bQ(?P<quarter>[1-4])(?:[\s,/-]*(?:of\s+)?{_YEAR})?\b|\b(?P<y>20\d\d)[\s-]?Q(?P<quarter2>[1-4])\b",
        handlers.quarter_span,
    ),
    rule(
        rf"\b(?P<quarter>{alternatives(QUARTERS)})\s+quarter\b(?:\s+(?:of\s+)?(?:{_YEAR}|(?P<whichyear>last|this|next)\s+year))?",
        handlers.quarter_span,
    ),
    rule(
        rf"\b{_MONTH}\.?,?\s+(?:of\s+|de\s+|del\s+)?(?:{_YEAR}|(?P<whichyear>last|this|next)\s+year)\b",
        handlers.month_of_year_span,
    ),
    rule(
        rf"(?<!\w)(?:the\s+)?(?P<phrase>{_PHRASES})(?!\w)|(?P<han>{_HAN_PHRASES})",
        handlers.phrase_span,
        relative=True,
    ),
    rule(rf"\b(?P<which>{_BEFORE})\s+{_WEEKDAY}\b", handlers.named_span, relative=True),
    rule(rf"\b{_WEEKDAY}\s+(?P<which>{_BEHIND})\b", handlers.named_span, relative=True),
    rule(rf"\b(?P<which>{_BEFORE})\s+(?:{_MONTH}|{_SEASON})\b", handlers.named_span),
    rule(rf"\b{_SEASON}\s+(?P<which>{_BEHIND})\b", handlers.named_span),
    rule(rf"\b(?:H(?P<half>[12])\s+|(?P<words>first|second)\s+half\s+of\s+){_YEAR}", handlers.half_span),
    rule(
        rf"\b(?:{BEFORE_A_MONTH})(?:\s+|-)(?:the\s+)?(?P<all>(?P<year>(?!x)x)?{_MONTH})\b(?!\s+\d)",
        handlers.bare_month_span,
    ),
    rule(
        rf"\b(?:between|from|zwischen|von|entre|de|desde|\d{{4}}|-|–)\s*(?:{alternatives(MONTH_NAMES)})\b(?:\s+\d{{4}})?\s*(?:-|–|to|and"
        rf"|until|till|through|bis|und|au|et|a|y)\s*(?P<all>(?P<year>(?!x)x)?{_MONTH})\b",
        handlers.bare_month_span,
    ),
    rule(
        rf"(?P<all>\b{_MONTH}(?P<year>(?!x)x)?)\s*(?:-|–|to|until|through|bis|au|a)\s*(?:{alternatives(MONTH_NAMES)})\b",
        handlers.bare_month_span,
    ),
    rule(rf"\b{_SEASON}\s+(?:of\s+|de\s+)?{_YEAR}", handlers.season_span),
    rule(
        rf"\b(?:in|during|over|since|before|after|im|en|este)\s+(?:the\s+|l'|el\s+|la\s+)?(?P<all>(?P<year>(?!x)x)?{_SEASON})\b",
        handlers.season_span,
    ),
    rule(
        r"(?<!every )(?<!each )(?<!any )(?<!jeden )(?<!cada )(?<!chaque )(?<!a )"
        rf"\b{_LONG_WEEKDAY}\b(?!s|\s+dernier|\s+pasado)",
        handlers.weekday_span,
        relative=True,
    ),
    rule(
        r"\b(?:on|since|until|before|after|by|last)\s+(?P<all>(?P<weekday>mon|tues?|wed|thurs?|fri|sat|sun))\b",
        handlers.weekday_span,
        relative=True,
    ),
    rule(
        rf"\b(?:in|during|since|before|after|until|till|by|of|from|to|through|throughout|year|seit|bis|vor|nach|jahr|depuis|avant"
        rf"|après|année|desde|hasta|año|en|as of)\s+(?:the\s+year\s+)?(?P<all>{_YEAR})"
        r"(?!\s*(?:%|k?m\b|people|words|tokens|dollars|euros))",
        lambda m, _: year_of(int(m["year"])),
    ),
    rule(
        rf"\b(?P<all>{_YEAR})\s*(?:-|–|to|until|through)\s*(?:19|20)\d\d\b",
        lambda m, _: year_of(int(m["year"])),
    ),
)
