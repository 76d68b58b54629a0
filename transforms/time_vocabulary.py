"""Words by which questions name times, in the languages that recall reads them in.

English in full; German, French, Spanish, Chinese and Japanese for the usual ones. A new language is a
few more entries here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from transforms.claims.time_words import COUNTS as ENGLISH_COUNTS
from transforms.claims.time_words import MONTHS, ORDINALS

_WORDS = re.compile(r"[^\W\d_]+(?:\d)?")
Unit = Literal["minute", "hour", "day", "weekend", "week", "month", "quarter", "year"]

_UNITS: dict[Unit, str] = {
    "minute": "minute minutes min mins minuten minuto minutos 分 分钟",
    "hour": "hour hours hr hrs stunde stunden heure heures hora horas 小时 時間",
    "day": "day days tag tage tagen jour jours día días dia dias 天 日",
    "weekend": "weekend weekends wochenende wochenenden",
    "week": "week weeks woche wochen semaine semaines semana semanas 周 星期 个星期 週 週間 礼拜 个礼拜",
    "month": "month months monat monate monaten mois mes meses 月 个月 か月 ヶ月 カ月",
    "quarter": "quarter quarters quartal quartale quartalen trimestre trimestres 季度 个季度",
    "year": "year years jahr jahre jahren an ans année années año años ano anos 年",
}
UNITS: dict[str, Unit] = {word: unit for unit, words in _UNITS.items() for word in words.split()}
COUNTS: dict[str, int] = {
    **ENGLISH_COUNTS,
    "several": 3, "past couple of": 2, "ein": 1, "eine": 1, "einem": 1, "einer": 1, "zwei": 2, "drei": 3,
    "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "ein paar": 3,
    "einigen": 3, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8,
    "neuf": 9, "dix": 10, "quelques": 3, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "unos": 3, "unas": 3, "一": 1, "两": 2, "二": 2, "三": 3,
    "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "几": 3, "数": 3,
}  # fmt: skip
VAGUE = frozenset({
    "a couple of", "couple of", "past couple of", "a few", "few", "several", "ein paar", "einigen",
    "quelques", "unos", "unas", "几", "数",
})  # fmt: skip
"""Counts that nobody means to the unit."""

DAYS: dict[str, tuple[int, int, int]] = {
    phrase: (days, first, last)
    for (days, first, last), phrases in {
        (-2, 0, 24): "the day before yesterday|vorgestern|avant-hier|anteayer|antier|前天|一昨日|おととい",
        (-1, 0, 24): "yesterday|gestern|hier|ayer|昨天|昨日",
        (-1, 0, 12): "yesterday morning|gestern morgen|gestern früh|hier matin|ayer por la mañana",
        (-1, 12, 18): "yesterday afternoon|gestern nachmittag|hier après-midi|ayer por la tarde",
        (-1, 18, 24): "yesterday evening|gestern abend|hier soir",
        (-1, 18, 30): "last night|yesterday night|letzte nacht|la nuit dernière|anoche|昨晚|昨夜",
        (0, 0, 24): "today|earlier today|heute|aujourd'hui|aujourd’hui|hoy|今天|今日",
        (0, 0, 12): "this morning|heute morgen|heute früh|ce matin|esta mañana|今早|今天早上|今朝",
        (0, 12, 18): "this afternoon|heute nachmittag|cet après-midi|esta tarde|今天下午",
        (0, 18, 24): "this evening|heute abend|ce soir|今天晚上",
        (0, 18, 30): "tonight|heute nacht|cette nuit|esta noche|今晚|今夜",
        (1, 0, 24): "tomorrow|demain|mañana|明天|明日",
        (2, 0, 24): "the day after tomorrow|übermorgen|après-demain|pasado mañana|后天|明後日",
    }.items()
    for phrase in phrases.split("|")
}
"""Days from today, and the hours of that day; 30 is 6 o'clock of the next."""

_PERIODS: dict[tuple[Unit, int], str] = {
    ("week", -2): "the week before last|vorletzte woche|上上周|上上个星期|先々週",
    ("week", -1): "last week|previous week|letzte woche|letzter woche|vorige woche|vergangene woche"
    "|la semaine dernière|la semaine passée|la semana pasada|上周|上星期|上个星期|上礼拜|上个礼拜|先週",
    ("week", 0): "this week|current week|diese woche|dieser woche|cette semaine|esta semana"
    "|这周|这星期|这个星期|本周|今週",
    ("week", 1): "next week|coming week|nächste woche|nächster woche|la semaine prochaine"
    "|la próxima semana|la semana que viene|下周|下星期|下个星期|来週",
    ("weekend", -2): "the weekend before last|vorletztes wochenende",
    ("weekend", -1): "last weekend|letztes wochenende|letzten wochenende|le week-end dernier"
    "|le weekend dernier|el fin de semana pasado|上周末|先週末",
    ("weekend", 0): "this weekend|dieses wochenende|ce week-end|este fin de semana|这周末|今週末",
    ("weekend", 1): "next weekend|nächstes wochenende|le week-end prochain",
    ("month", -2): "the month before last|vorletzten monat|上上个月|先々月",
    ("month", -1): "last month|previous month|letzten monat|vorigen monat|vergangenen monat"
    "|le mois dernier|le mois passé|el mes pasado|上个月|上月|先月",
    ("month", 0): "this month|current month|diesen monat|diesem monat|ce mois|ce mois-ci|este mes"
    "|这个月|本月|今月",
    ("month", 1): "next month|nächsten monat|le mois prochain|el próximo mes|下个月|下月|来月",
    ("quarter", -1): "last quarter|previous quarter|letztes quartal|le trimestre dernier"
    "|el trimestre pasado|上个季度|上季度",
    ("quarter", 0): "this quarter|current quarter|dieses quartal|ce trimestre|este trimestre|本季度",
    ("quarter", 1): "next quarter|nächstes quartal",
    ("year", -2): "the year before last|vorletztes jahr|前年|一昨年",
    ("year", -1): "last year|previous year|letztes jahr|letzten jahr|voriges jahr|vergangenes jahr"
    "|l'année dernière|l'an dernier|l’année dernière|el año pasado|去年|昨年",
    ("year", 0): "this year|current year|dieses jahr|diesem jahr|cette année|este año|今年",
    ("year", 1): "next year|nächstes jahr|l'année prochaine|el próximo año|明年|来年",
}
PERIODS: dict[str, tuple[Unit, int]] = {
    phrase: period for period, phrases in _PERIODS.items() for phrase in phrases.split("|")
}
"""Calendar spans, so many from the one that is on."""

