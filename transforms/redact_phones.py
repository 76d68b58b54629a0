"""Finders of phone numbers: by country code, by the shapes in use, by the word before them.

Each finder takes folded text (see ``redact.fold``) and yields half-open character spans, in
time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

_DIGITS = re.compile(r"[0-9]+")
_PLUS = re.compile(
    r"(?<![0-9A-Za-z+])(?:\+\(?|(?<![0-9][ .-])00(?=[1-9][0-9]{0,3}[ ./-]))[1-9][0-9 ().\-/]{5,28}"
)
_CALLING_CODE = re.compile(
    r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|2[1-69][0-9]|3[578][0-9]|42[0-9]"
    r"|5[09][0-9]|6[789][0-9]|8[0578][0-9]|9[679][0-9]"
)
_NORTH_AMERICAN = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?:1[ .-]?)?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[ .-])[2-9][0-9]{2}[ .-][0-9]{4}"
    r"(?![A-Za-z0-9_]|[.-][0-9])"
)
_ROUND_GROUPS = re.compile(r"[0-9]00 [0-9]{3} |[0-9]{3} [0-9]00 ")
_TRUNK_ZERO = re.compile(
    r"(?<![A-Za-z0-9_.,/+-])(?<![0-9]:)\(?0[1-9][0-9]{0,4}\)?(?:[ .\-/][0-9]{2,8}){1,4}"
    r"(?![A-Za-z0-9_:]|[.,/-][0-9])"
)
_BEFORE = r"(?<![A-Za-z0-9_.,/+-])(?<![0-9][: ])"
_AFTER = r"(?![A-Za-z0-9_]|[ .,-][0-9])"
_EAST_ASIAN = re.compile(
    r"(?<![A-Za-z0-9_.,/+-])(?<![0-9]:)1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}(?![A-Za-z0-9_]|-[0-9])"
)
_RUSSIAN = re.compile(
    rf"{_BEFORE}8[ -]?(?:\([3-9][0-9]{{2}}\) ?|[3-9][0-9]{{2}}[ -])[0-9]{{3}}-[0-9]{{2}}-[0-9]{{2}}{_AFTER}"
)
_BRAZILIAN = re.compile(rf"{_BEFORE}\([1-9][0-9]\) ?9?[0-9]{{4}}-[0-9]{{4}}{_AFTER}")
_ITALIAN = re.compile(rf"{_BEFORE}3[2-9][0-9][ -][0-9]{{3}}[ -][0-9]{{4}}{_AFTER}")
# Nouns whose numbers are grouped like phones but are not.
_OTHER_NUMBER = re.compile(
    r"(?<![A-Za-z])(?:(?:invoice|ticket|room|chapter|rechnung|kapitel|part[ \t](?:no|nr|number)\b)"
    r"(?:[ \t](?:no|nr|number|nummer|id)\b)?)[.:# \t]{0,3}\(?\Z",
    re.IGNORECASE,
)
_PHONE_WORD = re.compile(
    r"(?:(?<![a-z])(?:tele|cell|mobile )?phone|(?<![a-z])(?:tel|fax|mobile|whatsapp|telefono|tel[eé]fono"
    r"|t[eé]l[eé]phone|telefone|celular|m[oó]vil|cellulare|telefon|handynummer|portable)(?![a-z])"
    r"|[Тт]ел(?:ефон)?|手机|手機|电话|電話|携帯|전화|휴대폰)"
    r"[^0-9\n]{0,16}([0-9][0-9 ().\-/]{5,20}[0-9])(?![0-9A-Za-z])",
    re.IGNORECASE | re.ASCII,
)
_DATE = re.compile(r"[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./](?:19|20)[0-9]{2}")
_GAP_CHARS = 3


def _cut_groups(text: str, start: int, end: int, most: int) -> list[re.Match[str]]:
    """The leading digit groups of a run, up to ``most`` digits, a date or the end of a sentence."""
    kept: list[re.Match[str]] = []
    count = 0
    for group in _DIGITS.finditer(text, start, end):
        gap = text[kept[-1].end() : group.start()] if kept else ""
        count += len(group.group())
        if count > most or len(gap) > _GAP_CHARS or ". " in gap or _DATE.match(text, group.start()):
            break
        kept.append(group)
    return kept


def _international(text: str) -> Iterator[Span]:
    for m in _PLUS.finditer(text):
        start = m.start() + (2 if m.group().startswith("00") else 1)
        most = 11 if text[start : start + 2].lstrip("(").startswith("1") else 15
        groups = _cut_groups(text, start, m.end(), most)
        digits = "".join(g.group() for g in groups)
        least = 11 if most == 11 else (8 if len(groups) > 1 else 10)
        if len(digits) >= least and _CALLING_CODE.match(digits):
            yield m.start(), groups[-1].end()


def _is_other_number(text: str, start: int) -> bool:
    return _OTHER_NUMBER.search(text[max(0, start - 28) : start]) is not None


def _trunk_zero(text: str) -> Iterator[Span]:
    last_end = 0
    for m in _TRUNK_ZERO.finditer(text):
        groups = _DIGITS.findall(m.group())
        is_dotted = "." in m.group()
        # Dotted numbers are decimals unless there are many short groups (French style), and a
        # number right after another is a part of it unless that one was a phone.
        if is_dotted and (len(groups) < 4 or max(map(len, groups)) > 4):
            continue
        if text[max(0, m.start() - 2) : m.start() - 1].isdigit() and m.start() - 1 != last_end:
            continue
        is_counting = len({int(b) - int(a) for a, b in pairwise(groups)}) == 1 and int(groups[1]) < 100
        if is_counting or _is_other_number(text, m.start()):
            continue
        if 9 <= sum(map(len, groups)) <= 12 and not _DATE.search(m.group()):
            last_end = m.end()
            yield m.span()


def _north_american(text: str) -> Iterator[Span]:
    for m in _NORTH_AMERICAN.finditer(text):
        if not _ROUND_GROUPS.search(m.group()) and not _is_other_number(text, m.start()):
            yield m.span()


def _east_asian(text: str) -> Iterator[Span]:
    return (m.span() for m in _EAST_ASIAN.finditer(text))


def _russian(text: str) -> Iterator[Span]:
    return (m.span() for m in _RUSSIAN.finditer(text))


def _brazilian(text: str) -> Iterator[Span]:
    return (m.span() for m in _BRAZILIAN.finditer(text))


def _italian(text: str) -> Iterator[Span]:
    for m in _ITALIAN.finditer(text):
        if not _ROUND_GROUPS.search(m.group()) and not _is_other_number(text, m.start()):
            yield m.span()


def find_phones_by_word(text: str) -> Iterator[Span]:
    """Any number of 7 to 15 digits right after a phone word."""
    for m in _PHONE_WORD.finditer(text):
        groups = _cut_groups(text, m.start(1), m.end(1), 15)
        if sum(len(g.group()) for g in groups) >= 7:
            yield m.start(1), groups[-1].end()


# (quick, exact): quick starts with a literal or digit, so the engine skips ahead; it is implied
# by exact, and most texts end there.
_PHONES = (
    (re.compile(r"\+\(?[1-9]|00[1-9]"), _international),
    (re.compile("[0-9]{3}[ .-][0-9]{4}"), _north_american),
    (re.compile(r"0[1-9][0-9]{0,4}\)?[ .\-/][0-9]{2}"), _trunk_zero),
    (re.compile("[0-9]{4}[ -][0-9]{4}"), _east_asian),
    (re.compile("[0-9]{3}-[0-9]{2}-[0-9]{2}"), _russian),
    (re.compile(r"\([1-9][0-9]\)"), _brazilian),
    (re.compile("3[2-9][0-9][ -][0-9]{3}[ -]"), _italian),
)
PHONE_WORDS = (
    "phone", "tel", "tél", "fax", "mobile", "whatsapp", "celular", "movil", "móvil", "cellulare",
    "handynummer", "portable", "тел", "手机", "手機", "电话", "電話", "携帯", "전화", "휴대폰",
)  # fmt: skip


def find_phones(text: str) -> Iterator[Span]:
    """Phone numbers: +country, 00country, North American, trunk-zero, East Asian and others."""
    for quick, find in _PHONES:
        if quick.search(text):
            yield from find(text)


CONTACT_WORDS = (
    "contact", "kontakt", "contatt", "contato", "call", "ring", "dial", "sms", "reach", "anruf",
    "rückruf", "erreich", "appele", "joindre", "llám", "llama", "ligue", "chiama", "звон", "联系",
    "致电", "拨打", "連絡",
)  # fmt: skip
_CONTACT = re.compile(
    r"(?:(?<![a-z])(?:contact[oe]?|kontakt|contatt[oi]|contato|call|ring|dial|sms|reach|anruf(?:en)?|rückruf"
    r"|erreichbar|erreichen|appele[rz]|joindre|llámame|llama|ligue|chiama(?:mi)?)(?![a-z])"
    r"|[Пп]озвон\w{1,4}|联系(?:方式|我)?|致电|拨打|連絡先?)"
    r"(?:[ \t:,.(\"'=]|\b(?:me|us|him|her|at|on|number|no|is|under|unter|auf|au|al|en|via|my|mich"
    r"|è|は|是)\b){0,8}"
    r"((?:0[1-9][0-9]{8,9}|1[3-9][0-9]{9}|[2-9][0-9]{2}[2-9][0-9]{6}"
    r"|[2-9][0-9]{1,2}[ -][0-9]{3,4}[ -][0-9]{3,4}))(?![0-9A-Za-z_]|[-. ][0-9])",
    re.IGNORECASE,
)


def find_phones_by_contact(text: str) -> Iterator[Span]:
    """Numbers in the shape of a phone, unspaced too, right after a word such as call or contact."""
    return (m.span(1) for m in _CONTACT.finditer(text))
