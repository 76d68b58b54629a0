"""Finders of PII that a pattern alone cannot decide: checksums, ranges, shapes of numbers.

Each finder takes folded text (see ``redact.fold``) and yields half-open character spans.
Every pattern is ASCII-only and starts each attempt at a boundary or has bounded length, so a
scan takes time linear in the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

Span = tuple[int, int]

_DIGITS = re.compile(r"[0-9]+")
_CARD_RUN = re.compile(r"[0-9](?:[ -]?[0-9]){12,}+")
# Issuer ranges: Visa, Mastercard, Amex, Diners, JCB, Discover, UnionPay, Maestro, Mir, Troy, RuPay.
_CARD_ISSUER = re.compile(
    r"4(?:.{12}|.{15}|.{18})|(?:5[1-5]|2[2-7]).{14}|3[47].{13}|3(?:0[0-5]|095|[689]).{11,13}"
    r"|35.{14}|(?:50|5[6-9]|6[0-9]).{11,17}|(?:9792|8[12]..).{12}"
)
_CARD_GROUPS = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 4, 2), (6, 13), (8, 8)}


def has_luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit (ISO/IEC 7812-1) of the others."""
    total = sum(map(int, digits[-1::-2]))
    return (total + sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])) % 10 == 0


def _is_card(text: str, groups: list[re.Match[str]]) -> bool:
    start, end = groups[0].start(), groups[-1].end()
    digits = "".join(g.group() for g in groups)
    before, after = text[max(0, start - 1) : start], text[end : end + 2]
    if before.isascii() and (before.isalnum() or (before in {".", "_"} and before)):
        return False
    if (after[:1].isascii() and after[:1].isalnum()) or (after[:1] == "." and after[1:].isdigit()):
        return False
    return (
        13 <= len(digits) <= 19
        and _CARD_ISSUER.fullmatch(digits) is not None
        and len(set(digits)) > 1
        and has_luhn(digits)
    )


def find_cards(text: str) -> Iterator[Span]:
    """Payment cards: 13 to 19 digits, plain or spaced, of a known issuer, Luhn-checked."""
    for run in _CARD_RUN.finditer(text):
        groups = list(_DIGITS.finditer(text, run.start(), run.end()))
        if len(groups) <= 19 and _is_card(text, groups):
            yield run.span()
            continue
        at = 0
        while at < len(groups):
            width = _card_width(text, groups, at)
            if width:
                yield groups[at].start(), groups[at + width - 1].end()
            at += width or 1


def _card_width(text: str, groups: list[re.Match[str]], at: int) -> int:
    """How many groups from ``at`` form a card inside a longer run of groups; 0 for none."""
    sizes = [g.end() - g.start() for g in groups[at : at + 5]]
    if 13 <= sizes[0] <= 19:
        return int(_is_card(text, groups[at : at + 1]))
    for width in range(len(sizes), 1, -1):
        if tuple(sizes[:width]) in _CARD_GROUPS and _is_card(text, groups[at : at + width]):
            return width
    return 0


# Registered total lengths (SWIFT IBAN registry).
_IBAN_LENGTHS = {
    code[:2]: int(code[2:])
    for code in ["AD24", "AE23", "AL28", "AT20", "AZ28", "BA20", "BE16", "BG22", "BH22", "BI27", "BR29", "BY28", "CH21", "CR22", "CY28", "CZ24", "DE22", "DJ27", "DK18", "DO28", "EE20", "EG29", "ES24", "FI18", "FK18", "FO18", "FR27", "GB22", "GE22", "GI23", "GL18", "GR27", "GT28", "HN28", "HR21", "HU28", "IE22", "IL23", "IQ23", "IS26", "IT27", "JO30", "KW30", "KZ20", "LB28", "LC32", "LI21", "LT20", "LU20", "LV21", "LY25", "MC27", "MD24", "ME22", "MK19", "MN20", "MR27", "MT31", "MU30", "NI28", "NL18", "NO15", "OM23", "PK24", "PL28", "PS29", "PT25", "QA29", "RO24", "RS22", "RU33", "SA24", "SC31", "SD18", "SE24", "SI19", "SK24", "SM27", "SO23", "ST25", "SV28", "TL23", "TN24", "TR26", "UA29", "VA22", "VG24", "XK20", "YE30"]
}
_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9])")
_IBAN_REST = {
    n: re.compile(rf"(?:[ -]?[A-Za-z0-9]){{{n - 4}}}(?![A-Za-z0-9])") for n in set(_IBAN_LENGTHS.values())
}


