"""Words for times: months, weekdays, counts, and the expressions that find them."""

from __future__ import annotations

import re

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar enero janvier",
            "february feb februar febrero février",
            "march mar märz marzo mars",
            "april apr abril avril",
            "may mai mayo",
            "june jun juni junio juin",
            "july jul juli julio juillet",
            "august aug agosto août",
            "september sept sep septiembre septembre",
            "october oct oktober octubre octobre",
            "november nov noviembre novembre",
            "december dec dezember diciembre décembre",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon montag", "tuesday tue tues dienstag", "wednesday wed mittwoch",
            "thursday thu thurs donnerstag", "friday fri freitag", "saturday sat samstag",
            "sunday sun sonntag",
        )
    )
    for name in names.split()
}  # fmt: skip
COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "a couple of": 2, "couple of": 2, "three": 3, "a few": 3, "few": 3,
    "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip

ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "fifteenth": 15, "twentieth": 20,
}  # fmt: skip

_ORDINAL = "|".join(ORDINALS)
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = "|".join(sorted(WEEKDAYS, key=len, reverse=True))
_COUNT = r"\d{1,4}|" + "|".join(sorted(COUNTS, key=len, reverse=True))
_UNIT = r"(?:day|week|fortnight|month|year)s?"
_SINCE = (
    r"since(?: about| around)?|ever since|from|starting(?: on| in| from)?|as of|as from"
    r"|beginning(?: on| in)?|effective|seit|desde|depuis|ab|à partir de"
)
_UNTIL = r"until(?: about| around)?|till|til|up to|through|bis|hasta|jusqu'(?:en|au|à)"
_AT = r"in|on|during|back in|around|im|am|en|le|by"

TIME = re.compile(
    rf"(?:\b(?P<since>{_SINCE})\s+|\b(?P<until>{_UNTIL})\s+|\b(?P<at>{_AT})\s+)?"
    rf"(?:the\s+)?(?:beginning of\s+|start of\s+|(?P<close>end of)\s+)?(?:the\s+)?"
    rf"(?:"
    rf"(?P<iso>\b\d{{4}}-\d\d-\d\d)\b"
    rf"|(?:(?:{_DAY}),?\s+(?:the\s+)?)?(?P<day>\b(?:\d{{1,2}}|{_ORDINAL})\b|\b\d{{1,2}}(?=st|nd|rd"
    rf"|th))(?:st|nd|rd|th"
    rf"|\.)?(?:\s+of)?\s+(?P<month>{_MONTH})\b(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|\b(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(?P<year2>\d{{4}}))?"
    rf"|\b(?P<which>last|this|next)\s+(?P<span>week(?:end)?|month|year|quarter|{_DAY}|{_MONTH})\b(?!'s)"
    rf"|\b(?P<span2>week|month|year)\b(?<=the week|he month|the year)"
    rf"|\b(?P<month3>{_MONTH})\b(?:,?\s+(?P<year3>\d{{4}})(?!-))?(?:\s+(?P<whichyear>last|this|next) "
    r"year)?"
    rf"|\b(?P<weekday>{_DAY})\b(?!s)"
    r"|\b(?P<name>the day before yesterday|the day after tomorrow|yesterday|today|tonight|tomorrow|this "
    r"morning|gestern|heute|morgen|ayer|mañana|hier)\b"
    rf"|\b(?P<count>{_COUNT})\s+(?P<unit>{_UNIT})\s+ago\b"
    rf"|\b(?P<count2>{_COUNT})\s+(?P<unit2>{_UNIT})\s+from\s+now\b"
    rf"|\b(?P<bareyear>(?:19|20)\d\d)\b"
    rf")",
    re.IGNORECASE,
)
FOR = re.compile(
    rf"\bfor (?:the (?:last|past) )?(?:about |almost |over |nearly )?(?P<count>{_COUNT}) "
    rf"(?P<unit>{_UNIT})(?: now)?\b",
    re.IGNORECASE,
)
HINT = re.compile(
    r"\d|\b(?:since|until|till|from|for|starting|as of|last|this|next|end of|ago|today|yester|tomor"
    r"|tonight|seit|desde|depuis|bis|hasta|jusqu"
    rf"|gestern|heute|morgen|ayer|mañana|hier|ab|effective|beginning|through|up to|{_MONTH}|{_DAY})",
    re.IGNORECASE,
)
"""What every expression of a time starts with or holds; most texts have none."""
