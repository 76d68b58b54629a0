"""Finder of government ids: by checksum where there is one, else by exact shape or key word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Span = tuple[int, int]

_FLAGS = re.IGNORECASE | re.ASCII
_SSN = re.compile(
    r"(?<![\w.+-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w]|[-.][0-9])", re.ASCII
)
_SSN_WORD = re.compile(
    r"(?<![a-z])(?:ssn|social security)[^0-9\n]{0,20}([0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4})(?![0-9A-Za-z])",
    _FLAGS,
)
_CHINA = re.compile(
    r"(?<![0-9A-Za-z])[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]"
    r"|3[01])[0-9]{3}[0-9Xx]"
    r"(?![0-9A-Za-z])"
)
_CHINA_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_BRAZIL = re.compile(r"(?<![\w.])[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}(?![\w])", re.ASCII)
_FRANCE = re.compile(
    r"(?<![\w.,+-])[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}(?![\w])",
    re.ASCII,
)
_BRITAIN = re.compile(
    r"(?<![\w])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?:[0-9]{6}| [0-9]{2} [0-9]{2} [0-9]{2} )[A-D](?![\w])",
    re.ASCII,
)
_ITALY = re.compile(r"(?<![\w])[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z](?![\w])", _FLAGS)
_DOCUMENT = re.compile(
    r"(?:passport|passeport|pasaporte|reisepass|driver'?s?[ ]licen[cs]e|driving[ ]licen[cs]e|护照"
    r"|パスポート|여권)"
    r"(?:[ -]?(?:nummer|number|numéro|num|no|nr|n|id|号码|番号)[.º°]?)?[ \t]{0,2}(?:[:#=]|is|は"
    r"|是)?[ \t]{0,2}"
    r"([A-Z0-9]{6,13})(?![A-Za-z0-9])",
    _FLAGS,
)

DIGIT_GATE = r"[0-9](?:[ ().\-/_]{0,3}[0-9]){6}"
"""Seven digits at most three separators apart: in every phone, card and most ids; few other texts."""
SHAPE_GATE = (
    r"[A-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]|(?i:[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z])"
)
DOCUMENT_WORDS = (
    "passport",
    "passeport",
    "pasaporte",
    "reisepass",
    "licence",
    "license",
    "护照",
    "パスポート",
    "여권",
)


def _is_china(text: str) -> bool:
    total = sum(w * int(d) for w, d in zip(_CHINA_WEIGHTS, text, strict=False))
    return "10X98765432"[total % 11] == text[17].upper()


def _is_brazil(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    for n in (9, 10):
        total = sum((n + 1 - i) * d for i, d in enumerate(digits[:n]))
        if (total * 10 % 11) % 10 != digits[n]:
            return False
    return len(set(digits)) > 1


def _is_france(text: str) -> bool:
    plain = text.replace(" ", "")
    return 97 - int(plain[:13]) % 97 == int(plain[13:])


def _is_document(text: str) -> bool:
    return sum(c.isdigit() for c in text) >= 4


def _always(_text: str) -> bool:
    return True


Row = tuple[re.Pattern[str], re.Pattern[str], Callable[[str], bool]]
# (quick, exact, check): quick starts with a literal or digit, so the engine skips ahead; it is
# implied by exact, and most texts end there.
_NUMBERS: tuple[Row, ...] = (
    (re.compile("[0-9]-[0-9]{2}-[0-9]{4}"), _SSN, _always),
    (re.compile("[sS](?:[sS][nN]|[oO][cC][iI][aA][lL] )"), _SSN_WORD, _always),
    (re.compile("[0-9]{17}"), _CHINA, _is_china),
    (re.compile(r"[0-9]\.[0-9]{3}\.[0-9]{3}-"), _BRAZIL, _is_brazil),
    (re.compile("[12](?: ?[0-9]){14}"), _FRANCE, _is_france),
)
_SHAPES: tuple[Row, ...] = (
    (re.compile("[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"), _BRITAIN, _always),
    (re.compile("[0-9]{2}[A-Za-z][0-9]{2}"), _ITALY, _always),
)


def _checked(text: str, table: tuple[Row, ...]) -> Iterator[Span]:
    for quick, exact, check in table:
        if quick.search(text):
            group = exact.groups
            yield from (m.span(group) for m in exact.finditer(text) if check(m.group(group)))


def find_number_ids(text: str) -> Iterator[Span]:
    """US SSN, Chinese resident id, Brazilian CPF, French INSEE number."""
    return _checked(text, _NUMBERS)


def find_shape_ids(text: str) -> Iterator[Span]:
    """UK National Insurance number, Italian codice fiscale."""
    return _checked(text, _SHAPES)


def find_documents(text: str) -> Iterator[Span]:
    """Passport and driving licence numbers after their word."""
    return (m.span(1) for m in _DOCUMENT.finditer(text) if _is_document(m.group(1)))