def find_ibans(text: str) -> Iterator[Span]:
    """IBANs of a registered country and length whose mod-97 checksum (ISO 13616) is 1."""
    for head in _IBAN_START.finditer(text):
        length = _IBAN_LENGTHS.get(head.group()[:2].upper())
        rest = _IBAN_REST[length].match(text, head.end()) if length else None
        if rest is None:
            continue
        plain = re.sub(r"[ -]", "", rest.group() + head.group()).upper()
        if int("".join(str(int(c, 36)) for c in plain)) % 97 == 1:
            yield head.start(), rest.end()


_IPV4 = re.compile(r"(?<![A-Za-z0-9_.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![A-Za-z0-9_]|\.[0-9]|-[A-Za-z])")
_IPV4_QUICK = re.compile(r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]")
_IPV6_QUICK = re.compile(r"[0-9A-Fa-f]{4}:[0-9A-Fa-f:]")
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\bver|\bversions?|\bversión|\brelease|\bbuild|\bsection|\bchapter|\bclause|\brev|\bassembly|§|[=~<>!]="
    r"|chrome/|chromium/|edg/|opr/|safari/|firefox/|version/|[a-z]-)[.:=]?[ \t]?\Z",
    re.IGNORECASE,
)
_IPV6 = re.compile(
    r"(?<![A-Za-z0-9_:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?:(?:\.[0-9]{1,3}){3})?(?![A-Za-z0-9_:])"
)
# Blocks in use; the rest is far more often code (a::b) than an address.
_IPV6_BLOCKS = [
    ipaddress.IPv6Network(n)
    for n in ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/12", "::ffff:0:0/96", "64:ff9b::/96")
]


def find_ips(text: str) -> Iterator[Span]:
    """IPv4 and IPv6 addresses; loopback, unspecified and broadcast, and versions, are not."""
    for m in _IPV4.finditer(text) if _IPV4_QUICK.search(text) else ():
        parts = m.group().split(".")
        if any(int(p) > 255 or (p[0] == "0" and len(p) > 1) for p in parts):
            continue
        is_plain = parts[0] in {"127", "0"} or m.group() == "255.255.255.255"
        if not is_plain and not _VERSION_BEFORE.search(text[max(0, m.start() - 12) : m.start()]):
            yield m.span()
    for m in _IPV6.finditer(text) if _IPV6_QUICK.search(text) else ():
        try:
            address = ipaddress.IPv6Address(m.group())
        except ValueError:
            continue
        if any(address in block for block in _IPV6_BLOCKS):
            yield m.span()


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
    r"(?<![A-Za-z0-9_.,:/+-])\(?0[1-9][0-9]{0,4}\)?(?:[ .\-/][0-9]{2,8}){1,4}(?![A-Za-z0-9_:]|[.,/-][0-9])"
)
_EAST_ASIAN = re.compile(r"(?<![A-Za-z0-9_.,:/+-])1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}(?![A-Za-z0-9_]|-[0-9])")
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
        if 9 <= sum(map(len, groups)) <= 12 and not _DATE.search(m.group()):
            last_end = m.end()
            yield m.span()


def _north_american(text: str) -> Iterator[Span]:
    return (m.span() for m in _NORTH_AMERICAN.finditer(text) if not _ROUND_GROUPS.search(m.group()))


def _east_asian(text: str) -> Iterator[Span]:
    return (m.span() for m in _EAST_ASIAN.finditer(text))


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
)
PHONE_WORDS = (
    "phone", "tel", "tél", "fax", "mobile", "whatsapp", "celular", "movil", "móvil", "cellulare",
    "handynummer", "portable", "тел", "手机", "手機", "电话", "電話", "携帯", "전화", "휴대폰",
)  # fmt: skip


def find_phones(text: str) -> Iterator[Span]:
    """Phone numbers: +country, 00country, North American, trunk-zero, 3-4-4 East Asian."""
    for quick, find in _PHONES:
        if quick.search(text):
            yield from find(text)