SEASONS: dict[str, int] = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "frühling": 3, "frühjahr": 3,
    "sommer": 6, "herbst": 9, "printemps": 3, "été": 6, "automne": 9, "hiver": 12, "primavera": 3,
    "verano": 6, "otoño": 9, "invierno": 12,
}  # fmt: skip
"""First month, of the northern half of the earth."""
WEEKDAYS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "monday mon montag lundi lunes 周一 星期一 礼拜一 月曜日",
            "tuesday tue tues dienstag mardi martes 周二 星期二 礼拜二 火曜日",
            "wednesday wed mittwoch mercredi miércoles 周三 星期三 礼拜三 水曜日",
            "thursday thu thurs donnerstag jeudi jueves 周四 星期四 礼拜四 木曜日",
            "friday fri freitag vendredi viernes 周五 星期五 礼拜五 金曜日",
            "saturday sat samstag samedi sábado 周六 星期六 礼拜六 土曜日",
            "sunday sun sonntag dimanche domingo 周日 星期日 星期天 礼拜天 日曜日",
        )
    )
    for name in names.split()
}
MONTH_NAMES = MONTHS
ORDINAL_NUMBERS = ORDINALS
QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}

BEFORE_A_MONTH = (
    r"in|during|since|until|till|before|after|by|through|throughout|of|between|early|mid|late|around|as of"
    r"|im|seit|bis|vor|nach|ab|anfang|mitte|ende|en|depuis|avant|après|desde|hasta|antes de|durante"
)
"""Words after which ``may``, ``march`` or ``june`` is a month."""
SINCE = (
    r"since|ever since|starting(?: on| in| from)?|as from|beginning(?: on| in)?|seit(?: dem| der)?"
    r"|ab(?: dem)?|depuis(?: le| la)?|à partir d[eu]|desde(?: el| la)?"
)
AFTER = r"after|later than|nach(?: dem)?|après(?: le)?|después de(?:l)?"
BEFORE = r"before|prior to|earlier than|vor(?: dem)?|avant(?: le)?|antes de(?:l)?"
UNTIL = (
    r"until|till|til|(?<!we )(?<!you )(?<!I )up to|up until|through|by|as of|no later than|bis(?: zum)?"
    r"|jusqu'(?:en|au|à)(?: le)?"
    r"|hasta(?: el)?"
)
SINCE_AFTERWARDS = ("以来", "以后", "之后", "から", "以降", "起")
UNTIL_AFTERWARDS = ("之前", "以前", "まで", "为止")
TO = (
    r"(?:to|till|until|through|and|bis(?: zum)?|und(?: dem)?|au|et(?: le)?|al|y(?: el)?|hasta(?: el)?|a|到|至"
    r"|から|-|–|—|~|〜)"
)


def alternatives(words: Iterable[str]) -> str:
    """An expression of any of the words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda w: (-len(w), w)))


_SMALL = frozenset(_WORDS.findall("the la le el l que de por day viene después d"))
_MORE = (
    "ago earlier back last past previous next coming current quarter half before preceding prior other"
    " letzten letztes letzter letzte vergangenen vorigen vor dernier dernière derniers dernières hace"
    " últimos últimas pasado pasada prochain próximo il in within over during throughout q1 q2 q3 q4 h1 h2"
    " mon tue tues wed thu thurs fri sat sun"
)
HINTS = frozenset(
    word
    for text in (*DAYS, *PERIODS, *MONTHS, *SEASONS, *WEEKDAYS, _MORE)
    for word in _WORDS.findall(text)
    if word not in _SMALL
)
"""Every time holds one of these words, a figure, or a character of ``HINT_MARKS``; most questions do not."""
HINT_MARKS = re.compile(r"[\d\u3040-\u30ff\u4e00-\u9fff]")


def has_hint(text: str) -> bool:
    """Whether a text can hold a time at all."""
    return not HINTS.isdisjoint(_WORDS.findall(text.lower())) or bool(HINT_MARKS.search(text))
